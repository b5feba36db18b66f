//! The ready messages of one class: those that came back, and those never handed out.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use braid_types::{MessageId, Timestamp};

use super::ClassKey;
use super::fresh::Fresh;
use crate::limits::PRIORITY_LEVELS;
use crate::message::{HeldMessage, NEVER};

/// A message's place in the order of dispatch: the lower, the sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    is_fresh: bool,
    /// 0 is the highest priority.
    level: u8,
    id: MessageId,
}

impl Place {
    /// Whose place it is.
    pub(crate) fn message(self) -> MessageId {
        self.id
    }

    fn of(message: &HeldMessage, is_fresh: bool) -> Self {
        Self { is_fresh, level: (PRIORITY_LEVELS - 1).saturating_sub(message.priority), id: message.id }
    }
}

/// A match class.
#[derive(Debug)]
pub(crate) struct Class {
    key: ClassKey,
    /// Ahead of all fresh ones. A map, because they come back in any order.
    returned: BTreeMap<Place, HeldMessage>,
    fresh: Fresh,
}

impl Class {
    pub(super) fn new(key: ClassKey) -> Self {
        Self { key, returned: BTreeMap::new(), fresh: Fresh::default() }
    }

    /// What its messages have in common.
    pub(crate) fn key(&self) -> ClassKey {
        self.key
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.returned.is_empty() && self.fresh.is_empty()
    }

    /// Its messages. Adds up its queues.
    pub(crate) fn len(&self) -> u64 {
        u64::try_from(self.returned.len() + self.fresh.len()).unwrap_or(u64::MAX)
    }

    /// The place of its first message.
    pub(crate) fn head(&self) -> Option<Place> {
        let returned = self.returned.first_key_value().map(|(place, _)| *place);
        returned.or_else(|| Some(Place::of(self.fresh.first()?, true)))
    }

    /// The messages that came back, in order.
    pub(crate) fn returned(&self) -> impl Iterator<Item = &HeldMessage> {
        self.returned.values()
    }

    /// The messages never handed out, in order.
    pub(crate) fn fresh(&self) -> impl Iterator<Item = &HeldMessage> {
        self.fresh.iter()
    }

    /// The places of its messages, in order.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let fresh = self.fresh.iter().map(|message| Place::of(message, true));
        self.returned.keys().copied().chain(fresh)
    }

    pub(super) fn push_fresh(&mut self, message: HeldMessage) {
        self.fresh.push(message);
    }

    pub(super) fn push_returned(&mut self, message: HeldMessage) {
        self.returned.insert(Place::of(&message, false), message);
    }

    pub(super) fn pop(&mut self) -> Option<HeldMessage> {
        match self.returned.pop_first() {
            Some((_, message)) => Some(message),
            None => self.fresh.pop(),
        }
    }

    /// When the first of its heads expires.
    pub(crate) fn earliest_expiry(&self) -> Timestamp {
        let returned = self.returned.first_key_value().map_or(NEVER, |(_, message)| message.expires_at);
        returned.min(self.fresh.earliest_expiry())
    }

    /// Takes expired messages while they are at the head of the returned ones or of a priority and `expired` has less
    /// than `most`.
    pub(super) fn take_expired(&mut self, now: Timestamp, most: usize, expired: &mut Vec<HeldMessage>) {
        while expired.len() < most
            && let Some(first) = self.returned.first_entry()
            && first.get().is_expired(now)
        {
            expired.push(first.remove());
        }
        self.fresh.take_expired(now, most, expired);
    }

    pub(super) fn into_parts(self) -> (impl Iterator<Item = HeldMessage>, impl Iterator<Item = HeldMessage>) {
        (self.returned.into_values(), self.fresh.into_iter())
    }
}
