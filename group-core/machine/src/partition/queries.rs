//! What may be asked of a partition. Reads only.

use alloc::vec::Vec;

use braid_types::{DeliveryId, GroupId, MemberId, MessageId, Timestamp};

use crate::partition::Partition;
use crate::view::GroupView;
use crate::{DropReason, GroupSetId};

impl Partition {
    /// The latest time of an entry: from here a leader's clock goes on.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// The groups, in order of their ids.
    #[must_use]
    pub fn group_ids(&self) -> Vec<GroupId> {
        let mut ids: Vec<GroupId> = self.groups.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// What a group looks like now.
    #[must_use]
    pub fn group(&self, id: GroupId) -> Option<GroupView<'_>> {
        self.groups.get(&id).map(|group| GroupView::new(id, group))
    }

    /// When the partition wants a [`crate::Command::Tick`] at the latest; `None`: nothing waits for time to pass. It
    /// may be early: then the tick changes nothing, and the next deadline is later.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if self.doomed.is_empty() { self.deadlines.first() } else { Some(self.time) }
    }

    /// The node that leads the partition, as the last [`crate::Command::Lead`] said.
    #[must_use]
    pub fn leading_node(&self) -> Option<u64> {
        self.leading
    }

    /// The groups of a set, as they were defined; some may be gone.
    #[must_use]
    pub fn group_set(&self, set: GroupSetId) -> Option<&[GroupId]> {
        self.group_sets.get(set).map(|groups| &**groups)
    }

    /// The sets that are defined, in order.
    pub fn group_sets(&self) -> impl ExactSizeIterator<Item = GroupSetId> {
        self.group_sets.iter().map(|(set, _)| set)
    }

    /// The deliveries that a member has not settled, in the order of their ids; none for an unknown member.
    pub fn unacked(&self, group: GroupId, member: MemberId) -> impl Iterator<Item = DeliveryId> {
        let member = self.groups.get(&group).and_then(|group| group.members.get(member));
        member.into_iter().flat_map(|member| member.unacked.iter().map(|(id, _)| id))
    }

    /// Whether a member is in a group: attached, paused, or here for what it has not settled.
    #[must_use]
    pub fn has_member(&self, group: GroupId, member: MemberId) -> bool {
        self.groups.get(&group).is_some_and(|group| group.members.get(member).is_some())
    }

    /// About the next `count` ready messages of a group in the order in which they would go out, to read their bodies
    /// ahead. Exact as long as members take whatever comes and nothing comes back, expires or has a lane. O(count).
    pub fn upcoming(&self, group: GroupId, count: usize) -> impl Iterator<Item = MessageId> {
        let ready = self.groups.get(&group).map(|group| &group.backlog.ready);
        ready.into_iter().flat_map(|ready| ready.in_order()).take(count)
    }

    /// The dead letters that a group keeps: message, why it was dropped, and its failed tries; in order of
    /// publication.
    pub fn dead_letters(&self, group: GroupId) -> impl Iterator<Item = (MessageId, DropReason, u32)> {
        let group = self.groups.get(&group);
        let letters = group.into_iter().flat_map(|group| group.backlog.dead_letters.iter());
        letters.map(|letter| (letter.message.id, letter.reason, letter.message.delivery_count))
    }

    /// The groups that keep dead letters, in order of their ids. Looks at all groups.
    #[must_use]
    pub fn groups_with_dead_letters(&self) -> Vec<GroupId> {
        let keeping = self.groups.iter().filter(|(_, group)| group.backlog.dead_letters.count() > 0);
        let mut ids: Vec<GroupId> = keeping.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// Messages that some group holds, in order, each once: what a log must keep. O(n log n).
    pub fn live_messages(&self) -> impl Iterator<Item = MessageId> {
        let mut live: Vec<MessageId> = Vec::new();
        for id in self.group_ids() {
            if let Some(group) = self.groups.get(&id) {
                live.extend(group.messages().map(|message| message.id));
            }
        }
        live.sort_unstable();
        live.dedup();
        live.into_iter()
    }
}
