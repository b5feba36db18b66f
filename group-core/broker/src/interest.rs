//! Interest: the subscriptions that are no group of the catalog. Plain ones get every message that matches; direct
//! queue subscriptions share among themselves; those of a persistent session feed its own group.
//!
//! Invariant: `generation` changes with every change, so that connections can keep what they looked up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_routing::Trie;
use braid_types::{Address, ConnectionId, Filter, GroupId, PartitionId, Protocol, SubscriptionId};
use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::RwLock;

use crate::Mailbox;

/// Whose interest it is: equal keys name the same subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InterestKey {
    /// Of a connection; goes with it.
    Connection(ConnectionId, SubscriptionId),
    /// Of a persistent session; stays until the session ends.
    Session(u64, SubscriptionId),
}

/// Among whom a direct queue subscription shares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueueKey {
    /// The queue name of the vhost (NATS).
    Name(Bytes),
    /// A shared group of class direct.
    Group(GroupId),
}

/// Who gets the messages.
#[derive(Clone, Debug)]
pub enum Subscriber {
    /// This subscription gets each one.
    Plain {
        /// Its connection.
        mailbox: Arc<Mailbox>,
        /// The endpoint's number.
        subscription: SubscriptionId,
        /// Not what the connection published itself.
        no_local: bool,
    },
    /// One of those with the same key gets it.
    Queue {
        /// Its connection.
        mailbox: Arc<Mailbox>,
        /// The endpoint's number.
        subscription: SubscriptionId,
        /// Among whom.
        queue: QueueKey,
        /// The filter that it came by, to ask the catalog whether it still belongs here.
        filter: Filter,
    },
    /// The group of a persistent session.
    Session {
        /// Where the group is.
        partition: PartitionId,
        /// The group.
        group: GroupId,
        /// Not what the session's present connection published itself.
        no_local: bool,
        /// The session's present connection; 0: none.
        connection: Arc<AtomicU64>,
    },
}

/// One subscription's interest.
#[derive(Clone, Debug)]
pub struct Interest {
    /// Whose.
    pub key: InterestKey,
    /// Who gets the messages.
    pub subscriber: Subscriber,
}

impl PartialEq for Interest {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

/// All interest of the node, by vhost.
#[derive(Debug)]
pub struct InterestTable {
    tries: RwLock<HashMap<Bytes, Trie<Interest>>>,
    generation: AtomicU64,
    seed: u64,
}

impl InterestTable {
    /// An empty table. `seed` is random, so that clients cannot choose levels that collide in it.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { tries: RwLock::default(), generation: AtomicU64::new(0), seed }
    }

    /// Changes with every change.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Adds an interest, or replaces the one of the same key and filter when `replaces` says that there is one (looking
    /// for it costs as much as there are interests in the filter). False when the table is full
    /// ([`braid_routing::limits::TREE_NODES_MAX`]).
    pub fn insert(&self, vhost: &Bytes, filter: &Filter, interest: Interest, replaces: bool) -> bool {
        let mut tries = self.tries.write();
        let seed = self.seed;
        let trie = tries.entry(vhost.clone()).or_insert_with(|| Trie::with_seed(seed));
        if replaces {
            trie.remove(filter, &interest);
        }
        let is_in = trie.insert(filter, interest);
        self.generation.fetch_add(1, Ordering::Release);
        is_in
    }

    /// Removes an interest; says whether there was one.
    pub fn remove(&self, vhost: &Bytes, filter: &Filter, key: InterestKey) -> bool {
        let mut tries = self.tries.write();
        let Some(trie) = tries.get_mut(vhost) else { return false };
        // Only the key counts for equality; the rest of the probe is never looked at.
        let probe = Interest {
            key,
            subscriber: Subscriber::Session {
                partition: PartitionId(0),
                group: GroupId(0),
                no_local: false,
                connection: Arc::default(),
            },
        };
        let existed = trie.remove(filter, &probe);
        if existed {
            self.generation.fetch_add(1, Ordering::Release);
        }
        existed
    }

    /// Calls `found` with each interest that matches.
    pub fn for_each_match(&self, vhost: &Bytes, address: &Address, origin: Protocol, mut found: impl FnMut(&Interest)) {
        if let Some(trie) = self.tries.read().get(vhost) {
            trie.for_each_match_from(address, origin, &mut found);
        }
    }
}
