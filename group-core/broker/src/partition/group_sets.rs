//! Names for sets of groups that many messages go to, so that an entry names 10,000 groups in a few bytes.
//!
//! Invariant: it says what the machine will know when the entries that were proposed are applied. Bounded: the oldest
//! set gives its name away.

use braid_machine::{GroupSetId, Partition};
use braid_types::GroupId;
use hashbrown::{HashMap, HashSet};

use crate::limits::GROUP_SETS_MAX;

/// Sets by what is in them.
#[derive(Debug, Default)]
pub(super) struct GroupSets {
    names: HashMap<Box<[GroupId]>, GroupSetId>,
    contents: HashMap<GroupSetId, Box<[GroupId]>>,
    next: u32,
}

/// The names that one entry uses.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<GroupSetId>);

impl GroupSets {
    /// What the machine knows after a start.
    pub(super) fn of(machine: &Partition) -> Self {
        let mut sets = Self::default();
        for set in machine.group_sets() {
            if let Some(groups) = machine.group_set(set) {
                sets.next = sets.next.max(set.0.saturating_add(1));
                sets.put(set, groups.into());
            }
        }
        sets
    }

    /// The name of a set in an entry, and whether it has to be defined before the entry; `None`: all names are in use in
    /// this entry, where none may stand for two sets.
    pub(super) fn name(&mut self, groups: &[GroupId], in_use: &mut Names) -> Option<(GroupSetId, bool)> {
        if let Some(set) = self.names.get(groups) {
            in_use.0.insert(*set);
            return Some((*set, false));
        }
        let set = GroupSetId(self.next % GROUP_SETS_MAX);
        if !in_use.0.insert(set) {
            return None;
        }
        self.next = self.next.wrapping_add(1);
        self.put(set, groups.into());
        Some((set, true))
    }

    fn put(&mut self, set: GroupSetId, groups: Box<[GroupId]>) {
        if let Some(old) = self.contents.insert(set, groups.clone()) {
            self.names.remove(&old);
        }
        self.names.insert(groups, set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_keeps_its_name_until_it_is_the_oldest_of_too_many() {
        let mut sets = GroupSets::default();
        let groups = |number: u32| [GroupId(number.into()), GroupId(1_000)];
        let mut name = |number| sets.name(&groups(number), &mut Names::default()).unwrap();
        let (first, is_new) = name(0);
        assert!(is_new);
        assert_eq!(name(0), (first, false));
        for number in 1..GROUP_SETS_MAX {
            assert!(name(number).1);
        }
        assert_eq!(name(0), (first, false));
        assert_eq!(name(GROUP_SETS_MAX), (first, true), "its name goes to the next");
        assert!(name(0).1);
        assert_eq!(sets.names.len(), sets.contents.len());
    }

    #[test]
    fn a_name_that_an_entry_uses_stands_for_nothing_else_there() {
        let mut sets = GroupSets::default();
        let groups = |number: u32| [GroupId(number.into()), GroupId(1_000)];
        let mut in_use = Names::default();
        for number in 0..GROUP_SETS_MAX {
            assert!(sets.name(&groups(number), &mut in_use).is_some());
        }
        assert_eq!(sets.name(&groups(GROUP_SETS_MAX), &mut in_use), None);
        assert!(sets.name(&groups(5), &mut in_use).is_some_and(|(_, is_new)| !is_new));
        // The next one to give its name away is known from before.
        let mut in_use = Names::default();
        assert!(sets.name(&groups(0), &mut in_use).is_some_and(|(_, is_new)| !is_new));
        assert_eq!(sets.name(&groups(GROUP_SETS_MAX), &mut in_use), None);
        assert!(sets.name(&groups(GROUP_SETS_MAX), &mut Names::default()).is_some_and(|(_, is_new)| is_new));
    }
}
