//! Filters to values, for all three dialects in one tree: literal levels, an edge for "one level" and an edge for "zero
//! or more". `OneOrMore` is the former followed by the latter, so equal filters end in the same node.
//!
//! The rule of reserved first levels (SPEC section 4) depends on the dialect of filters that begin with a wildcard, so
//! those hang below a root of their dialect; a match visits the roots that reach the address. Nothing else knows dialects.
//!
//! Invariants: every leaf holds a value or is a root; below a "zero or more" edge come literals only (the normal form of
//! filters); `count` is the number of values.

mod walk;

use braid_types::{Address, Filter, FilterLevel, Protocol};
use smallvec::SmallVec;

use crate::{
    hashing::Seed,
    tree::{NodeId, Tree},
};

/// The root of filters that begin with a literal; one root for each dialect follows.
const LITERAL_ROOT: NodeId = NodeId::root(0);
const ROOTS: u32 = 4;
const DIALECTS: [Protocol; 3] = [Protocol::Amqp, Protocol::Mqtt, Protocol::Nats];

/// What a node of the trie has besides its literal children.
#[derive(Clone, Debug)]
struct Branch<T> {
    one: Option<NodeId>,
    many: Option<NodeId>,
    /// There is a "zero or more" edge above, so a walk may come here at more than one level of an address.
    is_below_many: bool,
    values: SmallVec<[T; 1]>,
}

/// A multimap from filters to values, asked by address.
#[derive(Clone)]
pub struct Trie<T> {
    tree: Tree<Branch<T>>,
    count: usize,
}

impl<T> Default for Branch<T> {
    fn default() -> Self {
        Self { one: None, many: None, is_below_many: false, values: SmallVec::new() }
    }
}

impl<T> Default for Trie<T> {
    fn default() -> Self {
        Self::with_seed(0)
    }
}

impl<T> core::fmt::Debug for Trie<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Trie").field("count", &self.count).field("nodes", &self.tree.len()).finish_non_exhaustive()
    }
}

impl<T> Trie<T> {
    /// An empty trie.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty trie whose hash table is seeded, so that clients cannot choose levels that collide in it. The seed changes
    /// nothing that can be seen.
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self { tree: Tree::new(ROOTS, Seed(seed)), count: 0 }
    }

    /// Adds `value` under `filter`, also when an equal one is there. `false` when the trie is full
    /// ([`crate::limits::TREE_NODES_MAX`]); nothing has changed then.
    pub fn insert(&mut self, filter: &Filter, value: T) -> bool {
        let root = root_of(filter, filter.dialect());
        let Some(node) = self.node_or_insert(root, filter.levels()) else { return false };
        let Some(node) = self.tree.get_mut(node) else { return false };
        node.payload.values.push(value);
        self.count += 1;
        true
    }

    /// Takes one value out that equals `value` and was inserted under an equal filter, of the same dialect if there is one.
    /// Says whether there was one.
    pub fn remove(&mut self, filter: &Filter, value: &T) -> bool
    where
        T: PartialEq,
    {
        let own = filter.dialect();
        if self.remove_below(root_of(filter, own), filter.levels(), value) {
            return true;
        }
        let is_elsewhere = filter.begins_with_wildcard();
        DIALECTS
            .into_iter()
            .filter(|dialect| is_elsewhere && *dialect != own)
            .any(|dialect| self.remove_below(root_of(filter, dialect), filter.levels(), value))
    }

    /// Calls `found` for each value whose filter matches `address`, when it is not known who published there: as
    /// [`Filter::matches`] says.
    pub fn for_each_match<'a>(&'a self, address: &Address, found: impl FnMut(&'a T)) {
        let is_reserved = address.is_reserved();
        self.walk(address, |dialect| dialect == Protocol::Nats || !is_reserved, found);
    }

    /// Calls `found` for each value whose filter matches `address`, when a client of `origin` published there: as
    /// [`Filter::matches_from`] says. Each value comes once per filter that it was inserted under.
    pub fn for_each_match_from<'a>(&'a self, address: &Address, origin: Protocol, found: impl FnMut(&'a T)) {
        self.walk(address, |dialect| Filter::wildcard_reaches(dialect, address, origin), found);
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
    fn walk<'a>(&'a self, address: &Address, reaches: impl Fn(Protocol) -> bool, found: impl FnMut(&'a T)) -> usize {
        let mut roots = walk::Frontier::from_slice(&[LITERAL_ROOT]);
        for dialect in DIALECTS {
            let root = wildcard_root(dialect);
            if self.tree.get(root).is_some_and(|node| node.payload.has_wildcards()) && reaches(dialect) {
                roots.push(root);
            }
        }
        walk::Walk::new(&self.tree, found).run(&roots, address)
    }

    fn node_or_insert(&mut self, root: NodeId, levels: &[FilterLevel]) -> Option<NodeId> {
        let mut node = root;
        for level in levels {
            let next = match level {
                FilterLevel::Literal(literal) => self.literal_or_insert(node, literal),
                FilterLevel::One => self.one_or_insert(node),
                FilterLevel::ZeroOrMore => self.many_or_insert(node),
                FilterLevel::OneOrMore => self.one_or_insert(node).and_then(|one| {
                    let many = self.many_or_insert(one);
                    if many.is_none() {
                        self.prune(one);
                    }
                    many
                }),
            };
            let Some(next) = next else {
                self.prune(node);
                return None;
            };
            node = next;
        }
        Some(node)
    }

    fn literal_or_insert(&mut self, parent: NodeId, literal: &[u8]) -> Option<NodeId> {
        let node = self.tree.child_or_insert(parent, literal)?;
        self.note_many_above(parent, node);
        Some(node)
    }

    fn one_or_insert(&mut self, parent: NodeId) -> Option<NodeId> {
        if let Some(node) = self.tree.get(parent)?.payload.one {
            return Some(node);
        }
        let node = self.tree.insert_unlisted(parent)?;
        self.tree.get_mut(parent)?.payload.one = Some(node);
        self.note_many_above(parent, node);
        Some(node)
    }

    fn many_or_insert(&mut self, parent: NodeId) -> Option<NodeId> {
        if let Some(node) = self.tree.get(parent)?.payload.many {
            return Some(node);
        }
        let node = self.tree.insert_unlisted(parent)?;
        self.tree.get_mut(parent)?.payload.many = Some(node);
        self.note_many_above(parent, node);
        Some(node)
    }

    fn note_many_above(&mut self, parent: NodeId, node: NodeId) {
        let Some(above) = self.tree.get(parent) else { return };
        let grandparent = self.tree.get(above.parent);
        let parent_is_many = grandparent.is_some_and(|grandparent| grandparent.payload.many == Some(parent));
        let is_below_many = above.payload.is_below_many || parent_is_many;
        if let Some(node) = self.tree.get_mut(node) {
            node.payload.is_below_many = is_below_many;
        }
    }

    fn remove_below(&mut self, root: NodeId, levels: &[FilterLevel], value: &T) -> bool
    where
        T: PartialEq,
    {
        let mut node = root;
        for level in levels {
            let next = match level {
                FilterLevel::Literal(literal) => self.tree.child(node, literal),
                FilterLevel::One => self.one(node),
                FilterLevel::ZeroOrMore => self.many(node),
                FilterLevel::OneOrMore => self.one(node).and_then(|one| self.many(one)),
            };
            let Some(next) = next else { return false };
            node = next;
        }
        let Some(branch) = self.tree.get_mut(node).map(|node| &mut node.payload) else { return false };
        let Some(position) = branch.values.iter().position(|known| known == value) else { return false };
        branch.values.swap_remove(position);
        if branch.values.spilled() && branch.values.len() <= branch.values.capacity() / 4 {
            branch.values.shrink_to_fit();
        }
        self.count -= 1;
        self.prune(node);
        true
    }

    fn one(&self, node: NodeId) -> Option<NodeId> {
        self.tree.get(node)?.payload.one
    }

    fn many(&self, node: NodeId) -> Option<NodeId> {
        self.tree.get(node)?.payload.many
    }

    /// Removes `node` and those above it as far as they lead nowhere.
    fn prune(&mut self, mut node: NodeId) {
        while let Some(current) = self.tree.get(node) {
            let parent = current.parent;
            if parent == node || current.literal_children > 0 || !current.payload.is_bare() {
                return;
            }
            let Some(above) = self.tree.get_mut(parent).map(|above| &mut above.payload) else { return };
            let is_listed = above.one != Some(node) && above.many != Some(node);
            above.one = above.one.filter(|one| *one != node);
            above.many = above.many.filter(|many| *many != node);
            self.tree.remove(node, is_listed);
            node = parent;
        }
    }
}

impl<T> Branch<T> {
    fn has_wildcards(&self) -> bool {
        self.one.is_some() || self.many.is_some()
    }

    fn is_bare(&self) -> bool {
        !self.has_wildcards() && self.values.is_empty()
    }
}

fn root_of(filter: &Filter, dialect: Protocol) -> NodeId {
    if filter.begins_with_wildcard() { wildcard_root(dialect) } else { LITERAL_ROOT }
}

const fn wildcard_root(dialect: Protocol) -> NodeId {
    NodeId::root(match dialect {
        Protocol::Amqp => 1,
        Protocol::Mqtt => 2,
        Protocol::Nats => 3,
    })
}

#[cfg(test)]
mod tests;
