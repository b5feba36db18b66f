//! Messages that a group dropped and keeps until they have been stored where dead letters go: at-least-once
//! dead-lettering (SPEC section 3, limits). Members never see them again.
//!
//! Invariants: a kept message is in no other place of its group; its reason is one that dead-letters.

use alloc::collections::BTreeMap;

use braid_types::MessageId;

use crate::DropReason;
use crate::context::Context;
use crate::message::HeldMessage;

/// A message that nobody accepted.
#[derive(Debug)]
pub(crate) struct DeadLetter {
    /// The message, with its counts.
    pub(crate) message: HeldMessage,
    /// Why it was dropped.
    pub(crate) reason: DropReason,
}

/// The dead letters of a group, in order of publication.
#[derive(Debug, Default)]
pub(crate) struct DeadLetters {
    by_id: BTreeMap<MessageId, DeadLetter>,
    /// What is dropped from now on is kept.
    pub(crate) keeps: bool,
}

impl DeadLetters {
    /// None yet.
    pub(crate) fn new(keeps: bool) -> Self {
        Self { by_id: BTreeMap::new(), keeps }
    }

    /// The group drops a message that nobody accepted: it is kept where that is wanted, and otherwise let go of.
    pub(crate) fn drop_message(&mut self, context: &mut Context<'_>, message: HeldMessage, reason: DropReason) {
        let kept = self.keeps && reason.is_dead_letter();
        context.note_dropped(message.id, reason, message.delivery_count, kept);
        if kept {
            self.restore(DeadLetter { message, reason });
        } else {
            context.release(&message);
        }
    }

    /// Puts back a dead letter as a snapshot says it was; whether it was not there yet.
    pub(crate) fn restore(&mut self, letter: DeadLetter) -> bool {
        self.by_id.insert(letter.message.id, letter).is_none()
    }

    /// Takes one out.
    pub(crate) fn take(&mut self, message: MessageId) -> Option<HeldMessage> {
        self.by_id.remove(&message).map(|letter| letter.message)
    }

    /// Messages.
    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.by_id.len()).unwrap_or(u64::MAX)
    }

    /// Whether a message is kept here.
    pub(crate) fn contains(&self, message: MessageId) -> bool {
        self.by_id.contains_key(&message)
    }

    /// All of them, in order of publication.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &DeadLetter> {
        self.by_id.values()
    }

    pub(crate) fn into_messages(self) -> impl Iterator<Item = HeldMessage> {
        self.by_id.into_values().map(|letter| letter.message)
    }
}
