//! A group's settings.

use braid_types::CorruptBytes;
use bytes::{Bytes, BytesMut};

use super::Field;
use crate::{GroupConfig, Overflow, RetryDelay, Strategy};

/// Of the fields below; a later version has more of them.
const VERSION: u8 = 1;

impl Field for GroupConfig {
    fn put(&self, out: &mut BytesMut) {
        VERSION.put(out);
        self.delivery_limit.put(out);
        self.strategy.put(out);
        self.priority_max.put(out);
        self.single_active.put(out);
        self.messages_max.put(out);
        self.size_bytes_max.put(out);
        self.overflow.put(out);
        self.message_ttl_ms.put(out);
        self.expires_ms.put(out);
        self.retry.put(out);
        self.member_timeout_ms.put(out);
        self.token_window_ms.put(out);
        self.keeps_dead_letters.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        if u8::read(input)? != VERSION {
            return Err(CorruptBytes { what: "version of a group's settings" });
        }
        Ok(Self {
            delivery_limit: Field::read(input)?,
            strategy: Field::read(input)?,
            priority_max: Field::read(input)?,
            single_active: Field::read(input)?,
            messages_max: Field::read(input)?,
            size_bytes_max: Field::read(input)?,
            overflow: Field::read(input)?,
            message_ttl_ms: Field::read(input)?,
            expires_ms: Field::read(input)?,
            retry: Field::read(input)?,
            member_timeout_ms: Field::read(input)?,
            token_window_ms: Field::read(input)?,
            keeps_dead_letters: Field::read(input)?,
        })
    }
}

impl Field for Strategy {
    fn put(&self, out: &mut BytesMut) {
        let byte: u8 = match self {
            Self::RoundRobin => 0,
            Self::LeastUnacked => 1,
            Self::Random => 2,
            Self::Key => 3,
            Self::LocalFirst => 4,
        };
        byte.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u8::read(input)? {
            0 => Ok(Self::RoundRobin),
            1 => Ok(Self::LeastUnacked),
            2 => Ok(Self::Random),
            3 => Ok(Self::Key),
            4 => Ok(Self::LocalFirst),
            _ => Err(CorruptBytes { what: "dispatch strategy" }),
        }
    }
}

impl Field for Overflow {
    fn put(&self, out: &mut BytesMut) {
        let byte: u8 = match self {
            Self::DropHead => 0,
            Self::RejectPublish => 1,
            Self::RejectPublishDeadLetter => 2,
        };
        byte.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u8::read(input)? {
            0 => Ok(Self::DropHead),
            1 => Ok(Self::RejectPublish),
            2 => Ok(Self::RejectPublishDeadLetter),
            _ => Err(CorruptBytes { what: "overflow behaviour" }),
        }
    }
}

impl Field for RetryDelay {
    fn put(&self, out: &mut BytesMut) {
        self.delay_ms_min.put(out);
        self.delay_ms_max.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self { delay_ms_min: Field::read(input)?, delay_ms_max: Field::read(input)? })
    }
}
