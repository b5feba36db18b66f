//! What a round has for connections, gathered per receiver, so that each is woken once.

use std::sync::Arc;

use braid_types::ConnectionId;
use hashbrown::HashMap;

use crate::mailbox::{Item, Mailbox};

/// Items that wait for the end of the round.
#[derive(Debug, Default)]
pub(super) struct Round {
    slots: Vec<(Arc<Mailbox>, Vec<Item>)>,
    by_connection: HashMap<ConnectionId, usize>,
    last: Option<(ConnectionId, usize)>,
}

impl Round {
    /// Adds an item for a connection whose mailbox `find` gives; nothing happens when there is none.
    pub(super) fn push_to<'a>(
        &mut self,
        connection: ConnectionId,
        item: Item,
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
                self.slots.push((Arc::clone(mailbox), Vec::new()));
                self.by_connection.insert(connection, self.slots.len() - 1);
                self.slots.len() - 1
            }
        };
        self.last = Some((connection, position));
        if let Some((_, items)) = self.slots.get_mut(position) {
            items.push(item);
        }
    }

    /// Hands everything over.
    pub(super) fn flush(&mut self) {
        for (mailbox, items) in &mut self.slots {
            mailbox.push_batch(items);
        }
        self.slots.clear();
        self.by_connection.clear();
        self.last = None;
    }
}
