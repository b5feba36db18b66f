//! Retained messages of a node, by vhost and address (MQTT 3.3.1.3). An empty body removes; what is expired is gone.

use std::sync::Arc;

use braid_routing::Store;
use braid_types::{Address, Filter, Message, Timestamp};
use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::RwLock;

use crate::bodies::compacted;
use crate::limits::{RETAINED_BYTES_MAX, RETAINED_MESSAGES_MAX, RETAINED_TOTAL_BYTES_MAX};

#[derive(Debug, Default)]
struct Table {
    stores: HashMap<Bytes, Store<Arc<Message>>>,
    count: usize,
    bytes: usize,
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
        let Table { stores, count, bytes } = &mut *table;
        let seed = self.seed;
        let store = stores.entry(vhost.clone()).or_insert_with(|| Store::with_seed(seed));
        if message.body.is_empty() {
            if let Some(old) = store.remove(address) {
                *count -= 1;
                *bytes -= old.size_bytes();
            }
            return true;
        }
        let old_bytes = store.get(address).map(|old| old.size_bytes());
        let new_bytes = *bytes - old_bytes.unwrap_or(0) + message.size_bytes();
        let is_full = old_bytes.is_none() && *count >= RETAINED_MESSAGES_MAX;
        if message.size_bytes() > RETAINED_BYTES_MAX || new_bytes > RETAINED_TOTAL_BYTES_MAX || is_full {
            return false;
        }
        // It may stay for years: it gets bytes of its own.
        store.insert(address, Arc::new(compacted(message)));
        *count += usize::from(old_bytes.is_none());
        *bytes = new_bytes;
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
