//! Messages never handed out, in one queue per priority, made when the priority is first used.
//!
//! Invariants: queues are sorted from high to low priority, `allocated` has the bit of each, `occupied` the bit of each
//! that is not empty; within a queue message ids rise.

use alloc::vec::Vec;

use braid_types::Timestamp;

use super::queue::Queue;
use crate::message::{HeldMessage, NEVER};

/// Queues by priority.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    queues: Vec<Queue>,
    allocated: u32,
    occupied: u32,
}

impl Fresh {
    pub(super) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    pub(super) fn len(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }

    /// The oldest message of the highest priority.
    pub(super) fn first(&self) -> Option<&HeldMessage> {
        self.queues.get(self.position(self.highest()?))?.front()
    }

    /// When the first of the heads expires.
    pub(super) fn earliest_expiry(&self) -> Timestamp {
        let heads = self.queues.iter().filter_map(Queue::front);
        heads.map(|head| head.expires_at).min().unwrap_or(NEVER)
    }

    /// All messages, highest priority first, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &HeldMessage> {
        self.queues.iter().flat_map(Queue::iter)
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = HeldMessage> {
        self.queues.into_iter().flat_map(Queue::into_iter)
    }

    /// Appends a message to its priority.
    pub(super) fn push(&mut self, message: HeldMessage) {
        let priority = message.priority;
        let position = self.position(priority);
        let bit = bit(priority);
        if self.allocated & bit == 0 {
            self.queues.insert(position, Queue::default());
            self.allocated |= bit;
        }
        if let Some(queue) = self.queues.get_mut(position) {
            queue.push(message);
            self.occupied |= bit;
        }
    }

    /// Takes the first message.
    pub(super) fn pop(&mut self) -> Option<HeldMessage> {
        self.pop_of(self.highest()?)
    }

    /// Takes expired messages while they are at the head of a priority and `expired` has less than `most`.
    pub(super) fn take_expired(&mut self, now: Timestamp, most: usize, expired: &mut Vec<HeldMessage>) {
        let mut unseen = self.occupied;
        while let Some(priority) = highest(unseen) {
            unseen &= !bit(priority);
            let position = self.position(priority);
            while expired.len() < most
                && self.queues.get(position).and_then(Queue::front).is_some_and(|first| first.is_expired(now))
            {
                expired.extend(self.pop_of(priority));
            }
        }
    }

    fn pop_of(&mut self, priority: u8) -> Option<HeldMessage> {
        let position = self.position(priority);
        let queue = self.queues.get_mut(position)?;
        let message = queue.pop();
        if queue.is_empty() {
            self.occupied &= !bit(priority);
        }
        message
    }

    fn highest(&self) -> Option<u8> {
        highest(self.occupied)
    }

    /// Where the queue of a priority is, or would be: behind those of all higher priorities.
    fn position(&self, priority: u8) -> usize {
        let higher = u64::from(self.allocated) >> (u32::from(priority) + 1);
        usize::try_from(higher.count_ones()).unwrap_or(usize::MAX)
    }
}

fn bit(priority: u8) -> u32 {
    1_u32.checked_shl(u32::from(priority)).unwrap_or(0)
}

fn highest(occupied: u32) -> Option<u8> {
    occupied.checked_ilog2().and_then(|priority| u8::try_from(priority).ok())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use braid_types::{LogIndex, MessageId};

    use super::*;
    use crate::MessageHeader;

    fn message(index: u64, priority: u8) -> HeldMessage {
        let header = MessageHeader { size_bytes: 1, priority, expires_at: None, address: None };
        HeldMessage::new(MessageId { index: LogIndex(index), position: 0 }, header, false)
    }

    #[test]
    fn strict_priorities_first_in_first_out_within_each() {
        let mut fresh = Fresh::default();
        for (index, priority) in [(1, 4), (2, 31), (3, 0), (4, 4), (5, 200), (6, 0)] {
            fresh.push(message(index, priority));
        }
        let order: Vec<u64> = core::iter::from_fn(|| fresh.pop()).map(|message| message.id.index.0).collect();
        assert_eq!(order, [2, 5, 1, 4, 3, 6]);
        assert!(fresh.is_empty());
    }
}
