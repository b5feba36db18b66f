//! What a group keeps of a message while it holds it: its name and what dispatching needs. Never the body.
//!
//! Invariant: a held message moves between the places of its group (ready, handed out) and is never copied, so that it
//! cannot be in two of them. 56 bytes.

use braid_types::{Address, MessageId, Timestamp};

use crate::MessageHeader;
use crate::limits::PRIORITY_LEVELS;

/// The expiry of a message that never expires.
pub(crate) const NEVER: Timestamp = Timestamp(u64::MAX);

/// A message, as one group holds it.
#[derive(Debug)]
pub(crate) struct HeldMessage {
    /// Names it; also its place among messages of its priority.
    pub(crate) id: MessageId,
    /// For filtered members.
    pub(crate) address: Option<Address>,
    /// Partition time after which it is never handed out; [`NEVER`] when it does not expire.
    pub(crate) expires_at: Timestamp,
    /// Bytes that count for limits and byte credit.
    pub(crate) size_bytes: u32,
    /// Failed tries.
    pub(crate) delivery_count: u32,
    /// Handings-out.
    pub(crate) acquired_count: u32,
    /// 0 to 31.
    pub(crate) priority: u8,
    /// Other groups of the partition hold it too, or did: its references are counted.
    pub(crate) shared: bool,
}

impl HeldMessage {
    /// A message that was never handed out.
    pub(crate) fn new(id: MessageId, header: MessageHeader, shared: bool) -> Self {
        Self {
            id,
            address: header.address,
            expires_at: header.expires_at.unwrap_or(NEVER),
            size_bytes: header.size_bytes,
            delivery_count: 0,
            acquired_count: 0,
            priority: header.priority.min(PRIORITY_LEVELS - 1),
            shared,
        }
    }

    /// Whether it must not be handed out any more.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        now > self.expires_at
    }

    /// Whether it will expire some day.
    pub(crate) fn expires(&self) -> bool {
        self.expires_at != NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::HeldMessage;

    #[test]
    fn a_held_message_is_small() {
        assert_eq!(size_of::<HeldMessage>(), 56);
        assert_eq!(size_of::<Option<HeldMessage>>(), 56);
    }
}
