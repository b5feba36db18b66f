//! What a round has for connections, gathered per receiver, so that each is woken once.

use std::sync::Arc;

use braid_types::{ConnectionId, GroupId, Message, MessageId};
use hashbrown::HashMap;

use crate::mailbox::{Item, Mailbox};

/// A delivery whose message is not in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    pub(super) message: MessageId,
    pub(super) group: GroupId,
    slot: usize,
    item: usize,
}

/// Items that wait for the end of the round.
#[derive(Debug, Default)]
pub(super) struct Round {
    slots: Vec<(Arc<Mailbox>, Vec<Item>)>,
    by_connection: HashMap<ConnectionId, usize>,
    last: Option<(ConnectionId, usize)>,
    /// Items of a receiver in the round before, on average: the room that the next one is given at once.
    expected: usize,
    /// Deliveries that still need their message, in order.
    missing: Vec<Missing>,
}

impl Round {
    /// Adds an item for a connection whose mailbox `find` gives; nothing happens when there is none. `missing`: the item
    /// is a delivery whose message has to be read first.
    pub(super) fn push_to<'a>(
        &mut self,
        connection: ConnectionId,
        item: Item,
        missing: Option<(GroupId, MessageId)>,
        find: impl FnOnce() -> Option<&'a Arc<Mailbox>>,
    ) {
        let known = match self.last {
            Some((last, position)) if last == connection => Some(position),
            _ => self.by_connection.get(&connection).copied(),
        };
        let position = match known {
            Some(position) => position,
            None => {
                let Some(mailbox) = find() else { return };
                self.slots.push((Arc::clone(mailbox), Vec::with_capacity(self.expected)));
                self.by_connection.insert(connection, self.slots.len() - 1);
                self.slots.len() - 1
            }
        };
        self.last = Some((connection, position));
        if let Some((_, items)) = self.slots.get_mut(position) {
            if let Some((group, message)) = missing {
                self.missing.push(Missing { message, group, slot: position, item: items.len() });
            }
            items.push(item);
        }
    }

    /// Takes the deliveries that need a message.
    pub(super) fn take_missing(&mut self) -> Vec<Missing> {
        std::mem::take(&mut self.missing)
    }

    /// Gives a delivery its message.
    pub(super) fn fill(&mut self, missing: Missing, found: Arc<Message>) {
        let item = self.slots.get_mut(missing.slot).and_then(|(_, items)| items.get_mut(missing.item));
        if let Some(Item::Deliver { message, .. } | Item::Got { taken: Ok(Some((_, message))), .. }) = item {
            *message = found;
        }
    }

    /// Drops the deliveries that have no message and will not have one.
    pub(super) fn drop_unfilled(&mut self, unfilled: &[Missing]) {
        // From the last one on, so that the places of the others stay.
        for missing in unfilled.iter().rev() {
            if let Some((_, items)) = self.slots.get_mut(missing.slot) {
                items.remove(missing.item);
            }
        }
    }

    /// Hands everything over.
    pub(super) fn flush(&mut self) {
        let items: usize = self.slots.iter().map(|(_, items)| items.len()).sum();
        if let Some(average) = items.checked_div(self.slots.len()) {
            self.expected = average;
        }
        for (mailbox, items) in &mut self.slots {
            mailbox.push_batch(items);
        }
        self.slots.clear();
        self.by_connection.clear();
        self.last = None;
        self.missing.clear();
    }
}
