//! The state in parts: what changed since the last snapshot can be written alone (guide, rule 27).

use alloc::vec::Vec;
use core::mem;

use braid_types::{CorruptBytes, GroupId};
use bytes::{Bytes, BytesMut};

use crate::partition::Partition;
use crate::snapshot;

impl Partition {
    /// The groups that were made or changed since this was last asked, or since the state was restored, in order of
    /// their ids. Those that were deleted are not among them: a part of a group that is not in
    /// [`Partition::group_ids`] is to be dropped.
    pub fn take_changed(&mut self) -> Vec<GroupId> {
        let mut changed = mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        changed.retain(|id| self.groups.get_mut(id).is_some_and(|group| mem::take(&mut group.is_changed)));
        changed
    }

    /// Appends all of the state that belongs to no group: time, who leads, the sets of groups.
    pub fn put_head(&self, out: &mut BytesMut) {
        snapshot::put_head(self, out);
    }

    /// Appends a group's part; whether there is such a group.
    pub fn put_group(&self, id: GroupId, out: &mut BytesMut) -> bool {
        let group = self.groups.get(&id);
        if let Some(group) = group {
            snapshot::put_group(group, out);
        }
        group.is_some()
    }

    /// The state whose parts these are: what [`Partition::put_head`] and [`Partition::put_group`] wrote after the same
    /// command, groups in order of their ids.
    ///
    /// # Errors
    /// The bytes are not parts of one state, or `groups` gave an error.
    pub fn restore_parts(
        head: &mut Bytes,
        groups: impl IntoIterator<Item = Result<(GroupId, Bytes), CorruptBytes>>,
    ) -> Result<Self, CorruptBytes> {
        snapshot::restore_groups(snapshot::read_head(head)?, groups.into_iter())
    }
}
