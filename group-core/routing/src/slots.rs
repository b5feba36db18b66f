//! A set whose elements keep a small number for as long as they are in it.
//!
//! Numbers of removed elements are used again; iteration is by number. The hash only finds, it orders nothing.

use alloc::vec::Vec;
use core::hash::Hash;

use hashbrown::HashTable;

use crate::hashing::Seed;

const SEED: Seed = Seed(0);

/// Elements by number and by key.
#[derive(Clone, Debug)]
pub(crate) struct Slots<V> {
    elements: Vec<Option<V>>,
    free: Vec<u32>,
    numbers: HashTable<u32>,
}

/// What an element is found by.
pub(crate) trait Keyed {
    /// The type of the key.
    type Key<'a>: Hash + Eq
    where
        Self: 'a;

    /// The key. It must not change while the element is in a set.
    fn key(&self) -> Self::Key<'_>;
}

impl<V> Default for Slots<V> {
    fn default() -> Self {
        Self { elements: Vec::new(), free: Vec::new(), numbers: HashTable::new() }
    }
}

impl<V: Keyed> Slots<V> {
    /// The number of the element with this key.
    pub(crate) fn find<'a>(&'a self, key: &V::Key<'a>) -> Option<u32> {
        self.numbers
            .find(SEED.hash_of(key), |number| self.get(*number).is_some_and(|known| known.key() == *key))
            .copied()
    }

    /// Adds an element; the caller has made sure that there is none with its key. `None` when no number is left.
    pub(crate) fn insert(&mut self, element: V) -> Option<u32> {
        let hash = SEED.hash_of(&element.key());
        let number = match self.free.pop() {
            Some(number) => number,
            None => u32::try_from(self.elements.len()).ok()?,
        };
        match usize::try_from(number).ok().and_then(|index| self.elements.get_mut(index)) {
            Some(slot) => *slot = Some(element),
            None => self.elements.push(Some(element)),
        }
        let elements = &self.elements;
        self.numbers.insert_unique(hash, number, |number| {
            element_at(elements, *number).map_or(0, |element| SEED.hash_of(&element.key()))
        });
        Some(number)
    }

    /// Takes an element out.
    pub(crate) fn remove(&mut self, number: u32) -> Option<V> {
        let element = self.elements.get_mut(usize::try_from(number).ok()?)?.take()?;
        if let Ok(entry) = self.numbers.find_entry(SEED.hash_of(&element.key()), |known| *known == number) {
            entry.remove();
        }
        self.free.push(number);
        Some(element)
    }
}

impl<V> Slots<V> {
    /// The element of that number.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&V> {
        element_at(&self.elements, number)
    }

    /// The same, to change what is not its key.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut V> {
        self.elements.get_mut(usize::try_from(number).ok()?)?.as_mut()
    }

    /// All, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &V> {
        self.elements.iter().flatten()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }
}

fn element_at<V>(elements: &[Option<V>], number: u32) -> Option<&V> {
    elements.get(usize::try_from(number).ok()?)?.as_ref()
}
