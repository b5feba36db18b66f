//! The entries of one partition between the purged ones and the last: 16 bytes each, terms run-length encoded.
//!
//! Invariant: indexes are contiguous.

use std::collections::VecDeque;

use braid_types::{LogIndex, Term};

/// Where an entry's record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntrySlot {
    /// [`super::PENDING`] while it is not written.
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    pub(crate) head_length: u32,
    pub(crate) body_length: u32,
}

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct EntryIndex {
    first: u64,
    slots: VecDeque<EntrySlot>,
    /// Where each run of one term begins. The first run may begin before `first`.
    terms: VecDeque<(u64, Term)>,
}

impl EntryIndex {
    pub(crate) fn first(&self) -> Option<LogIndex> {
        (!self.slots.is_empty()).then_some(LogIndex(self.first))
    }

    pub(crate) fn last(&self) -> Option<LogIndex> {
        let length = self.slots.len() as u64;
        (length > 0).then(|| LogIndex(self.first + length - 1))
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn get(&self, index: LogIndex) -> Option<EntrySlot> {
        self.slots.get(self.place(index)?).copied()
    }

    pub(crate) fn get_mut(&mut self, index: LogIndex) -> Option<&mut EntrySlot> {
        let place = self.place(index)?;
        self.slots.get_mut(place)
    }

    pub(crate) fn term_of(&self, index: LogIndex) -> Option<Term> {
        self.get(index)?;
        let runs = self.terms.partition_point(|(start, _)| *start <= index.0);
        self.terms.get(runs.checked_sub(1)?).map(|(_, term)| *term)
    }

    /// Adds the entry after the last one; any, if there is none.
    pub(crate) fn push(&mut self, index: LogIndex, term: Term, slot: EntrySlot) {
        if self.slots.is_empty() {
            self.first = index.0;
            self.terms.clear();
        }
        debug_assert_eq!(index.0, self.first + self.slots.len() as u64, "entries are contiguous");
        if self.terms.back().is_none_or(|(_, last)| *last != term) {
            self.terms.push_back((index.0, term));
        }
        self.slots.push_back(slot);
    }

    /// Takes the last entry away if it is at or after `from`.
    pub(crate) fn pop_from(&mut self, from: LogIndex) -> Option<EntrySlot> {
        let last = self.last().filter(|last| *last >= from)?;
        while self.terms.back().is_some_and(|(start, _)| *start >= last.0) {
            self.terms.pop_back();
        }
        self.slots.pop_back()
    }

    /// Takes the first entry away if it is at or before `upto`.
    pub(crate) fn shift_to(&mut self, upto: LogIndex) -> Option<EntrySlot> {
        self.first().filter(|first| *first <= upto)?;
        self.first += 1;
        while matches!(self.terms.get(1), Some((start, _)) if *start <= self.first) {
            self.terms.pop_front();
        }
        let slot = self.slots.pop_front();
        if self.slots.len() * 4 < self.slots.capacity() {
            self.slots.shrink_to(self.slots.len() * 2);
        }
        slot
    }

    fn place(&self, index: LogIndex) -> Option<usize> {
        usize::try_from(index.0.checked_sub(self.first)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(offset: u32) -> EntrySlot {
        EntrySlot { segment: 1, offset, head_length: 0, body_length: 0 }
    }

    #[test]
    fn keeps_terms_and_places_through_truncation_and_purge() {
        let mut entries = EntryIndex::default();
        for (index, term) in [(5, 1), (6, 1), (7, 2), (8, 4)] {
            entries.push(LogIndex(index), Term(term), slot(u32::try_from(index).unwrap()));
        }
        assert_eq!(entries.term_of(LogIndex(6)), Some(Term(1)));
        assert_eq!(entries.term_of(LogIndex(8)), Some(Term(4)));
        assert_eq!(entries.pop_from(LogIndex(8)), Some(slot(8)));
        assert_eq!(entries.pop_from(LogIndex(8)), None);
        entries.push(LogIndex(8), Term(5), slot(80));
        assert_eq!(entries.term_of(LogIndex(8)), Some(Term(5)));
        assert_eq!(entries.shift_to(LogIndex(5)), Some(slot(5)));
        assert_eq!(entries.term_of(LogIndex(5)), None);
        assert_eq!(entries.term_of(LogIndex(6)), Some(Term(1)));
        while entries.shift_to(LogIndex(7)).is_some() {}
        assert_eq!((entries.first(), entries.last()), (Some(LogIndex(8)), Some(LogIndex(8))));
        assert_eq!(entries.term_of(LogIndex(8)), Some(Term(5)));
        assert_eq!(entries.get(LogIndex(8)), Some(slot(80)));
        assert_eq!(entries.shift_to(LogIndex(8)), Some(slot(80)));
        assert_eq!(entries.first(), None);
    }
}
