//! Addresses to values, asked by filter: the reverse of [`crate::Trie`], for retained messages.
//!
//! Matches come in a fixed order (of the sequence of changes), not in that of the addresses.
//!
//! Invariants: every leaf holds a value or is the root; the children of a node are a list linked through them, so that a
//! wildcard can go through them; `count` is the number of values.

mod search;

use braid_types::{Address, Filter, Protocol};

use crate::{
    hashing::Seed,
    tree::{NodeId, Tree},
};

const ROOT: NodeId = NodeId::root(0);

/// What a node has besides its level.
#[derive(Clone, Debug)]
struct Place<T> {
    first_child: Option<NodeId>,
    previous: Option<NodeId>,
    next: Option<NodeId>,
    entry: Option<(Address, T)>,
}

/// A map from addresses to values, asked by filter.
#[derive(Clone)]
pub struct Store<T> {
    tree: Tree<Place<T>>,
    count: usize,
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Self { first_child: None, previous: None, next: None, entry: None }
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self::with_seed(0)
    }
}

impl<T> core::fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Store").field("count", &self.count).field("nodes", &self.tree.len()).finish_non_exhaustive()
    }
}

impl<T> Store<T> {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store whose hash table is seeded, as that of [`crate::Trie::with_seed`].
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self { tree: Tree::new(1, Seed(seed)), count: 0 }
    }

    /// Sets the value of `address`, and gives the one that was there. A full store
    /// ([`crate::limits::TREE_NODES_MAX`]) gives `value` back.
    pub fn insert(&mut self, address: &Address, value: T) -> Option<T> {
        let mut node = ROOT;
        for level in address.levels() {
            let next = match self.tree.child(node, level) {
                Some(next) => Some(next),
                None => self.tree.child_or_insert(node, level).inspect(|next| self.link(node, *next)),
            };
            let Some(next) = next else {
                self.prune(node);
                return Some(value);
            };
            node = next;
        }
        let Some(place) = self.tree.get_mut(node) else { return Some(value) };
        let earlier = place.payload.entry.replace((address.clone(), value));
        self.count += usize::from(earlier.is_none());
        earlier.map(|(_, value)| value)
    }

    /// The value of `address`.
    #[must_use]
    pub fn get(&self, address: &Address) -> Option<&T> {
        let node = self.find(address)?;
        self.tree.get(node)?.payload.entry.as_ref().map(|(_, value)| value)
    }

    /// Takes the value of `address` out.
    pub fn remove(&mut self, address: &Address) -> Option<T> {
        let node = self.find(address)?;
        let (_, value) = self.tree.get_mut(node)?.payload.entry.take()?;
        self.count -= 1;
        self.prune(node);
        Some(value)
    }

    /// Calls `found` for each address that `filter` matches, as [`Filter::matches`] says. The work is bounded by the nodes
    /// of the store below the filter's leading literals × the levels of the filter.
    pub fn for_each_matching<'a>(&'a self, filter: &Filter, found: impl FnMut(&'a Address, &'a T)) {
        self.search(filter, found);
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// There is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of node visits, which is what the tests bound.
    fn search<'a>(&'a self, filter: &Filter, found: impl FnMut(&'a Address, &'a T)) -> usize {
        let hides_reserved = filter.begins_with_wildcard() && filter.dialect() != Protocol::Nats;
        search::Search::new(&self.tree, filter, hides_reserved, found).run(ROOT)
    }

    fn find(&self, address: &Address) -> Option<NodeId> {
        address.levels().try_fold(ROOT, |node, level| self.tree.child(node, level))
    }

    /// Puts a new child first in its parent's list.
    fn link(&mut self, parent: NodeId, node: NodeId) {
        let Some(above) = self.tree.get_mut(parent) else { return };
        let next = above.payload.first_child.replace(node);
        if let Some(next) = next.and_then(|next| self.tree.get_mut(next)) {
            next.payload.previous = Some(node);
        }
        if let Some(node) = self.tree.get_mut(node) {
            node.payload.next = next;
        }
    }

    fn unlink(&mut self, parent: NodeId, place: &Place<T>) {
        if let Some(next) = place.next.and_then(|next| self.tree.get_mut(next)) {
            next.payload.previous = place.previous;
        }
        if let Some(previous) = place.previous {
            if let Some(previous) = self.tree.get_mut(previous) {
                previous.payload.next = place.next;
            }
        } else if let Some(above) = self.tree.get_mut(parent) {
            above.payload.first_child = place.next;
        }
    }

    /// Removes `node` and those above it as far as they lead nowhere.
    fn prune(&mut self, mut node: NodeId) {
        while let Some(current) = self.tree.get(node) {
            let parent = current.parent;
            if parent == node || current.payload.first_child.is_some() || current.payload.entry.is_some() {
                return;
            }
            let place = self.tree.remove(node, true);
            self.unlink(parent, &place);
            node = parent;
        }
    }
}

#[cfg(test)]
mod tests;
