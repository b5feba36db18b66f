//! A tree over levels: nodes in one array, and one table that finds a node's child by its level. What a node carries
//! besides is its user's.
//!
//! Made for a million nodes: a node is one element of the array (short levels are in it), and a child costs nine more
//! bytes in the table, whatever its parent. Never recurses, never iterates over the table.
//!
//! Invariants: a node other than a root has a parent that is in the tree; `literal_children` counts the nodes that the
//! table finds below a node; numbers of removed nodes are used again, in a fixed order.

use alloc::vec::Vec;
use core::{
    hash::{BuildHasher, Hasher},
    num::NonZeroU32,
};

use braid_types::Level;
use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::{hashing::Seed, limits::TREE_NODES_MAX};

/// Names a node. Roots come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(NonZeroU32);

impl NodeId {
    /// The `number`th root, from 0.
    pub(crate) const fn root(number: u32) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number))
    }

    fn of_index(index: usize) -> Option<Self> {
        u32::try_from(index + 1).ok().and_then(NonZeroU32::new).map(Self)
    }

    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// For tables of nodes.
    #[inline]
    pub(crate) fn hash(self) -> u64 {
        u64::from(self.0.get()).wrapping_mul(SPREAD)
    }
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Node<P> {
    /// The level that leads to it; empty for roots and for children that the table does not know.
    pub(crate) level: SmallVec<[u8; 16]>,
    /// The node above; a root's is itself.
    pub(crate) parent: NodeId,
    /// Children that [`Tree::child`] finds.
    pub(crate) literal_children: u32,
    /// What the user keeps here.
    pub(crate) payload: P,
}

/// Nodes and the table of children.
#[derive(Clone)]
pub(crate) struct Tree<P> {
    nodes: Vec<Node<P>>,
    free: Vec<NodeId>,
    children: HashTable<Child>,
    seed: Seed,
}

/// An entry of the table. The hash is kept so that the table grows, and most strangers are told apart, without a look at
/// the nodes.
#[derive(Clone, Copy, Debug)]
struct Child {
    hash: u32,
    node: NodeId,
}

/// Spreads 32 bits over the 64 that the table wants.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

impl Child {
    #[inline]
    fn table_hash(self) -> u64 {
        u64::from(self.hash).wrapping_mul(SPREAD)
    }
}

impl<P: Default> Tree<P> {
    /// A tree of `roots` nodes without parents.
    pub(crate) fn new(roots: u32, seed: Seed) -> Self {
        let nodes = (0..roots).map(|number| Node::new(NodeId::root(number), &[])).collect();
        Self { nodes, free: Vec::new(), children: HashTable::new(), seed }
    }

    /// The child of `parent` at `level`, made if need be. `None` when the tree is full.
    pub(crate) fn child_or_insert(&mut self, parent: NodeId, level: &Level) -> Option<NodeId> {
        if let Some(node) = self.child(parent, level) {
            return Some(node);
        }
        let node = self.insert(Node::new(parent, level))?;
        let child = Child { hash: self.hash(parent, level), node };
        self.children.insert_unique(child.table_hash(), child, |child| child.table_hash());
        if let Some(parent) = self.get_mut(parent) {
            parent.literal_children += 1;
        }
        Some(node)
    }

    /// A child that the table does not know; the caller keeps its number. `None` when the tree is full.
    pub(crate) fn insert_unlisted(&mut self, parent: NodeId) -> Option<NodeId> {
        self.insert(Node::new(parent, &[]))
    }

    /// Takes a node without children out, and gives its payload. It must not be a root.
    pub(crate) fn remove(&mut self, node: NodeId, is_listed: bool) -> P {
        let mut removed = Node::new(NodeId::root(0), &[]);
        if let Some(place) = self.get_mut(node) {
            core::mem::swap(place, &mut removed);
            self.free.push(node);
        }
        if is_listed {
            let hash = self.hash(removed.parent, &removed.level);
            let probe = Child { hash, node };
            if let Ok(entry) = self.children.find_entry(probe.table_hash(), |child| child.node == node) {
                entry.remove();
            }
            if let Some(parent) = self.get_mut(removed.parent) {
                parent.literal_children = parent.literal_children.saturating_sub(1);
            }
        }
        removed.payload
    }

    fn insert(&mut self, node: Node<P>) -> Option<NodeId> {
        if let Some(id) = self.free.pop() {
            *self.get_mut(id)? = node;
            return Some(id);
        }
        if self.nodes.len() >= TREE_NODES_MAX {
            return None;
        }
        let id = NodeId::of_index(self.nodes.len())?;
        self.nodes.push(node);
        Some(id)
    }
}

impl<P> Tree<P> {
    /// The node of that number; there is one as long as it was not removed.
    #[inline]
    pub(crate) fn get(&self, node: NodeId) -> Option<&Node<P>> {
        self.nodes.get(node.index())
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, node: NodeId) -> Option<&mut Node<P>> {
        self.nodes.get_mut(node.index())
    }

    /// The child of `parent` at `level`.
    #[inline]
    pub(crate) fn child(&self, parent: NodeId, level: &Level) -> Option<NodeId> {
        let hash = self.hash(parent, level);
        let probe = Child { hash, node: parent };
        let is_it = |child: &Child| {
            child.hash == hash
                && self.get(child.node).is_some_and(|node| node.parent == parent && node.level.as_slice() == level)
        };
        self.children.find(probe.table_hash(), is_it).map(|child| child.node)
    }

    /// Nodes in use, roots included.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    #[inline]
    fn hash(&self, parent: NodeId, level: &Level) -> u32 {
        let mut hasher = self.seed.build_hasher();
        hasher.write_u64(u64::from(parent.0.get()) << 32 | level.len() as u64);
        hasher.write(level);
        u32::try_from(hasher.finish() >> 32).unwrap_or_default()
    }
}

impl<P: Default> Node<P> {
    fn new(parent: NodeId, level: &Level) -> Self {
        Self { level: SmallVec::from_slice(level), parent, literal_children: 0, payload: P::default() }
    }
}
