//! What changes a partition. Delivery is never a command: it follows from these (ARCHITECTURE, INV-1).
//!
//! Here are the commands as data; what each does in its group is in `command/`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use braid_types::{ConnectionId, DeliveryId, GroupId, MemberId, MessageId, Outcome, UnackedOnEnd};
use smallvec::SmallVec;

use crate::GroupConfig;

mod attach;
mod configure;
mod credit;
mod dead_letters;
mod detach;
mod enqueue;
mod get;
mod groups;
mod lost;
mod member_config;
mod message_header;
mod pause;
mod purge;

pub(crate) use lost::Loss;

pub use groups::{GroupSetId, Groups};
pub use member_config::{Credit, MemberConfig, OnLoss, Owner};
pub use message_header::{MessageHeader, PublishIdentity};

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
    /// Replaces the settings of a group. Limits hold at once; priorities and times to live concern messages from now
    /// on; messages and members stay, whatever the strategy.
    Configure {
        /// Which.
        group: GroupId,
        /// Its settings from now on.
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
    /// have taken it. An unknown set is refused by [`crate::Refused::NoSuchGroup`].
    Enqueue {
        /// Which groups.
        groups: Groups,
        /// The message.
        message: MessageHeader,
    },
    /// Appends a message to those of the groups that do not know its identity yet. The others are answered for as if
    /// they had taken it: they did, the first time.
    EnqueueOnce {
        /// Which groups.
        groups: Groups,
        /// The message.
        message: MessageHeader,
        /// What it is known by.
        identity: PublishIdentity,
    },
    /// Defines a set of groups for [`Groups::Set`], or defines it anew. At most
    /// [`crate::limits::GROUP_SETS_MAX`] sets of at most [`crate::limits::GROUPS_PER_ENQUEUE_MAX`] groups.
    DefineGroupSet {
        /// Which set.
        set: GroupSetId,
        /// Its groups; none: the set is forgotten.
        groups: Vec<GroupId>,
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
    /// A connection is gone, and with it all members that it owns in any group: first none of them is sent anything
    /// more, then each ends or is paused, as its [`OnLoss`] says. Members that another connection has resumed are not
    /// its own any more.
    ConnectionLost {
        /// The node that the connection was on.
        node: u64,
        /// Which.
        connection: ConnectionId,
        /// Deliveries that paused members keep; the rest of what those hold goes back, not counted as tried.
        kept: SmallVec<[DeliveryId; 4]>,
        /// Deliveries that ending members were never sent, each with its attachment: they go back, not counted as tried.
        unsent: Vec<(u32, DeliveryId)>,
    },
    /// A node is gone with all its connections. Their members end or are paused, as their [`OnLoss`] says; what those
    /// held that end goes back, not counted as tried (SPEC section 3), and paused ones keep all that they hold.
    NodeLost {
        /// Which.
        node: u64,
    },
    /// This node leads the partition from now on (for [`crate::Strategy::LocalFirst`]).
    Lead {
        /// Which.
        node: u64,
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
    /// Dead letters that a group kept have found their place: it lets go of them. Unknown ids are ignored, so that it
    /// may be repeated.
    EndDeadLetters {
        /// Which group.
        group: GroupId,
        /// Which messages.
        messages: SmallVec<[MessageId; 4]>,
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
        /// How the delivery ends when the connection is lost before it is settled.
        on_loss: Outcome,
    },
}
