//! The messages of a group that no member holds, and the filters that sort them.
//!
//! Invariant: every message in `ready` is in the class that the present filters give it.

use alloc::vec::Vec;
use core::mem;

use braid_types::{Filter, Outcome, Timestamp};

use crate::context::Context;
use crate::dead_letters::DeadLetters;
use crate::delayed::Delayed;
use crate::filters::{FilterSlot, Filters};
use crate::lane::Lane;
use crate::message::HeldMessage;
use crate::ready::{ClassIndex, ClassKey, Ready};
use crate::{DropReason, GroupConfig, Strategy};

/// What waits in a group.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Messages that may be handed out.
    pub(crate) ready: Ready,
    /// Distinct filters of present members.
    pub(crate) filters: Filters,
    /// Each message is in the lane of its address.
    in_lanes: bool,
    /// Messages that wait for their next try.
    pub(crate) delayed: Delayed,
    /// Messages that were dropped and are kept until they are stored elsewhere. They wait for no member.
    pub(crate) dead_letters: DeadLetters,
}

impl Backlog {
    /// An empty one, whose messages are in lanes if the strategy is by key.
    pub(crate) fn new(config: &GroupConfig) -> Self {
        let dead_letters = DeadLetters::new(config.keeps_dead_letters);
        Self { in_lanes: config.strategy == Strategy::Key, dead_letters, ..Self::default() }
    }

    /// Sorts all ready messages into lanes, or out of them. O(n log n).
    pub(crate) fn change_strategy(&mut self, strategy: Strategy) {
        self.in_lanes = strategy == Strategy::Key;
        for message in self.ready.take_all() {
            let class = self.class_of(&message);
            if message.acquired_count > 0 {
                self.ready.push_returned(class, message);
            } else {
                self.ready.push_fresh(class, message);
            }
        }
    }

    /// The class of a message.
    pub(crate) fn class_of(&mut self, message: &HeldMessage) -> ClassKey {
        let address = message.address.as_ref();
        let lane = if self.in_lanes { Lane::of(address) } else { Lane::default() };
        ClassKey { lane, mask: self.filters.mask_of(address) }
    }

    /// A message that was handed out, ahead of all that never were, in its old order.
    pub(crate) fn put_back(&mut self, message: HeldMessage) {
        let class = self.class_of(&message);
        self.ready.push_returned(class, message);
    }

    /// Puts back the messages whose delay is over.
    pub(crate) fn put_back_due(&mut self, now: Timestamp) {
        while let Some(message) = self.delayed.take_due(now) {
            self.put_back(message);
        }
    }

    /// Takes all messages as they lie.
    pub(crate) fn take_apart(&mut self) -> Ready {
        let mut apart = mem::take(&mut self.ready);
        for message in mem::take(&mut self.delayed).into_messages() {
            apart.push_returned(ClassKey::default(), message);
        }
        apart
    }

    /// Takes all messages, oldest first.
    pub(crate) fn take_all(&mut self) -> Vec<HeldMessage> {
        let mut messages = self.ready.take_all();
        messages.extend(mem::take(&mut self.delayed).into_messages());
        messages.sort_by_key(|message| message.id);
        messages
    }

    /// Messages, delayed ones too, without dead letters.
    pub(crate) fn count(&self) -> u64 {
        self.ready.count() + self.delayed.count()
    }

    /// Drops what has expired at the head of a line, some of it if it is very much. Nothing may be handed out while
    /// [`Backlog::has_expired`].
    pub(crate) fn drop_expired(&mut self, context: &mut Context<'_>) {
        if context.now() <= self.ready.calm_until() {
            return;
        }
        for message in self.ready.take_expired(context.now()) {
            self.dead_letters.drop_message(context, message, DropReason::Expired);
        }
    }

    /// Something at the head of a line has expired.
    pub(crate) fn has_expired(&self, now: Timestamp) -> bool {
        self.ready.calm_until() < now
    }

    /// Takes the head of a class.
    pub(crate) fn pop(&mut self, class: ClassIndex) -> Option<HeldMessage> {
        self.ready.pop(class)
    }

    /// Ends a delivery (SPEC section 3, settlement).
    pub(crate) fn end_delivery(
        &mut self,
        context: &mut Context<'_>,
        config: &GroupConfig,
        mut message: HeldMessage,
        outcome: Outcome,
    ) {
        match outcome {
            Outcome::Accepted => context.release(&message),
            Outcome::Released => self.put_back(message),
            Outcome::Modified => {
                message.delivery_count = message.delivery_count.saturating_add(1);
                let delay_ms = config.retry.map_or(0, |retry| retry.delay_ms(message.delivery_count));
                if config.delivery_limit.is_some_and(|limit| message.delivery_count > limit) {
                    self.dead_letters.drop_message(context, message, DropReason::DeliveryLimit);
                } else if delay_ms > 0 {
                    self.delayed.insert(context.now().plus_ms(delay_ms), message);
                } else {
                    self.put_back(message);
                }
            }
            Outcome::Rejected => self.dead_letters.drop_message(context, message, DropReason::Rejected),
        }
    }

    /// A member with this filter comes: its slot, or `None` when there are too many filters.
    pub(crate) fn enter_filter(&mut self, filter: &Filter) -> Option<FilterSlot> {
        let (slot, is_new) = self.filters.enter(filter)?;
        if is_new {
            let bit = slot.bit();
            self.ready.reclassify(|message, mask| {
                let matches = message.address.as_ref().is_some_and(|address| filter.matches(address));
                if matches { mask | bit } else { mask }
            });
        }
        Some(slot)
    }

    /// A member with this filter is present no more.
    pub(crate) fn leave_filter(&mut self, slot: FilterSlot) {
        if self.filters.leave(slot) {
            self.ready.reclassify(|_, mask| mask & !slot.bit());
        }
    }
}
