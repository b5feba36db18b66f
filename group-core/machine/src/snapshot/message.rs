//! Messages in a snapshot. One byte holds priority and flags.

use braid_types::{CorruptBytes, MessageId};
use bytes::{Bytes, BytesMut};

use crate::DropReason;
use crate::limits::PRIORITY_LEVELS;
use crate::message::{HeldMessage, NEVER};
use crate::unacked::HandedOut;
use crate::wire::Field;

const SHARED: u8 = 1 << 5;
const EXPIRES: u8 = 1 << 6;
const ADDRESSED: u8 = 1 << 7;

impl Field for HeldMessage {
    fn put(&self, out: &mut BytesMut) {
        self.id.put(out);
        let shared = if self.shared { SHARED } else { 0 };
        let expires = if self.expires() { EXPIRES } else { 0 };
        let addressed = if self.address.is_some() { ADDRESSED } else { 0 };
        (self.priority | shared | expires | addressed).put(out);
        self.size_bytes.put(out);
        self.delivery_count.put(out);
        self.acquired_count.put(out);
        if self.expires() {
            self.expires_at.put(out);
        }
        if let Some(address) = &self.address {
            address.put(out);
        }
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        let id = MessageId::read(input)?;
        let flags = u8::read(input)?;
        Ok(Self {
            id,
            priority: flags & (PRIORITY_LEVELS - 1),
            shared: flags & SHARED != 0,
            size_bytes: Field::read(input)?,
            delivery_count: Field::read(input)?,
            acquired_count: Field::read(input)?,
            expires_at: if flags & EXPIRES == 0 { NEVER } else { Field::read(input)? },
            address: if flags & ADDRESSED == 0 { None } else { Some(Field::read(input)?) },
        })
    }
}

/// Only reasons that dead-letter: others keep no message.
impl Field for DropReason {
    fn put(&self, out: &mut BytesMut) {
        let byte: u8 = match self {
            Self::Rejected => 0,
            Self::DeliveryLimit => 1,
            Self::Expired => 2,
            Self::MaxLength => 3,
            Self::Purged => 4,
            Self::GroupDeleted => 5,
        };
        byte.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u8::read(input)? {
            0 => Ok(Self::Rejected),
            1 => Ok(Self::DeliveryLimit),
            2 => Ok(Self::Expired),
            3 => Ok(Self::MaxLength),
            _ => Err(CorruptBytes { what: "reason of a dead letter" }),
        }
    }
}

impl Field for HandedOut {
    fn put(&self, out: &mut BytesMut) {
        self.since.put(out);
        self.message.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self { since: Field::read(input)?, message: Field::read(input)? })
    }
}
