//! Neighbouring bodies of one partition, 24 bytes each, in the order of their ids.
//!
//! Invariant: all ids are at or after the chunk's base, less than 2^32 entries away.

use braid_types::{LogIndex, MessageId};

/// Which of two lists of forgotten bodies is meant: those forgotten before the last capture of a snapshot, and since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Epoch {
    Even,
    Odd,
}

impl Epoch {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Even => Self::Odd,
            Self::Odd => Self::Even,
        }
    }

    fn bit(self) -> u32 {
        match self {
            Self::Even => 1 << 31,
            Self::Odd => 1 << 30,
        }
    }
}

const FORGOTTEN: u32 = (1 << 31) | (1 << 30);
const KEPT: u32 = 1 << 29;
const LENGTH: u32 = KEPT - 1;

/// Where a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Of the entry, from the chunk's base.
    delta: u32,
    position: u32,
    /// [`super::PENDING`] while it is not written.
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    length_and_flags: u32,
    pub(crate) crc: u32,
}

impl Slot {
    pub(crate) fn new(position: u32, segment: u32, offset: u32, length: u32, crc: u32) -> Self {
        Self { delta: 0, position, segment, offset, length_and_flags: length & LENGTH, crc }
    }

    /// Its name in a chunk of that base.
    pub(crate) fn id(&self, base: LogIndex) -> MessageId {
        MessageId { index: LogIndex(base.0 + u64::from(self.delta)), position: self.position }
    }

    pub(crate) fn length(&self) -> u32 {
        self.length_and_flags & LENGTH
    }

    pub(crate) fn is_forgotten_in(&self, epoch: Epoch) -> bool {
        self.length_and_flags & epoch.bit() != 0
    }

    /// Whether this changes anything: a body is forgotten once.
    pub(crate) fn forget_in(&mut self, epoch: Epoch) -> bool {
        let is_first = self.length_and_flags & FORGOTTEN == 0;
        if is_first {
            self.length_and_flags |= epoch.bit();
        }
        is_first
    }

    pub(crate) fn keep(&mut self) {
        self.length_and_flags |= KEPT;
    }

    /// Whether it was kept; it is not any more.
    pub(crate) fn take_kept(&mut self) -> bool {
        let is_kept = self.length_and_flags & KEPT != 0;
        self.length_and_flags &= !KEPT;
        is_kept
    }
}

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Chunk {
    base: LogIndex,
    pub(crate) slots: Vec<Slot>,
    /// Slots forgotten in each epoch.
    forgotten: [u32; 2],
}

impl Chunk {
    pub(crate) fn new(base: LogIndex) -> Self {
        Self { base, slots: Vec::new(), forgotten: [0; 2] }
    }

    pub(crate) fn forgotten_in(&self, epoch: Epoch) -> u32 {
        let [even, odd] = self.forgotten;
        match epoch {
            Epoch::Even => even,
            Epoch::Odd => odd,
        }
    }

    /// Whether a body of this entry can be here.
    pub(crate) fn can_hold(&self, index: LogIndex) -> bool {
        index.0.checked_sub(self.base.0).is_some_and(|delta| delta <= u64::from(u32::MAX))
    }

    pub(crate) fn id_of(&self, slot: &Slot) -> MessageId {
        slot.id(self.base)
    }

    pub(crate) fn base(&self) -> LogIndex {
        self.base
    }

    /// Where the body is, or where it would have to be put.
    pub(crate) fn find(&self, id: MessageId) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&id, |slot| self.id_of(slot))
    }

    /// The same, quick when it is at `place` or close behind.
    pub(crate) fn find_from(&self, place: usize, id: MessageId) -> Result<usize, usize> {
        match self.slots.get(place) {
            Some(slot) if self.id_of(slot) == id => Ok(place),
            _ => self.find(id),
        }
    }

    pub(crate) fn last(&self) -> Option<MessageId> {
        self.slots.last().map(|slot| self.id_of(slot))
    }

    /// Marks the slot there as forgotten. Its length, if that is new.
    pub(crate) fn forget_at(&mut self, place: usize, epoch: Epoch) -> Option<u32> {
        let slot = self.slots.get_mut(place)?;
        let length = slot.length();
        if !slot.forget_in(epoch) {
            return None;
        }
        let [even, odd] = &mut self.forgotten;
        *match epoch {
            Epoch::Even => even,
            Epoch::Odd => odd,
        } += 1;
        Some(length)
    }

    /// Puts `slot` at `place`, as the body of that entry.
    pub(crate) fn insert(&mut self, place: usize, index: LogIndex, slot: Slot) {
        self.slots.insert(place, Slot { delta: self.delta_of(index), ..slot });
    }

    /// Puts `slots` at the end, as bodies of that entry.
    pub(crate) fn extend(&mut self, index: LogIndex, slots: impl Iterator<Item = Slot>) {
        let delta = self.delta_of(index);
        self.slots.extend(slots.map(|slot| Slot { delta, ..slot }));
    }

    fn delta_of(&self, index: LogIndex) -> u32 {
        u32::try_from(index.0.saturating_sub(self.base.0)).unwrap_or(u32::MAX)
    }

    /// Moves the slots from `place` on into a chunk of their own.
    pub(crate) fn split_off(&mut self, place: usize) -> Self {
        let slots = self.slots.split_off(place);
        let mut rest = Self { base: self.base, slots, forgotten: [0; 2] };
        rest.recount();
        self.recount();
        rest
    }

    /// Takes all slots of the next chunk, if its base allows that.
    pub(crate) fn absorb(&mut self, next: &mut Self) -> bool {
        if !next.slots.last().is_none_or(|slot| self.can_hold(next.id_of(slot).index)) {
            return false;
        }
        self.slots.reserve_exact(next.slots.len());
        for slot in std::mem::take(&mut next.slots) {
            let index = next.id_of(&slot).index;
            self.insert(self.slots.len(), index, slot);
        }
        self.recount();
        true
    }

    pub(crate) fn recount(&mut self) {
        let count = |epoch| self.slots.iter().filter(|slot| slot.is_forgotten_in(epoch)).count();
        self.forgotten = [Epoch::Even, Epoch::Odd].map(|epoch| crate::format::length_u32(count(epoch)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_24_bytes() {
        assert_eq!(size_of::<Slot>(), 24);
    }

    #[test]
    fn flags_and_length_do_not_meet() {
        let mut slot = Slot::new(1, 2, 3, LENGTH, 4);
        assert!(slot.forget_in(Epoch::Odd));
        assert!(!slot.forget_in(Epoch::Even), "forgotten once is enough");
        slot.keep();
        assert!(slot.is_forgotten_in(Epoch::Odd) && !slot.is_forgotten_in(Epoch::Even));
        assert!(slot.take_kept() && !slot.take_kept());
        assert_eq!(slot.length(), LENGTH);
    }
}
