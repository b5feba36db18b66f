//! A search of the store by a filter: the tree from the root down, with the set of places in the filter that fit the path.
//!
//! A node of the tree is visited once, with all places at once, so nothing is tried twice however the wildcards stand. The
//! stack holds one list of children for each level, so it is as deep as an address. No recursion.

use alloc::vec::Vec;

use braid_types::{Address, Filter, FilterLevel, Level, limits::ADDRESS_LEVELS_MAX};

use super::Place;
use crate::tree::{NodeId, Tree};

const WORDS: usize = ADDRESS_LEVELS_MAX / 64 + 1;

/// A set of places in a filter: n is "the first n steps fit". A filter has at most one step more than levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Places([u64; WORDS]);

impl Places {
    fn insert(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    fn contains(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word & 1 << (place % 64) != 0)
    }

    fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(position, mut word)| {
            core::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(position * 64 + bit)
            })
        })
    }
}

/// A step of a filter, with `OneOrMore` taken apart.
#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Literal(&'a Level),
    One,
    Many,
}

/// Children that are still to be visited.
struct Pending {
    next: Option<NodeId>,
    /// Fit the path to their parent.
    places: Places,
}

/// One search under way.
pub(super) struct Search<'a, 'f, T, F> {
    tree: &'a Tree<Place<T>>,
    steps: Vec<Step<'f>>,
    hides_reserved: bool,
    found: F,
    stack: Vec<Pending>,
    visits: usize,
}

impl<'a, 'f, T, F: FnMut(&'a Address, &'a T)> Search<'a, 'f, T, F> {
    /// A search that has not begun. `hides_reserved`: first levels that are reserved do not match.
    pub(super) fn new(tree: &'a Tree<Place<T>>, filter: &'f Filter, hides_reserved: bool, found: F) -> Self {
        let mut steps = Vec::with_capacity(filter.levels().len() + 1);
        for level in filter.levels() {
            match level {
                FilterLevel::Literal(literal) => steps.push(Step::Literal(literal)),
                FilterLevel::One => steps.push(Step::One),
                FilterLevel::ZeroOrMore => steps.push(Step::Many),
                FilterLevel::OneOrMore => steps.extend([Step::One, Step::Many]),
            }
        }
        Self { tree, steps, hides_reserved, found, stack: Vec::new(), visits: 0 }
    }

    /// Visits what matches below `root`; returns how many nodes were visited.
    pub(super) fn run(mut self, root: NodeId) -> usize {
        let mut start = Places::default();
        self.insert_closed(&mut start, 0);
        self.descend(root, start);
        while let Some(pending) = self.stack.last_mut() {
            let Some(id) = pending.next else {
                self.stack.pop();
                continue;
            };
            let places = pending.places;
            let Some(node) = self.tree.get(id) else { break };
            pending.next = node.payload.next;
            let is_hidden = self.hides_reserved && self.stack.len() == 1 && Address::is_reserved_level(&node.level);
            if !is_hidden {
                self.visit(id, self.advance(places, &node.level));
            }
        }
        self.visits
    }

    /// `places` fit the path to `id`.
    fn visit(&mut self, id: NodeId, places: Places) {
        self.visits += 1;
        if !places.is_empty() {
            self.report(id, places);
            self.descend(id, places);
        }
    }

    fn report(&mut self, id: NodeId, places: Places) {
        if places.contains(self.steps.len())
            && let Some((address, value)) = self.tree.get(id).and_then(|node| node.payload.entry.as_ref())
        {
            (self.found)(address, value);
        }
    }

    /// Goes on below `id`: by look-up while a single literal is what fits, otherwise through all children.
    fn descend(&mut self, mut id: NodeId, mut places: Places) {
        while let Some(Step::Literal(literal)) = self.single_step(places) {
            let Some(child) = self.tree.child(id, literal) else { return };
            self.visits += 1;
            places = self.advance(places, literal);
            id = child;
            self.report(id, places);
        }
        let Some(next) = self.tree.get(id).and_then(|node| node.payload.first_child) else { return };
        // The end of the filter alone goes nowhere.
        if places.iter().any(|place| place < self.steps.len()) {
            self.stack.push(Pending { next: Some(next), places });
        }
    }

    fn single_step(&self, places: Places) -> Option<Step<'f>> {
        let mut places = places.iter();
        let first = places.next()?;
        if places.next().is_some() {
            return None;
        }
        self.steps.get(first).copied()
    }

    /// The places that fit after one more level.
    fn advance(&self, places: Places, level: &Level) -> Places {
        let mut after = Places::default();
        for place in places.iter() {
            match self.steps.get(place) {
                Some(Step::Literal(literal)) if *literal == level => self.insert_closed(&mut after, place + 1),
                Some(Step::One) => self.insert_closed(&mut after, place + 1),
                Some(Step::Many) => self.insert_closed(&mut after, place),
                Some(Step::Literal(_)) | None => {}
            }
        }
        after
    }

    /// Adds `place`, and what follows it when that may stand for no level. Two of those never stand side by side.
    fn insert_closed(&self, places: &mut Places, place: usize) {
        places.insert(place);
        if matches!(self.steps.get(place), Some(Step::Many)) {
            places.insert(place + 1);
        }
    }
}
