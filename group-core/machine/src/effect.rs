//! What the leader has to do after a command. Plain data. Effects may be lost or repeated at a change of leader; all
//! receivers must tolerate both.

use braid_types::{DeliveryId, GroupId, MemberId, MessageId};

use crate::Owner;

/// Why a message left a group without being accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// A member rejected it.
    Rejected,
    /// Its delivery count went over the group's limit.
    DeliveryLimit,
    /// It expired.
    Expired,
    /// The group was purged.
    Purged,
    /// The group was deleted.
    GroupDeleted,
    /// The group had more messages or bytes than it may have.
    MaxLength,
}

impl DropReason {
    /// The word for it in `x-death` headers and counters: RabbitMQ's where it has one.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::DeliveryLimit => "delivery_limit",
            Self::Expired => "expired",
            Self::Purged => "purged",
            Self::GroupDeleted => "deleted",
            Self::MaxLength => "maxlen",
        }
    }

    /// Whether a message that goes for this reason is a dead letter.
    pub(crate) fn is_dead_letter(self) -> bool {
        match self {
            Self::Rejected | Self::DeliveryLimit | Self::Expired | Self::MaxLength => true,
            Self::Purged | Self::GroupDeleted => false,
        }
    }
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send a message to a member.
    Deliver {
        /// Who gets it.
        owner: Owner,
        /// From which group.
        group: GroupId,
        /// Which member.
        member: MemberId,
        /// Contiguous per member.
        delivery: DeliveryId,
        /// The message.
        message: MessageId,
        /// It may have been seen before.
        redelivered: bool,
        /// Failed tries so far.
        delivery_count: u32,
        /// It was settled by this dispatch: the client need not acknowledge.
        settled: bool,
    },
    /// A message left a group, or was refused by it, without being accepted: to be counted and, where the group has a
    /// dead-letter address, dead-lettered. Comes before `Forget`, so that the body is still there. Of a group of very many
    /// messages that is purged or deleted, only `Forget` is told, and later.
    Dropped {
        /// From which group.
        group: GroupId,
        /// The message.
        message: MessageId,
        /// Why.
        reason: DropReason,
        /// Failed tries.
        delivery_count: u32,
        /// The group keeps it until [`crate::Command::EndDeadLetters`]; otherwise it has let go of it.
        kept: bool,
    },
    /// No group of the partition refers to the message any more. Comes after every `Deliver` of it.
    Forget {
        /// The message.
        message: MessageId,
    },
    /// The member is gone because its group was deleted.
    Cancelled {
        /// Who held it.
        owner: Owner,
        /// From which group.
        group: GroupId,
        /// Which member.
        member: MemberId,
    },
    /// The last member left the group (for auto-delete and shared groups).
    Unused {
        /// Which group.
        group: GroupId,
    },
    /// The group was without members and gets for as long as its settings allow: it wants to be deleted. Told again
    /// each time that as long has passed once more.
    GroupExpired {
        /// Which group.
        group: GroupId,
    },
    /// A member held deliveries for longer than the group allows. They went back, and it is sent nothing until it
    /// settles them, which then changes nothing else (to be counted and logged).
    MemberOverdue {
        /// Who holds it.
        owner: Owner,
        /// In which group.
        group: GroupId,
        /// Which member.
        member: MemberId,
        /// How many went back.
        deliveries: u32,
    },
}
