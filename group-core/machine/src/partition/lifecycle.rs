//! Groups come and go, are found for a command, and are visited when their time has come.

use alloc::boxed::Box;
use alloc::vec::Vec;

use braid_types::{GroupId, Stamp};

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::limits::GROUPS_PER_PARTITION_MAX;
use crate::partition::Partition;
use crate::{Effect, GroupConfig, Refused, Reply};

impl Partition {
    /// Makes a group. One that is there stays as it is, but counts as used just now.
    pub(super) fn create(
        &mut self,
        stamp: Stamp,
        id: GroupId,
        config: GroupConfig,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        if !self.groups.contains_key(&id) {
            if self.groups.len() >= GROUPS_PER_PARTITION_MAX {
                return Reply::Refused(Refused::LimitReached);
            }
            self.groups.insert(id, Box::new(Group::new(config, self.leading)));
        }
        self.in_group(stamp, id, effects, |group, context| {
            group.last_used = context.now();
            Ok(Reply::Done)
        })
    }

    /// Removes a group with all that it holds; one that is out of service too.
    pub(super) fn delete(
        &mut self,
        stamp: Stamp,
        id: GroupId,
        if_unused: bool,
        if_empty: bool,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        let Some(group) = self.groups.get(&id) else { return Reply::Refused(Refused::NoSuchGroup) };
        if let Some(refused) = group.refuses_delete(if_unused, if_empty) {
            return Reply::Refused(refused);
        }
        let Some(group) = self.groups.remove(&id) else { return Reply::Refused(Refused::NoSuchGroup) };
        self.deadlines.set(id, None);
        let Self { references, attachments, doomed, .. } = self;
        group.dissolve(&mut Context { stamp, group: id, effects, references, attachments, doomed })
    }

    /// Visits the groups whose time has come, in order of their ids: which of them are visited in vain may differ
    /// between replicas, what comes of it does not.
    pub(super) fn tick(&mut self, stamp: Stamp, effects: &mut Vec<Effect>) -> Reply {
        for group in self.deadlines.due(stamp.time) {
            self.in_group(stamp, group, effects, |_, _| Ok(Reply::Done));
        }
        Reply::Done
    }

    /// Does a command's work in its group, and notes when the group wants to be visited.
    pub(super) fn in_group(
        &mut self,
        stamp: Stamp,
        id: GroupId,
        effects: &mut Vec<Effect>,
        work: impl FnOnce(&mut Group, &mut Context<'_>) -> Sound<Reply>,
    ) -> Reply {
        let Some(group) = self.groups.get_mut(&id) else { return Reply::Refused(Refused::NoSuchGroup) };
        if !group.is_changed {
            group.is_changed = true;
            self.changed.push(id);
        }
        let Self { references, attachments, doomed, .. } = self;
        let reply = group.run(&mut Context { stamp, group: id, effects, references, attachments, doomed }, work);
        self.deadlines.note(id, stamp.time, group.next_deadline());
        reply
    }
}
