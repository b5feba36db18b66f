//! What changes a partition. Delivery is never a command: it follows from these (ARCHITECTURE, INV-1).
//!
//! Here are the commands as data; what each does in its group is in `command/`.

use alloc::boxed::Box;

use braid_types::{Address, ConnectionId, DeliveryId, Filter, GroupId, MemberId, Outcome, Timestamp, UnackedOnEnd};
use bytes::Bytes;
use smallvec::SmallVec;

use crate::GroupConfig;

mod attach;
mod credit;
mod detach;
mod enqueue;
mod get;
mod pause;
mod purge;

/// Who gets a member's deliveries: opaque to the machine, carried back in [`crate::Effect`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The connection.
    pub connection: ConnectionId,
    /// The connection's own number for this attachment.
    pub attachment: u32,
}

/// What the machine knows of a message. The body stays outside (ARCHITECTURE, INV-4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// Bytes that count for limits and byte credit.
    pub size_bytes: u32,
    /// 0 to 31; higher first.
    pub priority: u8,
    /// Partition time after which it is never delivered.
    pub expires_at: Option<Timestamp>,
    /// For filtered members; `None` when it was published without one.
    pub address: Option<Address>,
}

/// What makes a publish the same as an earlier one, within a group (SPEC section 3, exactly-once publishing). The names
/// are made unique in vhost and user by who proposes the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishIdentity {
    /// A publisher that numbers its messages: up to the last number that the group took, they are known.
    Sequence {
        /// Its name, at most [`crate::limits::IDENTITY_BYTES_MAX`] bytes.
        publisher: Bytes,
        /// The number of the message. Numbers rise; gaps are allowed.
        sequence: u64,
    },
    /// A name for this message alone, known for a time.
    Token {
        /// At most [`crate::limits::IDENTITY_BYTES_MAX`] bytes.
        token: Bytes,
    },
}

/// How a member's deliveries are settled and limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credit {
    /// Settled by the client; at most `messages` unacked (0: unlimited). Refilled by settling.
    Window {
        /// The window.
        messages: u32,
    },
    /// Settled by the very command that dispatches; limited by what was granted and not yet used.
    Granted {
        /// Messages.
        messages: u32,
        /// Bytes; the last message may exceed it.
        bytes: u64,
    },
}

/// A member to attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberConfig {
    /// Who gets its deliveries.
    pub owner: Owner,
    /// Window or grants.
    pub credit: Credit,
    /// Higher first.
    pub priority: i32,
    /// No other member beside it.
    pub exclusive: bool,
    /// Offered only messages whose address matches; `None`: all.
    pub filter: Option<Filter>,
}

/// A command. Commands that name an unknown group or member change nothing and say so in their reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Makes a group; an existing one stays as it is.
    CreateGroup {
        /// Its id.
        group: GroupId,
        /// Its settings.
        config: Box<GroupConfig>,
    },
    /// Removes a group with all that it holds; members are told by [`crate::Effect::Cancelled`].
    DeleteGroup {
        /// Which.
        group: GroupId,
        /// Refuse when it has members.
        if_unused: bool,
        /// Refuse when messages wait in it, ready or delayed.
        if_empty: bool,
    },
    /// Drops the messages that wait, ready and delayed (unacked ones stay).
    PurgeGroup {
        /// Which.
        group: GroupId,
    },
    /// Appends a message to groups. Its [`braid_types::MessageId`] is the command's stamp. A group that refuses it
    /// ([`crate::Refused::LimitReached`], [`crate::Refused::Faulted`]) makes the reply a refusal, though others may
    /// have taken it.
    Enqueue {
        /// Which groups; each at most once.
        groups: SmallVec<[GroupId; 1]>,
        /// The message.
        message: MessageHeader,
    },
    /// Appends a message to those of the groups that do not know its identity yet. The others are answered for as if
    /// they had taken it: they did, the first time.
    EnqueueOnce {
        /// Which groups; each at most once.
        groups: SmallVec<[GroupId; 1]>,
        /// The message.
        message: MessageHeader,
        /// What it is known by.
        identity: PublishIdentity,
    },
    /// Attaches a member. Its [`MemberId`] is the command's stamp.
    Attach {
        /// To which group.
        group: GroupId,
        /// The member.
        member: Box<MemberConfig>,
    },
    /// Ends a member: it gets nothing more. With `UnackedOnEnd::Keep` it stays until its deliveries are settled.
    Detach {
        /// From which group.
        group: GroupId,
        /// Which member.
        member: MemberId,
        /// What becomes of its unacked deliveries.
        unacked: UnackedOnEnd,
    },
    /// The member's connection is gone but will be back: nothing more is sent, unacked deliveries stay with it.
    Pause {
        /// Which group.
        group: GroupId,
        /// Which member.
        member: MemberId,
    },
    /// The paused member is back, with a new owner and window. Its unacked deliveries are not sent again by this.
    Resume {
        /// Which group.
        group: GroupId,
        /// Which member.
        member: MemberId,
        /// Who gets its deliveries from now on.
        owner: Owner,
        /// Its new window (0: unlimited).
        messages: u32,
    },
    /// Changes the window of a member (0: unlimited).
    SetWindow {
        /// Which group.
        group: GroupId,
        /// Which member.
        member: MemberId,
        /// The new window.
        messages: u32,
    },
    /// Adds to what a `Granted` member may be sent.
    Grant {
        /// Which group.
        group: GroupId,
        /// Which member.
        member: MemberId,
        /// Messages.
        messages: u32,
        /// Bytes.
        bytes: u64,
    },
    /// Deliveries ended. Unknown ids are ignored, so that it may be repeated.
    Settle {
        /// Which group.
        group: GroupId,
        /// Which member.
        member: MemberId,
        /// Which deliveries.
        deliveries: SmallVec<[DeliveryId; 4]>,
        /// How.
        outcome: Outcome,
    },
    /// Time has passed: what waits for it happens in all groups. Proposed when [`crate::Partition::next_deadline`] has
    /// come; other commands do the same for the group that they name.
    Tick,
    /// Takes one ready message. Unless it is settled at once, it is held by a member of its own whose [`MemberId`] is
    /// the command's stamp and whose delivery id is 0; that member ends when the delivery is settled.
    Get {
        /// From which group.
        group: GroupId,
        /// Who takes it.
        owner: Owner,
        /// Settle it at once.
        settled: bool,
    },
}
