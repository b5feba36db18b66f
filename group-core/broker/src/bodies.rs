//! The messages that a partition's groups refer to, by entry and position, as the log will have them.
//!
//! Invariant: an entry goes when its last message is forgotten; the machine tells exactly once per message.

use std::sync::Arc;

use braid_types::{LogIndex, Message, MessageId};
use bytes::{Bytes, BytesMut};
use hashbrown::HashMap;

use crate::limits::BODY_COMPACTED_BYTES_MAX;

#[derive(Debug, Default)]
struct Entry {
    live: u32,
    slots: Vec<Option<Arc<Message>>>,
}

/// Messages of one partition.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    entries: HashMap<LogIndex, Entry>,
    open: Entry,
    open_index: LogIndex,
    delivered: Vec<bool>,
}

impl Bodies {
    /// Begins the entry `index`: what is inserted next belongs to it.
    pub(crate) fn open(&mut self, index: LogIndex) {
        self.open_index = index;
    }

    /// Adds the message of the open entry's command `position`. Returns its size.
    pub(crate) fn insert(&mut self, position: u32, message: Arc<Message>) -> usize {
        let position = position as usize;
        if self.open.slots.len() <= position {
            self.open.slots.resize(position + 1, None);
            self.delivered.resize(position + 1, false);
        }
        let size_bytes = message.size_bytes();
        if let Some(slot) = self.open.slots.get_mut(position) {
            *slot = Some(message);
            self.open.live += 1;
        }
        size_bytes
    }

    /// The message, for a delivery.
    pub(crate) fn get(&mut self, id: MessageId) -> Option<Arc<Message>> {
        let position = id.position as usize;
        let entry = if id.index == self.open_index {
            if let Some(delivered) = self.delivered.get_mut(position) {
                *delivered = true;
            }
            &self.open
        } else {
            self.entries.get(&id.index)?
        };
        entry.slots.get(position)?.clone()
    }

    /// Drops the message. Returns its size.
    pub(crate) fn forget(&mut self, id: MessageId) -> usize {
        let position = id.position as usize;
        if id.index == self.open_index {
            let taken = self.open.slots.get_mut(position).and_then(Option::take);
            self.open.live -= u32::from(taken.is_some());
            return taken.map_or(0, |message| message.size_bytes());
        }
        let Some(entry) = self.entries.get_mut(&id.index) else { return 0 };
        let taken = entry.slots.get_mut(position).and_then(Option::take);
        entry.live -= u32::from(taken.is_some());
        if entry.live == 0 {
            self.entries.remove(&id.index);
        }
        taken.map_or(0, |message| message.size_bytes())
    }

    /// Ends the open entry: what nobody was given yet stays for longer, so small ones leave the read buffer that they
    /// are slices of.
    pub(crate) fn close(&mut self) {
        if self.open.live > 0 {
            for (slot, delivered) in self.open.slots.iter_mut().zip(&self.delivered) {
                if let Some(message) = slot
                    && !delivered
                    && message.size_bytes() <= BODY_COMPACTED_BYTES_MAX
                {
                    *message = Arc::new(compacted(message));
                }
            }
            let entry = std::mem::take(&mut self.open);
            self.entries.insert(self.open_index, entry);
        } else {
            self.open.slots.clear();
        }
        self.delivered.clear();
        self.open_index = LogIndex(0);
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

    #[test]
    fn messages_live_until_forgotten_and_entries_until_their_last_message() {
        let mut bodies = Bodies::default();
        let id = |position| MessageId { index: LogIndex(5), position };
        bodies.open(LogIndex(5));
        bodies.insert(1, message(b"one"));
        bodies.insert(3, message(b"three"));
        assert_eq!(bodies.get(id(3)), Some(message(b"three")));
        assert_eq!(bodies.get(id(2)), None);
        bodies.close();
        assert_eq!(bodies.get(id(1)), Some(message(b"one")), "a compacted message is equal to what came");
        assert_eq!(bodies.forget(id(1)), 3);
        assert_eq!(bodies.forget(id(1)), 0);
        assert_eq!(bodies.get(id(1)), None);
        assert_eq!(bodies.forget(id(3)), 5);
        assert!(bodies.entries.is_empty());
    }
}
