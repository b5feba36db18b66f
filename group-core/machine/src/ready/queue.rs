//! First in, first out, in chunks: a long queue grows without ever copying what is in it (one command would stand still
//! for as long as that takes), and gives its memory back chunk by chunk as it drains.
//!
//! Invariant: no chunk is empty, except one that is alone; all but the last were filled.

use alloc::collections::VecDeque;

use crate::limits::{CHUNK_MESSAGES, QUEUE_CAPACITY_KEPT};
use crate::message::HeldMessage;

/// A queue of messages.
#[derive(Debug, Default)]
pub(super) struct Queue {
    chunks: VecDeque<VecDeque<HeldMessage>>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.front().is_none()
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.iter().map(VecDeque::len).sum()
    }

    pub(super) fn front(&self) -> Option<&HeldMessage> {
        self.chunks.front()?.front()
    }

    pub(super) fn push(&mut self, message: HeldMessage) {
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK_MESSAGES => last.push_back(message),
            Some(_) | None => self.chunks.push_back(VecDeque::from([message])),
        }
    }

    pub(super) fn pop(&mut self) -> Option<HeldMessage> {
        let is_alone = self.chunks.len() == 1;
        let first = self.chunks.front_mut()?;
        let message = first.pop_front();
        // A little room stays for the next message; more would add up over thousands of idle groups.
        if first.is_empty() && (!is_alone || first.capacity() > QUEUE_CAPACITY_KEPT) {
            self.chunks.pop_front();
        }
        message
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &HeldMessage> {
        self.chunks.iter().flatten()
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = HeldMessage> {
        self.chunks.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use braid_types::{LogIndex, MessageId};

    use super::*;
    use crate::MessageHeader;

    fn message(index: usize) -> HeldMessage {
        let header = MessageHeader { size_bytes: 1, priority: 0, expires_at: None, address: None };
        HeldMessage::new(MessageId { index: LogIndex(index as u64), position: 0 }, header, false)
    }

    #[test]
    fn order_is_kept_over_chunks() {
        let mut queue = Queue::default();
        let mut popped = Vec::new();
        for index in 0..CHUNK_MESSAGES * 5 {
            queue.push(message(index));
            if index % 3 == 0 {
                popped.extend(queue.pop());
            }
        }
        assert_eq!(queue.len() + popped.len(), CHUNK_MESSAGES * 5);
        popped.extend(core::iter::from_fn(|| queue.pop()));
        assert!(popped.iter().enumerate().all(|(index, message)| message.id.index.0 == index as u64));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_drained_burst_gives_its_memory_back() {
        let mut queue = Queue::default();
        (0..CHUNK_MESSAGES * 4).for_each(|index| queue.push(message(index)));
        assert_eq!(queue.chunks.len(), 4);
        (0..CHUNK_MESSAGES * 3).for_each(|_| drop(queue.pop()));
        assert_eq!(queue.chunks.len(), 1);
        while queue.pop().is_some() {}
        assert_eq!(queue.chunks.len(), 0);
        queue.push(message(0));
        queue.pop();
        assert_eq!(queue.chunks.len(), 1, "room for the next one");
    }
}
