//! Identifiers and times.

use braid_types::{
    ConnectionId, CorruptBytes, DeliveryId, GroupId, LogIndex, MemberId, MessageId, Outcome, Timestamp, UnackedOnEnd,
};
use bytes::{Bytes, BytesMut};

use super::Field;
use super::number::{check_count, put_count};
use crate::{GroupSetId, Groups, Owner};

impl Field for GroupId {
    fn put(&self, out: &mut BytesMut) {
        self.0.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(u64::read(input)?))
    }
}

impl Field for GroupSetId {
    fn put(&self, out: &mut BytesMut) {
        self.0.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(u32::read(input)?))
    }
}

/// 0 and a set, or the number of groups and one, and the groups.
impl Field for Groups {
    fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Set(set) => {
                0_u8.put(out);
                set.put(out);
            }
            Self::These(groups) => {
                put_count(groups.len() + 1, out);
                for group in groups {
                    group.put(out);
                }
            }
        }
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u64::read(input)?.checked_sub(1) {
            None => Ok(Self::Set(GroupSetId::read(input)?)),
            Some(count) => (0..check_count(count, input)?).map(|_| GroupId::read(input)).collect(),
        }
    }
}

impl Field for ConnectionId {
    fn put(&self, out: &mut BytesMut) {
        self.0.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(u64::read(input)?))
    }
}

impl Field for DeliveryId {
    fn put(&self, out: &mut BytesMut) {
        self.0.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(u64::read(input)?))
    }
}

/// An attachment and a delivery.
impl Field for (u32, DeliveryId) {
    fn put(&self, out: &mut BytesMut) {
        self.0.put(out);
        self.1.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok((u32::read(input)?, DeliveryId::read(input)?))
    }
}

impl Field for Timestamp {
    fn put(&self, out: &mut BytesMut) {
        self.0.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(u64::read(input)?))
    }
}

impl Field for MessageId {
    fn put(&self, out: &mut BytesMut) {
        self.index.0.put(out);
        self.position.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self { index: LogIndex(u64::read(input)?), position: u32::read(input)? })
    }
}

impl Field for MemberId {
    fn put(&self, out: &mut BytesMut) {
        self.index.0.put(out);
        self.position.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self { index: LogIndex(u64::read(input)?), position: u32::read(input)? })
    }
}

impl Field for Owner {
    fn put(&self, out: &mut BytesMut) {
        self.node.put(out);
        self.connection.put(out);
        self.attachment.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self { node: u64::read(input)?, connection: Field::read(input)?, attachment: u32::read(input)? })
    }
}

impl Field for Outcome {
    fn put(&self, out: &mut BytesMut) {
        let byte: u8 = match self {
            Self::Accepted => 0,
            Self::Released => 1,
            Self::Modified => 2,
            Self::Rejected => 3,
        };
        byte.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u8::read(input)? {
            0 => Ok(Self::Accepted),
            1 => Ok(Self::Released),
            2 => Ok(Self::Modified),
            3 => Ok(Self::Rejected),
            _ => Err(CorruptBytes { what: "outcome" }),
        }
    }
}

impl Field for UnackedOnEnd {
    fn put(&self, out: &mut BytesMut) {
        let outcome = match self {
            Self::Keep => None,
            Self::Settle(outcome) => Some(*outcome),
        };
        outcome.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Option::<Outcome>::read(input)?.map_or(Self::Keep, Self::Settle))
    }
}
