//! Enqueue, in one group.

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::limits::MESSAGES_PER_GROUP_MAX;
use crate::message::HeldMessage;
use crate::{MessageHeader, Refused, Reply};

impl Group {
    /// Takes a message in, behind all others of its priority.
    pub(crate) fn enqueue(&mut self, context: &mut Context<'_>, header: &MessageHeader, shared: bool) -> Sound<Reply> {
        let id = context.message_id();
        // A group that is named twice takes the message once.
        if self.newest.is_some_and(|newest| newest >= id) {
            return Ok(Reply::Enqueued { groups: 0 });
        }
        if self.backlog.ready.count() + self.unacked >= MESSAGES_PER_GROUP_MAX {
            return Ok(Reply::Refused(Refused::LimitReached));
        }
        self.newest = Some(id);
        if shared {
            context.references.hold(id);
        }
        self.backlog.append(HeldMessage::new(id, header, shared));
        Ok(Reply::Enqueued { groups: 1 })
    }
}
