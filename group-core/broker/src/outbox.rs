//! Direct deliveries of one batch, gathered per receiving mailbox, so that each receiver is woken once.

use std::sync::Arc;

use braid_types::{ConnectionId, Message, SubscriptionId};
use hashbrown::HashMap;

use crate::{Item, Mailbox};

/// What a waiting delivery counts besides its message.
const ITEM_BYTES: usize = 128;

/// Deliveries that wait for the end of the batch.
#[derive(Debug, Default)]
pub struct Outbox {
    slots: Vec<Slot>,
    by_connection: HashMap<ConnectionId, usize>,
    last: Option<(ConnectionId, usize)>,
}

#[derive(Debug)]
struct Slot {
    mailbox: Arc<Mailbox>,
    items: Vec<Item>,
    bytes: usize,
}

impl Outbox {
    /// Adds a delivery.
    pub fn push(
        &mut self,
        mailbox: &Arc<Mailbox>,
        subscription: SubscriptionId,
        others: Option<Arc<[SubscriptionId]>>,
        message: &Arc<Message>,
    ) {
        let position = self.slot_of(mailbox);
        if let Some(slot) = self.slots.get_mut(position) {
            slot.bytes += message.size_bytes() + message.key.len() + ITEM_BYTES;
            slot.items.push(Item::Direct { subscription, others, retained: false, message: Arc::clone(message) });
        }
    }

    /// Hands everything over. Returns how many deliveries were dropped because their receivers do not read, and a
    /// receiver that the publisher should pause for.
    pub fn flush(&mut self) -> (usize, Option<Arc<Mailbox>>) {
        let mut dropped = 0;
        let mut crowded = None;
        for slot in &mut self.slots {
            let pushed = slot.mailbox.push_direct(&mut slot.items, slot.bytes);
            dropped += pushed.dropped;
            if pushed.pauses && crowded.is_none() {
                crowded = Some(Arc::clone(&slot.mailbox));
            }
        }
        self.slots.clear();
        self.by_connection.clear();
        self.last = None;
        (dropped, crowded)
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    fn slot_of(&mut self, mailbox: &Arc<Mailbox>) -> usize {
        let connection = mailbox.connection();
        if let Some((last, position)) = self.last
            && last == connection
        {
            return position;
        }
        let slots = &mut self.slots;
        let position = *self.by_connection.entry(connection).or_insert_with(|| {
            slots.push(Slot { mailbox: Arc::clone(mailbox), items: Vec::new(), bytes: 0 });
            slots.len() - 1
        });
        self.last = Some((connection, position));
        position
    }
}
