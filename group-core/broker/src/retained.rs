//! Retained messages of a node, by vhost and address (MQTT 3.3.1.3). An empty body removes; what is expired is gone.

use std::sync::Arc;

use braid_routing::Store;
use braid_types::{Address, Filter, Message, Timestamp};
use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::RwLock;

use crate::limits::{RETAINED_BYTES_MAX, RETAINED_MESSAGES_MAX};

#[derive(Debug, Default)]
struct Table {
    stores: HashMap<Bytes, Store<Arc<Message>>>,
    count: usize,
}

/// All retained messages.
#[derive(Debug)]
pub struct RetainedTable {
    table: RwLock<Table>,
    seed: u64,
}

impl RetainedTable {
    /// An empty table. `seed` is random, so that clients cannot choose levels that collide in it.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { table: RwLock::default(), seed }
    }

    /// Keeps `message` as the last of its address, or removes that when the body is empty. Returns whether it was done:
    /// false at the limits of count and size.
    pub fn set(&self, vhost: &Bytes, address: &Address, message: &Arc<Message>) -> bool {
        let mut table = self.table.write();
        let Table { stores, count } = &mut *table;
        let seed = self.seed;
        let store = stores.entry(vhost.clone()).or_insert_with(|| Store::with_seed(seed));
        if message.body.is_empty() {
            *count -= usize::from(store.remove(address).is_some());
            return true;
        }
        let is_new = store.get(address).is_none();
        if message.size_bytes() > RETAINED_BYTES_MAX || (is_new && *count >= RETAINED_MESSAGES_MAX) {
            return false;
        }
        store.insert(address, Arc::clone(message));
        *count += usize::from(is_new);
        true
    }

    /// The retained messages that match and are not expired.
    #[must_use]
    pub fn matching(&self, vhost: &Bytes, filter: &Filter, now: Timestamp) -> Vec<Arc<Message>> {
        let mut found = Vec::new();
        if let Some(store) = self.table.read().stores.get(vhost) {
            store.for_each_matching(filter, |_, message| {
                if message.expires_at.is_none_or(|expires_at| expires_at > now) {
                    found.push(Arc::clone(message));
                }
            });
        }
        found
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.table.read().count
    }
}
