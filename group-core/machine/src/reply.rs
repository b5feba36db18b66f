//! What the proposer of a command is told.

use braid_types::{DeliveryId, MemberId, MessageId};

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No such group in this partition.
    NoSuchGroup,
    /// No such member in the group.
    NoSuchMember,
    /// The group has members (delete if unused, exclusive attach).
    InUse,
    /// The group has ready messages (delete if empty).
    NotEmpty,
    /// Another member holds the group exclusively, or (get) it has a single active member or dispatches by
    /// key.
    Exclusive,
    /// A named limit is reached (members, filters, messages of the group).
    LimitReached,
    /// A broken invariant took the group out of service.
    Faulted,
}

/// A message taken by `Get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The member that holds it, unless the get settled it.
    pub member: MemberId,
    /// Its delivery there.
    pub delivery: DeliveryId,
    /// The message.
    pub message: MessageId,
    /// It may have been seen before.
    pub redelivered: bool,
    /// Failed tries so far.
    pub delivery_count: u32,
    /// Messages still ready.
    pub remaining: u64,
}

/// The answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done.
    Done,
    /// The message is in `groups` groups; the others that were named are gone (0: all are).
    Enqueued {
        /// Groups that hold it.
        groups: u32,
    },
    /// The member is attached.
    Attached {
        /// Its id.
        member: MemberId,
    },
    /// The answer to a get; `None`: nothing ready. If the get settled it, `Forget` may already be among the effects of
    /// the command: the body is to be looked up before they are carried out.
    Got {
        /// The message.
        taken: Option<Taken>,
    },
    /// Purged or deleted.
    Removed {
        /// Ready messages that went.
        message_count: u64,
    },
    /// Nothing changed. For an enqueue: at least one group refused the message, so the publisher must not be told that
    /// it is stored; other groups may hold it nevertheless.
    Refused(Refused),
}
