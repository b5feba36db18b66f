//! Bindings between exchanges and groups, found from either end.
//!
//! Invariant: both indexes hold the same bindings. A binding is the same when exchange, group, key and arguments are;
//! the order of the arguments does not matter.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};

use braid_types::{GroupId, Headers};
use bytes::{Bytes, BytesMut};

use crate::codec;

/// A group gets what an exchange routes by a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The exchange's name.
    pub exchange: Bytes,
    /// The group.
    pub group: GroupId,
    /// The group's name.
    pub group_name: Bytes,
    /// Routing key or pattern in AMQP's notation.
    pub key: Bytes,
    /// Arguments, as bound.
    pub arguments: Headers,
}

/// What makes a binding the same as another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BindingKey {
    exchange: Bytes,
    group: GroupId,
    key: Bytes,
    /// Encoded and sorted.
    arguments: Bytes,
}

impl BindingKey {
    fn of(binding: &Binding) -> Self {
        Self {
            exchange: binding.exchange.clone(),
            group: binding.group,
            key: binding.key.clone(),
            arguments: sorted_bytes(&binding.arguments),
        }
    }

    /// Not greater than any key of the exchange.
    fn first_of(exchange: &[u8]) -> Self {
        Self {
            exchange: Bytes::copy_from_slice(exchange),
            group: GroupId(0),
            key: Bytes::new(),
            arguments: Bytes::new(),
        }
    }
}

/// The bindings of a vhost.
#[derive(Debug, Default)]
pub(crate) struct BindingTable {
    all: BTreeMap<BindingKey, Arc<Binding>>,
    by_group: BTreeMap<GroupId, BTreeSet<BindingKey>>,
}

impl BindingTable {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// All, ordered by exchange.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Binding>> {
        self.all.values()
    }

    pub(crate) fn of_exchange<'a>(&'a self, exchange: &'a [u8]) -> impl Iterator<Item = &'a Arc<Binding>> {
        self.all
            .range(BindingKey::first_of(exchange)..)
            .take_while(move |(key, _)| key.exchange.as_ref() == exchange)
            .map(|(_, binding)| binding)
    }

    pub(crate) fn of_group(&self, group: GroupId) -> impl Iterator<Item = &Arc<Binding>> {
        self.by_group.get(&group).into_iter().flatten().filter_map(|key| self.all.get(key))
    }

    pub(crate) fn contains(&self, binding: &Binding) -> bool {
        self.all.contains_key(&BindingKey::of(binding))
    }

    /// Adds a binding; `false`: there is one like it.
    pub(crate) fn insert(&mut self, binding: Arc<Binding>) -> bool {
        let key = BindingKey::of(&binding);
        if self.all.contains_key(&key) {
            return false;
        }
        self.by_group.entry(binding.group).or_default().insert(key.clone());
        self.all.insert(key, binding);
        true
    }

    /// Takes the binding out that is the same as `binding`.
    pub(crate) fn remove(&mut self, binding: &Binding) -> Option<Arc<Binding>> {
        let key = BindingKey::of(binding);
        let removed = self.all.remove(&key)?;
        if let Some(keys) = self.by_group.get_mut(&binding.group) {
            keys.remove(&key);
            if keys.is_empty() {
                self.by_group.remove(&binding.group);
            }
        }
        Some(removed)
    }
}

fn sorted_bytes(arguments: &Headers) -> Bytes {
    let mut parts: Vec<Bytes> = arguments
        .iter()
        .map(|(name, value)| {
            let mut part = BytesMut::new();
            codec::put_bytes(&mut part, name);
            codec::put_value(&mut part, value);
            part.freeze()
        })
        .collect();
    parts.sort_unstable();
    let mut out = BytesMut::new();
    for part in parts {
        out.extend_from_slice(&part);
    }
    out.freeze()
}
