//! A match: all filters at once, level by level, like the states of an automaton.
//!
//! The frontier holds the nodes whose path matches the levels so far, each once: a node has one parent and is reached from it by
//! one step, and the node behind a "zero or more" edge, once reached, stays reached to the end, so it goes into `many`
//! once. Hence the bound: each level visits each reached node once, and nothing is ever tried again. No recursion.

use braid_types::{Address, Level};
use hashbrown::{HashTable, hash_table::Entry};
use smallvec::SmallVec;

use super::Branch;
use crate::tree::{NodeId, Tree};

/// Nodes that the levels so far lead to.
pub(super) type Frontier = SmallVec<[NodeId; 8]>;

/// One match under way.
pub(super) struct Walk<'a, T, F> {
    tree: &'a Tree<Branch<T>>,
    found: F,
    /// Behind "zero or more" edges, with literals to go on with.
    many: Frontier,
    /// Those of `many` that may be reached again.
    entered: HashTable<NodeId>,
    visits: usize,
}

impl<'a, T, F: FnMut(&'a T)> Walk<'a, T, F> {
    /// A match that has reached nothing yet.
    pub(super) fn new(tree: &'a Tree<Branch<T>>, found: F) -> Self {
        Self { tree, found, many: Frontier::new(), entered: HashTable::new(), visits: 0 }
    }

    /// Takes all levels of `address`, beginning at `roots`; returns how many nodes were visited.
    pub(super) fn run(mut self, roots: &[NodeId], address: &Address) -> usize {
        let (mut first, mut second) = (Frontier::new(), Frontier::new());
        let (mut now, mut next) = (&mut first, &mut second);
        for root in roots {
            self.enter(*root, now);
        }
        for level in address.levels() {
            if now.is_empty() && self.many.is_empty() {
                return self.visits;
            }
            // What this level adds to `many` begins with the next level.
            let many = self.many.len();
            for node in now.iter() {
                self.step(*node, level, next);
            }
            for position in 0..many {
                if let Some(node) = self.many.get(position) {
                    self.step(*node, level, next);
                }
            }
            now.clear();
            core::mem::swap(&mut now, &mut next);
        }
        for node in now.iter() {
            self.report(*node);
        }
        self.visits
    }

    /// `id` is reached.
    #[inline]
    fn enter(&mut self, id: NodeId, reached: &mut Frontier) {
        reached.push(id);
        if let Some(many) = self.tree.get(id).and_then(|node| node.payload.many) {
            self.enter_many(many);
        }
    }

    #[inline]
    fn step(&mut self, id: NodeId, level: &Level, reached: &mut Frontier) {
        self.visits += 1;
        let Some(node) = self.tree.get(id) else { return };
        if node.literal_children > 0
            && let Some(child) = self.tree.child(id, level)
        {
            self.enter(child, reached);
        }
        if let Some(one) = node.payload.one {
            self.enter(one, reached);
        }
    }

    /// The rest of the address may be anything: values here match already.
    fn enter_many(&mut self, id: NodeId) {
        let Some(node) = self.tree.get(id) else { return };
        if node.payload.is_below_many {
            match self.entered.entry(id.hash(), |known| *known == id, |known| known.hash()) {
                Entry::Occupied(_) => return,
                Entry::Vacant(vacant) => vacant.insert(id),
            };
        }
        self.visits += 1;
        self.report(id);
        if node.literal_children > 0 {
            self.many.push(id);
        }
    }

    #[inline]
    fn report(&mut self, node: NodeId) {
        if let Some(node) = self.tree.get(node) {
            for value in &node.payload.values {
                (self.found)(value);
            }
        }
    }
}
