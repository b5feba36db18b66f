//! A member to attach, a message's header, and what a publish is known by.

use braid_types::{CorruptBytes, Outcome};
use bytes::{Bytes, BytesMut};

use super::Field;
use super::address::Addresses;
use crate::{Credit, MemberConfig, MessageHeader, OnLoss, PublishIdentity};

impl Field for Credit {
    fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Window { messages } => {
                0_u8.put(out);
                messages.put(out);
            }
            Self::Granted { messages, bytes } => {
                1_u8.put(out);
                messages.put(out);
                bytes.put(out);
            }
        }
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u8::read(input)? {
            0 => Ok(Self::Window { messages: u32::read(input)? }),
            1 => Ok(Self::Granted { messages: u32::read(input)?, bytes: u64::read(input)? }),
            _ => Err(CorruptBytes { what: "credit" }),
        }
    }
}

impl Field for MemberConfig {
    fn put(&self, out: &mut BytesMut) {
        self.owner.put(out);
        self.credit.put(out);
        self.priority.put(out);
        self.exclusive.put(out);
        self.filter.put(out);
        self.on_loss.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self {
            owner: Field::read(input)?,
            credit: Field::read(input)?,
            priority: Field::read(input)?,
            exclusive: Field::read(input)?,
            filter: Field::read(input)?,
            on_loss: Field::read(input)?,
        })
    }
}

impl Field for OnLoss {
    fn put(&self, out: &mut BytesMut) {
        let outcome = match self {
            Self::Pause => None,
            Self::Detach(outcome) => Some(*outcome),
        };
        outcome.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Option::<Outcome>::read(input)?.map_or(Self::Pause, Self::Detach))
    }
}

impl Field for MessageHeader {
    fn put(&self, out: &mut BytesMut) {
        self.size_bytes.put(out);
        self.priority.put(out);
        self.expires_at.put(out);
        self.address.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        read_header(input, &mut Addresses::default())
    }
}

/// Reads a header whose address may be that of the one before.
pub(super) fn read_header(input: &mut Bytes, addresses: &mut Addresses) -> Result<MessageHeader, CorruptBytes> {
    Ok(MessageHeader {
        size_bytes: Field::read(input)?,
        priority: Field::read(input)?,
        expires_at: Field::read(input)?,
        address: bool::read(input)?.then(|| addresses.read(input)).transpose()?,
    })
}

impl Field for PublishIdentity {
    fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Sequence { publisher, sequence } => {
                0_u8.put(out);
                publisher.put(out);
                sequence.put(out);
            }
            Self::Token { token } => {
                1_u8.put(out);
                token.put(out);
            }
        }
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u8::read(input)? {
            0 => Ok(Self::Sequence { publisher: Field::read(input)?, sequence: Field::read(input)? }),
            1 => Ok(Self::Token { token: Field::read(input)? }),
            _ => Err(CorruptBytes { what: "identity of a publish" }),
        }
    }
}
