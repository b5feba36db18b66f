//! What listings show of a group and its members. Reads only.

use braid_types::GroupId;

use crate::GroupConfig;
use crate::group::Group;
use crate::ready::Takers;

mod member;
mod skipped;

pub use member::MemberView;
pub use skipped::Skipped;

/// A group, as listings show it.
#[derive(Clone, Copy, Debug)]
pub struct GroupView<'a> {
    id: GroupId,
    group: &'a Group,
}

impl<'a> GroupView<'a> {
    pub(crate) fn new(id: GroupId, group: &'a Group) -> Self {
        Self { id, group }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// Its settings.
    #[must_use]
    pub fn config(&self) -> &'a GroupConfig {
        &self.group.config
    }

    /// Messages that wait for a member.
    #[must_use]
    pub fn ready(&self) -> u64 {
        self.group.backlog.ready.count()
    }

    /// The sum of their sizes, in bytes.
    #[must_use]
    pub fn ready_bytes(&self) -> u64 {
        self.group.backlog.ready.size_bytes()
    }

    /// Ready messages that no present member may take, whatever its credit: no filter matches them.
    #[must_use]
    pub fn unmatched(&self) -> u64 {
        let present = self.group.members.iter().filter(|member| member.is_present());
        let takers = present.fold(Takers::default(), |takers, member| match member.filter {
            None => Takers { anyone: true, ..takers },
            Some(slot) => Takers { filters: takers.filters | slot.bit(), ..takers },
        });
        let classes = self.group.backlog.ready.classes().iter();
        classes.filter(|class| !takers.may_take(class.key().mask)).map(|class| class.len()).sum()
    }

    /// Messages that wait for their next try.
    #[must_use]
    pub fn delayed(&self) -> u64 {
        self.group.backlog.delayed.count()
    }

    /// Dead letters that it keeps until they are stored elsewhere.
    #[must_use]
    pub fn dead_letters(&self) -> u64 {
        self.group.backlog.dead_letters.count()
    }

    /// It takes no publishes until it has relaxed to four fifths of its length limits.
    #[must_use]
    pub fn rejects_publishes(&self) -> bool {
        self.group.rejects_publishes
    }

    /// Messages that were handed out and not settled.
    #[must_use]
    pub fn unacked(&self) -> u64 {
        self.group.in_flight.count()
    }

    /// Members that are attached or paused.
    #[must_use]
    pub fn member_count(&self) -> usize {
        self.group.members.present()
    }

    /// The broken invariant that took the group out of service, if one did.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        self.group.fault.map(|broken| broken.0)
    }

    /// Its members, oldest first; those that ended and still hold deliveries, and gets, too.
    pub fn members(&self) -> impl Iterator<Item = MemberView<'a>> + use<'a> {
        let group = self.group;
        group.members.iter().map(|member| MemberView::new(group, member))
    }
}
