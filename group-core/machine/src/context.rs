//! What a command sees besides its group: where and when it takes effect, and the things that belong to the whole
//! partition: the list of effects, the reference counts, and which members each connection has.

use alloc::vec::Vec;

use braid_types::{GroupId, MemberId, MessageId, Stamp, Timestamp};

use crate::attachments::Attachments;
use crate::doomed::Doomed;
use crate::message::HeldMessage;
use crate::references::References;
use crate::{DropReason, Effect};

/// The surroundings of one command in one group.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// Where and when; its time never goes back within a partition.
    pub(crate) stamp: Stamp,
    /// The group that it takes effect in.
    pub(crate) group: GroupId,
    /// What the leader has to do.
    pub(crate) effects: &'a mut Vec<Effect>,
    /// Holders of shared messages.
    pub(crate) references: &'a mut References,
    /// The members of each connection.
    pub(crate) attachments: &'a mut Attachments,
    /// What is let go of in steps.
    pub(crate) doomed: &'a mut Doomed,
}

impl Context<'_> {
    /// Partition time.
    pub(crate) fn now(&self) -> Timestamp {
        self.stamp.time
    }

    /// The message that this command brings, if it brings one.
    pub(crate) fn message_id(&self) -> MessageId {
        MessageId { index: self.stamp.index, position: self.stamp.position }
    }

    /// The member that this command makes, if it makes one.
    pub(crate) fn member_id(&self) -> MemberId {
        MemberId { index: self.stamp.index, position: self.stamp.position }
    }

    /// The group lets go of a message.
    pub(crate) fn release(&mut self, message: &HeldMessage) {
        if !message.shared || self.references.release(message.id) {
            self.effects.push(Effect::Forget { message: message.id });
        }
    }

    /// Tells that a message was dropped.
    pub(crate) fn note_dropped(&mut self, message: MessageId, reason: DropReason, delivery_count: u32, kept: bool) {
        self.effects.push(Effect::Dropped { group: self.group, message, reason, delivery_count, kept });
    }

    /// The group lets go of a message that nobody accepted and that is no dead letter.
    pub(crate) fn drop_message(&mut self, message: &HeldMessage, reason: DropReason) {
        self.note_dropped(message.id, reason, message.delivery_count, false);
        self.release(message);
    }
}
