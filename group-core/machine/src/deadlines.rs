//! When each group wants to be visited though no command comes for it.
//!
//! Invariant: a group that waits for a time is noted with that time or an earlier one. Noting a later time than
//! before is put off until the earlier one has come: so a group whose deadline moves with every message costs nothing
//! here, and is visited in vain at most once per wait.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use braid_types::{GroupId, Timestamp};

use crate::hasher::FixedMap;

/// Groups by time.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    by_time: BTreeSet<(Timestamp, GroupId)>,
    by_group: FixedMap<GroupId, Timestamp>,
}

impl Deadlines {
    /// The earliest.
    pub(crate) fn first(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(time, _)| *time)
    }

    /// The groups whose time has come, in order of their ids.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<GroupId> {
        let due = self.by_time.iter().take_while(|(time, _)| *time <= now);
        let mut groups: Vec<GroupId> = due.map(|(_, group)| *group).collect();
        groups.sort_unstable();
        groups
    }

    /// A group wants to be visited at `wanted`, which is after `now`.
    pub(crate) fn note(&mut self, group: GroupId, now: Timestamp, wanted: Option<Timestamp>) {
        if wanted.is_none() && self.by_group.is_empty() {
            return;
        }
        let noted = self.by_group.get(&group).copied();
        let is_covered = match (noted, wanted) {
            (Some(noted), Some(wanted)) => now < noted && noted <= wanted,
            (Some(noted), None) => now < noted,
            (None, wanted) => wanted.is_none(),
        };
        if !is_covered {
            self.set(group, wanted);
        }
    }

    /// Notes exactly `wanted` for a group.
    pub(crate) fn set(&mut self, group: GroupId, wanted: Option<Timestamp>) {
        let noted = match wanted {
            Some(time) => self.by_group.insert(group, time),
            None => self.by_group.remove(&group),
        };
        if let Some(noted) = noted {
            self.by_time.remove(&(noted, group));
        }
        if let Some(time) = wanted {
            self.by_time.insert((time, group));
        }
    }

    /// What is noted for a group.
    pub(crate) fn of(&self, group: GroupId) -> Option<Timestamp> {
        self.by_group.get(&group).copied()
    }

    /// Groups that are noted.
    pub(crate) fn len(&self) -> usize {
        self.by_time.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_deadline_is_noted_when_the_earlier_one_has_come() {
        let mut deadlines = Deadlines::default();
        let group = GroupId(1);
        deadlines.note(group, Timestamp(0), Some(Timestamp(10)));
        deadlines.note(group, Timestamp(5), Some(Timestamp(20)));
        assert_eq!(deadlines.first(), Some(Timestamp(10)));
        assert_eq!(deadlines.due(Timestamp(9)), []);
        assert_eq!(deadlines.due(Timestamp(10)), [group]);
        deadlines.note(group, Timestamp(10), Some(Timestamp(20)));
        assert_eq!(deadlines.first(), Some(Timestamp(20)));
        deadlines.note(group, Timestamp(11), Some(Timestamp(15)));
        assert_eq!(deadlines.first(), Some(Timestamp(15)));
        deadlines.note(group, Timestamp(15), None);
        assert_eq!((deadlines.first(), deadlines.len()), (None, 0));
    }
}
