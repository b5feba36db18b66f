//! The distinct filters of a group's members, each with a bit of its own. A message's *mask* says which of them match
//! it; messages with the same mask form a match class (`ready.rs`).
//!
//! Filters of one text in two dialects are two here: they differ in which reserved addresses they match.
//!
//! Invariants: a bit in use belongs to exactly one filter, and the same filters share a bit; the memo is only a
//! shortcut and is empty after each change. Without filters every mask is 0 and costs nothing.

use alloc::boxed::Box;
use alloc::vec::Vec;

use braid_types::{Address, Filter};

use crate::limits::FILTERS_PER_GROUP_MAX;

/// The bits of a message's matching filters.
pub(crate) type Mask = u64;

/// Which bit a filter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FilterSlot(pub(crate) u8);

impl FilterSlot {
    /// The mask with only this bit.
    pub(crate) fn bit(self) -> Mask {
        1_u64.checked_shl(u32::from(self.0)).unwrap_or(0)
    }
}

/// A filter, and how many members it has.
#[derive(Debug)]
struct UsedFilter {
    filter: Filter,
    members: u32,
}

/// The filters of a group. Most groups have none, and then this is one word.
#[derive(Debug, Default)]
pub(crate) struct Filters {
    table: Option<Box<Table>>,
}

/// The filters in use.
#[derive(Debug, Default)]
struct Table {
    slots: Vec<Option<UsedFilter>>,
    in_use: Mask,
    /// The last address asked for. Runs of messages with one address are the common case, and equal addresses that
    /// come from one `Arc` compare by pointer.
    memo: Option<(Address, Mask)>,
}

impl Filters {
    /// One more member with this filter: its slot, and whether the filter is new to the group (then the ready messages
    /// have to be classified again). `None`: the limit is reached, nothing changed.
    pub(crate) fn enter(&mut self, filter: &Filter) -> Option<(FilterSlot, bool)> {
        let slots = self.table.as_mut().map_or(&mut [][..], |table| &mut table.slots);
        let known = slots.iter_mut().zip(0_u8..).find_map(|(used, slot)| {
            let used = used.as_mut().filter(|used| is_same(&used.filter, filter))?;
            used.members += 1;
            Some(FilterSlot(slot))
        });
        if let Some(slot) = known {
            return Some((slot, false));
        }
        let in_use = self.table.as_ref().map_or(0, |table| table.in_use);
        let slot = FilterSlot(u8::try_from(in_use.trailing_ones()).ok()?);
        self.place(slot, filter.clone(), 1).then_some((slot, true))
    }

    /// One member less with the filter in `slot`; whether it was the last (then the ready messages have to be
    /// classified again).
    pub(crate) fn leave(&mut self, slot: FilterSlot) -> bool {
        let Some(table) = self.table.as_mut() else { return false };
        let Some(entry) = table.slots.get_mut(usize::from(slot.0)) else { return false };
        let Some(used) = entry.as_mut() else { return false };
        used.members -= 1;
        let is_last = used.members == 0;
        if is_last {
            *entry = None;
            table.in_use &= !slot.bit();
            table.memo = None;
            if table.in_use == 0 {
                self.table = None;
            }
        }
        is_last
    }

    /// Which filters match.
    pub(crate) fn mask_of(&mut self, address: Option<&Address>) -> Mask {
        let (Some(table), Some(address)) = (&mut self.table, address) else { return 0 };
        if let Some((remembered, mask)) = &table.memo
            && remembered == address
        {
            return *mask;
        }
        let mask = table.match_all(address);
        table.memo = Some((address.clone(), mask));
        mask
    }

    /// Which filters match, asked of each of them.
    pub(crate) fn match_all(&self, address: &Address) -> Mask {
        self.table.as_ref().map_or(0, |table| table.match_all(address))
    }

    /// The filter in `slot`.
    pub(crate) fn get(&self, slot: FilterSlot) -> Option<&Filter> {
        Some(&self.table.as_ref()?.slots.get(usize::from(slot.0))?.as_ref()?.filter)
    }

    /// The filters in use: slot, filter, members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FilterSlot, &Filter, u32)> {
        let slots = self.table.iter().flat_map(|table| table.slots.iter().zip(0_u8..));
        slots.filter_map(|(used, slot)| used.as_ref().map(|used| (FilterSlot(slot), &used.filter, used.members)))
    }

    /// Puts a filter with its members into a free slot; whether there is such a slot and it was free.
    pub(crate) fn place(&mut self, slot: FilterSlot, filter: Filter, members: u32) -> bool {
        let index = usize::from(slot.0);
        if index >= FILTERS_PER_GROUP_MAX {
            return false;
        }
        let table = self.table.get_or_insert_default();
        if table.in_use & slot.bit() != 0 {
            return false;
        }
        if table.slots.len() <= index {
            table.slots.resize_with(index + 1, || None);
        }
        if let Some(entry) = table.slots.get_mut(index) {
            *entry = Some(UsedFilter { filter, members });
        }
        table.in_use |= slot.bit();
        table.memo = None;
        true
    }
}

impl Table {
    fn match_all(&self, address: &Address) -> Mask {
        let filters = self.slots.iter().zip(0_u8..);
        let matching = filters.filter(|(used, _)| used.as_ref().is_some_and(|used| used.filter.matches(address)));
        matching.map(|(_, slot)| FilterSlot(slot).bit()).fold(0, |mask, bit| mask | bit)
    }
}

/// Whether two filters match the same addresses. Equality alone does not look at the dialect.
pub(crate) fn is_same(left: &Filter, right: &Filter) -> bool {
    left == right && left.dialect() == right.dialect()
}
