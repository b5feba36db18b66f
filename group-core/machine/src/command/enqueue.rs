//! Enqueue, in one group.

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::limits::{IDENTITY_BYTES_MAX, MESSAGES_PER_GROUP_MAX};
use crate::message::HeldMessage;
use crate::{DropReason, Effect, MessageHeader, Overflow, PublishIdentity, Refused, Reply};

impl Group {
    /// Takes a message in, behind all others of its priority, unless it is known already.
    pub(crate) fn enqueue(
        &mut self,
        context: &mut Context<'_>,
        header: MessageHeader,
        identity: Option<&PublishIdentity>,
        shared: bool,
    ) -> Sound<Reply> {
        let id = context.message_id();
        // A group that is named twice is asked once.
        if self.newest.is_some_and(|newest| newest >= id) {
            return Ok(Reply::Enqueued { groups: 0 });
        }
        if identity.is_some_and(|identity| self.is_known(context, identity)) {
            self.newest = Some(id);
            if !shared {
                context.effects.push(Effect::Forget { message: id });
            }
            return Ok(Reply::Enqueued { groups: 1 });
        }
        if self.refuses_publish() || identity.is_some_and(is_too_long) {
            self.newest = Some(id);
            self.drop_refused(context, header, shared);
            return Ok(Reply::Refused(Refused::LimitReached));
        }
        self.newest = Some(id);
        if let Some(identity) = identity {
            self.publishers.get_or_insert_default().remember(identity, context.now());
        }
        if shared {
            context.references.hold(id);
        }
        let mut message = HeldMessage::new(id, header, shared);
        if let Some(priority_max) = self.config.priority_max {
            message.priority = message.priority.min(priority_max);
        }
        if let Some(ttl_ms) = self.config.message_ttl_ms {
            message.expires_at = message.expires_at.min(context.now().plus_ms(ttl_ms));
        }
        // Even if handing it out finds a broken invariant, the group holds the message.
        if let Err(broken) = self.take_in(context, message) {
            self.fault = Some(broken);
        }
        Ok(Reply::Enqueued { groups: 1 })
    }

    fn is_known(&mut self, context: &Context<'_>, identity: &PublishIdentity) -> bool {
        let window_ms = self.config.token_window_ms;
        self.publishers.as_mut().is_some_and(|publishers| publishers.knows(identity, window_ms, context.now()))
    }

    fn refuses_publish(&self) -> bool {
        self.rejects_publishes || self.has_too_many()
    }

    fn has_too_many(&self) -> bool {
        let held = self.backlog.count() + self.in_flight.count() + self.backlog.dead_letters.count();
        held >= MESSAGES_PER_GROUP_MAX
    }

    /// A message that the group does not take is a dead letter, where it is told so: kept, if dead letters are.
    fn drop_refused(&mut self, context: &mut Context<'_>, header: MessageHeader, shared: bool) {
        if !self.rejects_publishes || self.config.overflow != Overflow::RejectPublishDeadLetter {
            return;
        }
        let id = context.message_id();
        if !self.backlog.dead_letters.keeps || self.has_too_many() {
            return context.note_dropped(id, DropReason::MaxLength, 0, false);
        }
        if shared {
            context.references.hold(id);
        }
        let message = HeldMessage::new(id, header, shared);
        self.backlog.dead_letters.drop_message(context, message, DropReason::MaxLength);
    }
}

fn is_too_long(identity: &PublishIdentity) -> bool {
    let (PublishIdentity::Sequence { publisher: name, .. } | PublishIdentity::Token { token: name }) = identity;
    name.len() > IDENTITY_BYTES_MAX
}
