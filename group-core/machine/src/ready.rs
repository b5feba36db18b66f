//! The messages of a group that wait for a member, in match classes.
//!
//! A class holds the messages that the same filters match. So the next message that *some* present member may take is
//! found by looking at the heads of the classes, never by scanning messages, and messages that nobody may take block
//! nothing. Without filtered members there is exactly one class. A look costs one comparison per class; a class exists
//! only while it has messages (and a few more, to be used again).
//!
//! Order over all classes: messages that came back before those never handed out, then higher priority first, then
//! older first ([`Place`]).
//!
//! Invariants: the counts equal a recount; a message is in the class of its mask; classes are sorted by lane and mask.

use alloc::vec::Vec;
use core::mem;

use braid_types::{MessageId, Timestamp};

use crate::filters::Mask;
use crate::lane::Lane;
use crate::limits::{EMPTY_CLASSES_KEPT, EXPIRED_AT_ONCE_MAX};
use crate::message::{HeldMessage, NEVER};

mod class;
mod fresh;
mod in_order;
mod queue;

pub(crate) use class::{Class, Place};

/// Who could take a message now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Takers {
    /// A member without filter has credit.
    pub(crate) anyone: bool,
    /// The filters of members that have credit.
    pub(crate) filters: Mask,
}

impl Takers {
    /// Whether one of them may take messages of this mask.
    pub(crate) fn may_take(self, mask: Mask) -> bool {
        self.anyone || self.filters & mask != 0
    }

    /// Nobody has credit.
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// What the messages of a class have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClassKey {
    /// Their lane, in a group that dispatches by key; in others there is one lane.
    pub(crate) lane: Lane,
    /// The filters that match them.
    pub(crate) mask: Mask,
}

/// Where a class is among the classes, until the next change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClassIndex(usize);

impl ClassIndex {
    /// The class `offset` classes behind it.
    pub(crate) fn plus(self, offset: usize) -> Self {
        Self(self.0 + offset)
    }
}

/// The ready messages of a group.
#[derive(Debug)]
pub(crate) struct Ready {
    classes: Vec<Class>,
    count: u64,
    size_bytes: u64,
    /// How many of them expire some day.
    expiring: u64,
    /// No head expires before this time: until then nothing has to look for expired ones.
    calm_until: Timestamp,
}

impl Default for Ready {
    fn default() -> Self {
        Self { classes: Vec::new(), count: 0, size_bytes: 0, expiring: 0, calm_until: NEVER }
    }
}

impl Ready {
    /// Messages.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The sum of their sizes.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// How many of them expire.
    pub(crate) fn expiring(&self) -> u64 {
        self.expiring
    }

    /// No head expires before this time.
    pub(crate) fn calm_until(&self) -> Timestamp {
        self.calm_until
    }

    /// The classes, some of which may be empty.
    pub(crate) fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// All messages, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &HeldMessage> {
        self.classes.iter().flat_map(|class| class.returned().chain(class.fresh()))
    }

    /// A message that was never handed out. It is younger than all others.
    pub(crate) fn push_fresh(&mut self, key: ClassKey, message: HeldMessage) {
        self.count_in(&message);
        self.class_mut(key).push_fresh(message);
    }

    /// A message that came back.
    pub(crate) fn push_returned(&mut self, key: ClassKey, message: HeldMessage) {
        self.count_in(&message);
        self.class_mut(key).push_returned(message);
    }

    /// The class whose head comes first among those that `takers` may take.
    pub(crate) fn first_for(&self, takers: Takers) -> Option<ClassIndex> {
        if let [only] = self.classes.as_slice() {
            return (!only.is_empty() && takers.may_take(only.key().mask)).then_some(ClassIndex(0));
        }
        let open = self.classes.iter().enumerate().filter(|(_, class)| takers.may_take(class.key().mask));
        let heads = open.filter_map(|(index, class)| Some((class.head()?, ClassIndex(index))));
        heads.min_by_key(|(place, _)| *place).map(|(_, class)| class)
    }

    /// The class whose head comes first of all.
    pub(crate) fn first(&self) -> Option<ClassIndex> {
        self.first_for(Takers { anyone: true, filters: 0 })
    }

    /// The mask of a class, and its first message.
    pub(crate) fn peek(&self, class: ClassIndex) -> Option<(Mask, MessageId)> {
        let class = self.classes.get(class.0)?;
        Some((class.key().mask, class.head()?.message()))
    }

    /// Takes the head of a class.
    pub(crate) fn pop(&mut self, index: ClassIndex) -> Option<HeldMessage> {
        let class = self.classes.get_mut(index.0)?;
        let message = class.pop()?;
        if self.expiring > 0 {
            self.calm_until = self.calm_until.min(class.earliest_expiry());
        }
        if class.is_empty() && self.classes.len() > EMPTY_CLASSES_KEPT {
            self.classes.remove(index.0);
        }
        self.count_out(&message);
        Some(message)
    }

    /// Takes the expired messages off the heads of all lines of all classes, oldest first, up to
    /// [`EXPIRED_AT_ONCE_MAX`]; whether there are more says [`Ready::calm_until`].
    pub(crate) fn take_expired(&mut self, now: Timestamp) -> Vec<HeldMessage> {
        let mut expired = Vec::new();
        if now <= self.calm_until {
            return expired;
        }
        self.calm_until = NEVER;
        for class in &mut self.classes {
            class.take_expired(now, EXPIRED_AT_ONCE_MAX, &mut expired);
            self.calm_until = self.calm_until.min(class.earliest_expiry());
        }
        for message in &expired {
            self.count_out(message);
        }
        expired.sort_unstable_by_key(|message: &HeldMessage| message.id);
        expired
    }

    /// Takes all messages, oldest first.
    pub(crate) fn take_all(&mut self) -> Vec<HeldMessage> {
        let all = mem::take(self);
        let mut messages: Vec<HeldMessage> = Vec::new();
        for class in all.classes {
            let (returned, fresh) = class.into_parts();
            messages.extend(returned);
            messages.extend(fresh);
        }
        messages.sort_by_key(|message| message.id);
        messages
    }

    /// The classes, lane by lane, each with the place of its first class.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (ClassIndex, &[Class])> {
        let mut start = 0;
        self.classes.chunk_by(|left, right| left.key().lane == right.key().lane).map(move |classes| {
            let first = ClassIndex(start);
            start += classes.len();
            (first, classes)
        })
    }

    /// Puts every message into the class that `mask_of` says, given its present mask. O(n), when a filter appears or
    /// disappears; sorting only merges the sorted runs of the old classes.
    pub(crate) fn reclassify(&mut self, mut mask_of: impl FnMut(&HeldMessage, Mask) -> Mask) {
        let mut all_fresh = Vec::new();
        for class in mem::take(&mut self.classes) {
            let ClassKey { lane, mask } = class.key();
            let mut key_of = |message: &HeldMessage| ClassKey { lane, mask: mask_of(message, mask) };
            let (returned, fresh) = class.into_parts();
            for message in returned {
                self.class_mut(key_of(&message)).push_returned(message);
            }
            all_fresh.extend(fresh.map(|message| (key_of(&message), message)));
        }
        all_fresh.sort_by_key(|(_, message)| message.id);
        for (key, message) in all_fresh {
            self.class_mut(key).push_fresh(message);
        }
        // There are other heads now.
        self.calm_until = self.classes.iter().map(Class::earliest_expiry).min().unwrap_or(NEVER);
    }

    fn class_mut(&mut self, key: ClassKey) -> &mut Class {
        let index = match self.classes.binary_search_by_key(&key, Class::key) {
            Ok(index) => index,
            Err(index) => {
                self.classes.insert(index, Class::new(key));
                index
            }
        };
        &mut self.classes[index]
    }

    fn count_in(&mut self, message: &HeldMessage) {
        self.count += 1;
        self.size_bytes += u64::from(message.size_bytes);
        self.expiring += u64::from(message.expires());
        self.calm_until = self.calm_until.min(message.expires_at);
    }

    fn count_out(&mut self, message: &HeldMessage) {
        self.count -= 1;
        self.size_bytes -= u64::from(message.size_bytes);
        self.expiring -= u64::from(message.expires());
        if self.count == 0 {
            self.calm_until = NEVER;
        }
    }
}
