//! The messages that a partition's groups refer to, as far as they are in memory, by entry and position.
//!
//! In a partition without a log all of them are, until they are forgotten. In one with a log only those that were not
//! handed out when they came, as far as there is room, and some that were read ahead; the rest is read again. What is kept
//! is what came first, because it goes out first; it gives way when it has waited for long.
//!
//! Invariant: an entry goes when its last message is forgotten; the machine tells exactly once per message.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_types::{LogIndex, Message, MessageId};
use bytes::{Bytes, BytesMut};
use hashbrown::HashMap;

use crate::limits::{BODY_COMPACTED_BYTES_MAX, READ_BUFFER_BYTES, RECENT_BYTES_MAX, RECENT_ENTRIES_MAX};

#[derive(Debug, Default)]
struct Entry {
    live: usize,
    /// What it counts for in [`Recent`].
    cost_bytes: usize,
    /// By position, ascending.
    slots: Vec<(u32, Option<Arc<Message>>)>,
}

/// Messages of one partition.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    entries: HashMap<LogIndex, Entry>,
    open: Entry,
    open_index: LogIndex,
    delivered: Vec<bool>,
    /// The log has them too.
    recent: Option<Recent>,
}

/// What is kept although the log has it.
#[derive(Debug, Default)]
struct Recent {
    /// Entries in their order; some may be gone already.
    order: VecDeque<LogIndex>,
    /// Bytes that those in memory keep from being given back.
    cost_bytes: usize,
    /// Read before they were asked for.
    ahead: HashMap<MessageId, Arc<Message>>,
}

impl Bodies {
    /// Those of a partition with a log.
    pub(crate) fn logged() -> Self {
        Self { recent: Some(Recent::default()), ..Self::default() }
    }

    /// Begins the entry `index`: what is inserted next belongs to it.
    pub(crate) fn open(&mut self, index: LogIndex) {
        self.open_index = index;
    }

    /// Adds the message of the open entry's command `position`; positions ascend. Returns its size.
    pub(crate) fn insert(&mut self, position: u32, message: Arc<Message>) -> usize {
        let size_bytes = message.size_bytes();
        self.open.slots.push((position, Some(message)));
        self.open.live += 1;
        self.delivered.push(false);
        size_bytes
    }

    /// The message, for a delivery. `None` in a partition with a log: it has to be read.
    pub(crate) fn get(&mut self, id: MessageId) -> Option<Arc<Message>> {
        if id.index == self.open_index {
            let place = self.open.find(id.position)?;
            if let Some(delivered) = self.delivered.get_mut(place) {
                *delivered = true;
            }
            return self.open.slots.get(place)?.1.clone();
        }
        if let Some(entry) = self.entries.get(&id.index) {
            return entry.slots.get(entry.find(id.position)?)?.1.clone();
        }
        self.recent.as_mut()?.ahead.remove(&id)
    }

    /// Drops the message. Returns its size, if it was here.
    pub(crate) fn forget(&mut self, id: MessageId) -> usize {
        if id.index == self.open_index {
            return self.open.take(id.position).map_or(0, |message| message.size_bytes());
        }
        let Some(entry) = self.entries.get_mut(&id.index) else {
            if let Some(recent) = &mut self.recent {
                recent.ahead.remove(&id);
            }
            return 0;
        };
        let taken = entry.take(id.position);
        if entry.live == 0
            && let Some(entry) = self.entries.remove(&id.index)
            && let Some(recent) = &mut self.recent
        {
            recent.cost_bytes -= entry.cost_bytes;
        }
        taken.map_or(0, |message| message.size_bytes())
    }

    /// Keeps a message that was read before it was asked for.
    pub(crate) fn read_ahead(&mut self, id: MessageId, message: Arc<Message>) {
        if let Some(recent) = &mut self.recent {
            recent.ahead.insert(id, message);
        }
    }

    /// Drops what was read ahead and not asked for.
    pub(crate) fn forget_ahead(&mut self) {
        if let Some(recent) = &mut self.recent {
            recent.ahead.clear();
        }
    }

    /// Messages that were read ahead.
    pub(crate) fn ahead(&self) -> usize {
        self.recent.as_ref().map_or(0, |recent| recent.ahead.len())
    }

    /// It is here, or was read ahead.
    pub(crate) fn has(&self, id: MessageId) -> bool {
        let is_ahead = || self.recent.as_ref().is_some_and(|recent| recent.ahead.contains_key(&id));
        self.entries.get(&id.index).is_some_and(|entry| entry.find(id.position).is_some()) || is_ahead()
    }

    /// Ends the open entry, which so many submissions brought. What nobody was given yet stays for longer: without a log,
    /// small ones leave the read buffer that they are slices of.
    pub(crate) fn close(&mut self, submissions: usize) {
        if self.recent.is_some() {
            self.keep_recent(submissions);
        } else if self.open.live > 0 {
            for ((_, slot), delivered) in self.open.slots.iter_mut().zip(&self.delivered) {
                if let Some(message) = slot
                    && !delivered
                    && message.size_bytes() <= BODY_COMPACTED_BYTES_MAX
                {
                    *message = Arc::new(compacted(message));
                }
            }
            let entry = std::mem::take(&mut self.open);
            self.entries.insert(self.open_index, entry);
        }
        self.open.slots.clear();
        self.open.live = 0;
        self.delivered.clear();
        self.open_index = LogIndex(0);
    }

    /// What was handed out is read again should it come back; the others are likely to go out soon.
    fn keep_recent(&mut self, submissions: usize) {
        let Some(recent) = &mut self.recent else { return };
        while let Some(oldest) = recent.order.front()
            && oldest.0 + RECENT_ENTRIES_MAX < self.open_index.0
        {
            recent.cost_bytes -= self.entries.remove(oldest).map_or(0, |entry| entry.cost_bytes);
            recent.order.pop_front();
        }
        if recent.cost_bytes >= RECENT_BYTES_MAX {
            return;
        }
        let mut bytes = 0;
        let waiting = self.open.slots.drain(..).zip(&self.delivered).filter_map(|((position, slot), delivered)| {
            let message = slot.filter(|_| !delivered)?;
            bytes += message.size_bytes();
            Some((position, Some(message)))
        });
        let slots: Vec<_> = waiting.collect();
        if slots.is_empty() {
            return;
        }
        // They are slices of the read buffers that they came in, and keep those whole.
        let cost_bytes = bytes.max(submissions * READ_BUFFER_BYTES);
        if cost_bytes > RECENT_BYTES_MAX / 4 {
            return;
        }
        recent.cost_bytes += cost_bytes;
        recent.order.push_back(self.open_index);
        self.entries.insert(self.open_index, Entry { live: slots.len(), cost_bytes, slots });
    }
}

impl Entry {
    /// Positions without gaps are found at once, others by bisection.
    fn find(&self, position: u32) -> Option<usize> {
        let (first, _) = self.slots.first()?;
        let guess = usize::try_from(position.checked_sub(*first)?).ok()?;
        if self.slots.get(guess).is_some_and(|(found, _)| *found == position) {
            return Some(guess);
        }
        self.slots.binary_search_by_key(&position, |(position, _)| *position).ok()
    }

    fn take(&mut self, position: u32) -> Option<Arc<Message>> {
        let place = self.find(position)?;
        let taken = self.slots.get_mut(place)?.1.take()?;
        self.live -= 1;
        Some(taken)
    }
}

/// The message with its pieces in one allocation of their own size: it does not keep the read buffer alive.
pub(crate) fn compacted(message: &Message) -> Message {
    let pieces = [&message.exchange, &message.key, &message.header, &message.reply, &message.body];
    let mut buffer = BytesMut::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        buffer.extend_from_slice(piece);
    }
    let mut rest = buffer.freeze();
    let mut next = |piece: &Bytes| rest.split_to(piece.len());
    Message {
        exchange: next(&message.exchange),
        key: next(&message.key),
        header: next(&message.header),
        reply: next(&message.reply),
        body: next(&message.body),
        ..message.clone()
    }
}

#[cfg(test)]
mod tests {
    use braid_types::Protocol;

    use super::*;

    fn message(body: &'static [u8]) -> Arc<Message> {
        Arc::new(Message {
            key: Bytes::from_static(b"key"),
            body: Bytes::from_static(body),
            ..Message::empty(Protocol::Amqp)
        })
    }

    fn id(index: u64, position: u32) -> MessageId {
        MessageId { index: LogIndex(index), position }
    }

    #[test]
    fn messages_live_until_forgotten_and_entries_until_their_last_message() {
        let mut bodies = Bodies::default();
        bodies.open(LogIndex(5));
        bodies.insert(1, message(b"one"));
        bodies.insert(3, message(b"three"));
        assert_eq!(bodies.get(id(5, 3)), Some(message(b"three")));
        assert_eq!(bodies.get(id(5, 2)), None);
        bodies.close(1);
        assert_eq!(bodies.get(id(5, 1)), Some(message(b"one")), "a compacted message is equal to what came");
        assert_eq!(bodies.forget(id(5, 1)), 3);
        assert_eq!(bodies.forget(id(5, 1)), 0);
        assert_eq!(bodies.get(id(5, 1)), None);
        assert_eq!(bodies.forget(id(5, 3)), 5);
        assert!(bodies.entries.is_empty());
    }

    #[test]
    fn with_a_log_what_came_first_and_waits_is_in_memory_as_far_as_there_is_room() {
        let mut bodies = Bodies::logged();
        let fits = (RECENT_BYTES_MAX / READ_BUFFER_BYTES) as u64;
        let enter = |bodies: &mut Bodies, index| {
            bodies.open(LogIndex(index));
            bodies.insert(0, message(b"waits"));
            bodies.insert(1, message(b"handed out"));
            assert!(bodies.get(id(index, 1)).is_some());
            bodies.close(1);
        };
        for index in 1..=fits + 10 {
            enter(&mut bodies, index);
        }
        assert_eq!(bodies.get(id(1, 1)), None, "handed out already");
        assert_eq!(bodies.get(id(1, 0)), Some(message(b"waits")));
        assert_eq!(bodies.get(id(fits + 1, 0)), None, "no room");
        bodies.forget(id(1, 0));
        enter(&mut bodies, fits + 11);
        assert_eq!(bodies.get(id(fits + 11, 0)), Some(message(b"waits")), "there is room again");
        enter(&mut bodies, fits + 12 + RECENT_ENTRIES_MAX);
        assert_eq!(bodies.get(id(2, 0)), None, "it has waited for long");
        bodies.forget(id(fits + 12 + RECENT_ENTRIES_MAX, 0));
        assert!(bodies.entries.is_empty());
        assert_eq!(bodies.recent.as_ref().unwrap().cost_bytes, 0);
    }

    #[test]
    fn what_was_read_ahead_is_given_once() {
        let mut bodies = Bodies::logged();
        bodies.read_ahead(id(7, 2), message(b"ahead"));
        assert!(bodies.has(id(7, 2)));
        assert_eq!(bodies.get(id(7, 2)), Some(message(b"ahead")));
        assert_eq!((bodies.get(id(7, 2)), bodies.ahead()), (None, 0));
    }
}
