//! Carries out what a command has for consequences, and ends a round: messages that only the log has are read, then
//! everything is handed over.

use std::sync::Arc;

use braid_machine::{DropReason, Effect};
use braid_types::{ConnectionId, GroupId, Message, MessageId, Protocol};

use super::PartitionNote;
use super::entry::chunks_of;
use super::letters::Letter;
use super::owner::Owner;
use crate::mailbox::Item;

impl Owner {
    pub(super) fn run_effects(&mut self) {
        let mut next = 0;
        while let Some(effect) = self.effects.get(next).copied() {
            next += 1;
            match effect {
                Effect::Deliver { .. } => self.deliver(&effect),
                Effect::Forget { message } => self.forget(message),
                Effect::Dropped { group, message, reason, delivery_count, kept } => {
                    self.count_dropped(reason);
                    if kept {
                        self.letters.push(Letter { group, id: message, reason, delivery_count });
                    }
                }
                Effect::GroupExpired { group } => self.note(PartitionNote::Expired(group)),
                Effect::MemberOverdue { group, deliveries, .. } => {
                    tracing::warn!(?group, deliveries, "a member held deliveries for too long; they went back");
                }
                Effect::Cancelled { owner, member, .. } => {
                    self.attached.remove_member(owner.connection, member);
                    self.hand_to(owner.connection, Item::Cancelled { attachment: owner.attachment }, None);
                }
                Effect::Unused { group } => self.note(PartitionNote::Unused(group)),
            }
        }
        self.effects.clear();
    }

    /// Of the effects of a former run's command, only what the log need not keep any more.
    pub(super) fn note_forgotten(&mut self) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            if let Effect::Forget { message } = effect {
                self.forget(message);
            }
        }
        self.effects = effects;
    }

    /// Takes a message from memory; otherwise a blank one, and what it is to be filled with.
    pub(super) fn message(&mut self, id: MessageId) -> (Option<Arc<Message>>, Option<MessageId>) {
        match self.bodies.get(id) {
            Some(message) => (Some(message), None),
            None if self.logged.is_some() => (Some(Arc::clone(&self.owned.blank)), Some(id)),
            None => (None, None),
        }
    }

    fn deliver(&mut self, effect: &Effect) {
        let Effect::Deliver { owner, group, delivery, message, redelivered, delivery_count, settled, .. } = *effect
        else {
            return;
        };
        let (Some(found), missing) = self.message(message) else {
            tracing::error!(?message, "a delivered message has no body; the delivery is skipped");
            self.owned.counters.groups_faulted_total.add(1);
            return;
        };
        self.tally.delivered += 1;
        self.tally.settled += u64::from(settled);
        let attachment = owner.attachment;
        let item = Item::Deliver { attachment, delivery, settled, redelivered, delivery_count, message: found };
        self.hand_to(owner.connection, item, missing.map(|message| (group, message)));
    }

    fn forget(&mut self, message: MessageId) {
        let size_bytes = self.bodies.forget(message);
        if self.logged.is_some() {
            self.forgotten.extend(chunks_of(message));
            self.forgotten.push(message);
        } else {
            self.removed_bytes += size_bytes;
        }
    }

    fn count_dropped(&self, reason: DropReason) {
        let counters = &self.owned.counters;
        match reason {
            DropReason::Rejected => counters.messages_dropped_rejected_total.add(1),
            DropReason::DeliveryLimit => counters.messages_dropped_limit_total.add(1),
            DropReason::Expired => counters.messages_dropped_expired_total.add(1),
            DropReason::MaxLength => counters.messages_dropped_overflow_total.add(1),
            DropReason::Purged | DropReason::GroupDeleted => {}
        }
    }

    fn note(&self, note: PartitionNote) {
        if self.owned.notes.send(note).is_err() {
            tracing::debug!("the node has stopped");
        }
    }

    fn hand_to(&mut self, connection: ConnectionId, item: Item, missing: Option<(GroupId, MessageId)>) {
        let attached = &self.attached;
        self.round.push_to(connection, item, missing, || attached.mailbox(connection));
    }

    pub(super) async fn end_round(&mut self) {
        if let Some(error) = self.logged.as_mut().and_then(|logged| logged.failure.take()) {
            self.stop_serving(&error);
        }
        self.load_missing().await;
        self.tend_ahead();
        self.send_letters().await;
        self.forget_in_log();
        self.round.flush();
        // Before publishers are woken: they look at it.
        self.owned.memory.update(self.added_bytes, self.removed_bytes);
        for (mailbox, bytes) in self.released.drain(..) {
            mailbox.release_in_flight(bytes);
        }
        self.added_bytes = 0;
        self.removed_bytes = 0;
        let tally = std::mem::take(&mut self.tally);
        self.owned.counters.messages_enqueued_total.add(tally.enqueued);
        self.owned.counters.messages_delivered_total.add(tally.delivered);
        self.owned.counters.messages_settled_total.add(tally.settled);
        self.consider_snapshot();
    }

    /// Tells the log what it need not keep.
    pub(super) fn forget_in_log(&mut self) {
        let Some(logged) = self.logged.as_mut().filter(|_| !self.forgotten.is_empty()) else { return };
        match logged.wal.forget(logged.partition, &self.forgotten) {
            Ok(bytes) => logged.snapshots.note_forgotten(bytes),
            Err(error) => tracing::debug!(partition = logged.partition.0, %error, "nothing more is forgotten"),
        }
        self.forgotten.clear();
    }
}

/// What stands in for a message until it was read.
pub(crate) fn blank() -> Arc<Message> {
    Arc::new(Message::empty(Protocol::Amqp))
}
