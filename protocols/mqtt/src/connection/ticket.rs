//! Tickets: what an answer of the broker is about, in 64 bits.
//!
//! ```text
//! | sort 8 | operation or 0 (32) | position (24) |     subscribe, unsubscribe
//! | sort 8 | subscription (56)                   |     resubscribe
//! | sort 8 | 0 | QoS 8 | packet identifier (16)  |     publish
//! ```

use braid_types::{SubscriptionId, Ticket};

/// What a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Authenticate,
    OpenSession,
    Publish {
        qos: u8,
        packet_id: u16,
    },
    /// The filter at `position` of a SUBSCRIBE or UNSUBSCRIBE.
    Change {
        operation: u32,
        position: u32,
    },
    /// A subscription of a resumed session.
    Resubscribe {
        subscription: SubscriptionId,
    },
}

const POSITION_BITS: u32 = 24;
const VALUE_BITS: u32 = 56;
const VALUE_MASK: u64 = (1 << VALUE_BITS) - 1;

impl Purpose {
    /// As a ticket.
    pub(super) fn ticket(self) -> Ticket {
        let (sort, value) = match self {
            Self::Authenticate => (1, 0),
            Self::OpenSession => (2, 0),
            Self::Publish { qos, packet_id } => (3, u64::from(qos) << 16 | u64::from(packet_id)),
            Self::Change { operation, position } => (4, u64::from(operation) << POSITION_BITS | u64::from(position)),
            Self::Resubscribe { subscription } => (5, subscription.0),
        };
        Ticket(sort << VALUE_BITS | (value & VALUE_MASK))
    }

    /// From a ticket; `None`: it is none of ours.
    #[expect(clippy::cast_possible_truncation, reason = "each field is cut to its bits")]
    pub(super) fn of(ticket: Ticket) -> Option<Self> {
        let value = ticket.0 & VALUE_MASK;
        match ticket.0 >> VALUE_BITS {
            1 => Some(Self::Authenticate),
            2 => Some(Self::OpenSession),
            3 => Some(Self::Publish { qos: (value >> 16) as u8, packet_id: value as u16 }),
            4 => Some(Self::Change {
                operation: (value >> POSITION_BITS) as u32,
                position: (value & ((1 << POSITION_BITS) - 1)) as u32,
            }),
            5 => Some(Self::Resubscribe { subscription: SubscriptionId(value) }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_come_back() {
        for purpose in [
            Purpose::Authenticate,
            Purpose::OpenSession,
            Purpose::Publish { qos: 2, packet_id: 65_535 },
            Purpose::Change { operation: u32::MAX, position: 9_999 },
            Purpose::Resubscribe { subscription: SubscriptionId(7) },
        ] {
            assert_eq!(Purpose::of(purpose.ticket()), Some(purpose));
        }
        assert_eq!(Purpose::of(Ticket(0)), None);
    }
}
