//! Sets of groups that enqueues name by a number: what a topic with thousands of sessions matches is defined once, not
//! with every message.
//!
//! Invariants: at most [`GROUP_SETS_MAX`] sets, none of them empty and none of more groups than an enqueue may name. A
//! set may name groups that are gone.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use braid_types::GroupId;

use crate::limits::{GROUP_SETS_MAX, GROUPS_PER_ENQUEUE_MAX};
use crate::{GroupSetId, Refused, Reply};

/// Sets of groups by their numbers.
#[derive(Debug, Default)]
pub(crate) struct GroupSets {
    by_id: BTreeMap<GroupSetId, Arc<[GroupId]>>,
}

impl GroupSets {
    /// Defines a set, in place of an earlier one of this number; without groups there is none any more.
    pub(crate) fn define(&mut self, set: GroupSetId, groups: Vec<GroupId>) -> Reply {
        let is_one_too_many = self.by_id.len() >= GROUP_SETS_MAX && !self.by_id.contains_key(&set);
        if groups.is_empty() {
            self.by_id.remove(&set);
        } else if groups.len() > GROUPS_PER_ENQUEUE_MAX || is_one_too_many {
            return Reply::Refused(Refused::LimitReached);
        } else {
            self.by_id.insert(set, groups.into());
        }
        Reply::Done
    }

    /// The groups of a set, as they were given.
    pub(crate) fn get(&self, set: GroupSetId) -> Option<&Arc<[GroupId]>> {
        self.by_id.get(&set)
    }

    /// All sets, in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (GroupSetId, &[GroupId])> {
        self.by_id.iter().map(|(set, groups)| (*set, &**groups))
    }
}
