//! The groups that an enqueue is for: named one by one, or as a set that was defined before, so that a fan-out to
//! thousands of groups is a command of a few bytes.

use braid_types::GroupId;
use smallvec::SmallVec;

/// Names a set of groups within a partition. Chosen by who proposes [`crate::Command::DefineGroupSet`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupSetId(pub u32);

/// Which groups take a message; each at most once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// These.
    These(SmallVec<[GroupId; 1]>),
    /// Those of a set. Deleted groups in it are simply not there.
    Set(GroupSetId),
}

impl From<SmallVec<[GroupId; 1]>> for Groups {
    fn from(groups: SmallVec<[GroupId; 1]>) -> Self {
        Self::These(groups)
    }
}

impl FromIterator<GroupId> for Groups {
    fn from_iter<I: IntoIterator<Item = GroupId>>(groups: I) -> Self {
        Self::These(groups.into_iter().collect())
    }
}
