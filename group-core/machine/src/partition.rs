//! The machine of a partition: its groups, and what they share.
//!
//! `apply` is one match. It is total: every decodable command has a reply and changes the same on every replica. Never
//! reads a clock (time is the stamp's), never iterates a hash map for output.

use alloc::vec::Vec;

use braid_types::{CorruptBytes, DeliveryId, GroupId, Machine, MemberId, MessageId, Stamp, Timestamp};
use bytes::{Bytes, BytesMut};

use crate::deadlines::Deadlines;
use crate::group::Group;
use crate::hasher::FixedMap;
use crate::references::References;
use crate::view::GroupView;
use crate::{Command, Effect, Reply};

mod enqueue;
mod lifecycle;

/// A partition: one log that carries many groups, and the state that follows from it.
#[derive(Debug, Default)]
pub struct Partition {
    pub(crate) groups: FixedMap<GroupId, Group>,
    pub(crate) references: References,
    pub(crate) deadlines: Deadlines,
    /// The latest time of a stamp. Time does not go back, whatever a stamp says.
    pub(crate) time: Timestamp,
}

impl Machine for Partition {
    type Command = Command;
    type Reply = Reply;
    type Effect = Effect;

    fn apply(&mut self, stamp: Stamp, command: Command, effects: &mut Vec<Effect>) -> Reply {
        self.time = self.time.max(stamp.time);
        let stamp = Stamp { time: self.time, ..stamp };
        match command {
            Command::CreateGroup { group, config } => self.create(stamp, group, *config, effects),
            Command::DeleteGroup { group, if_unused, if_empty } => {
                self.delete(stamp, group, if_unused, if_empty, effects)
            }
            Command::Enqueue { groups, message } => self.enqueue(stamp, &groups, message, None, effects),
            Command::EnqueueOnce { groups, message, identity } => {
                self.enqueue(stamp, &groups, message, Some(&identity), effects)
            }
            Command::PurgeGroup { group } => self.in_group(stamp, group, effects, Group::purge),
            Command::Attach { group, member } => {
                self.in_group(stamp, group, effects, |group, context| group.attach(context, &member))
            }
            Command::Detach { group, member, unacked } => {
                self.in_group(stamp, group, effects, |group, context| group.detach(context, member, unacked))
            }
            Command::Pause { group, member } => self.in_group(stamp, group, effects, |group, _| group.pause(member)),
            Command::Resume { group, member, owner, messages } => {
                self.in_group(stamp, group, effects, |group, context| {
                    group.resume(context.now(), member, owner, messages)
                })
            }
            Command::SetWindow { group, member, messages } => {
                self.in_group(stamp, group, effects, |group, _| group.set_window(member, messages))
            }
            Command::Grant { group, member, messages, bytes } => {
                self.in_group(stamp, group, effects, |group, _| group.grant(member, messages, bytes))
            }
            Command::Settle { group, member, deliveries, outcome } => {
                self.in_group(stamp, group, effects, |group, context| {
                    group.settle(context, member, &deliveries, outcome)
                })
            }
            Command::Tick => self.tick(stamp, effects),
            Command::Get { group, owner, settled } => {
                self.in_group(stamp, group, effects, |group, context| group.get(context, owner, settled))
            }
        }
    }

    fn snapshot(&self, out: &mut BytesMut) {
        crate::snapshot::encode(self, out);
    }

    fn restore(snapshot: &mut Bytes) -> Result<Self, CorruptBytes> {
        crate::snapshot::decode(snapshot)
    }
}

impl Partition {
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

    /// When the partition wants a [`Command::Tick`] at the latest; `None`: nothing waits for time to pass. It may be
    /// early: then the tick changes nothing, and the next deadline is later.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first()
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

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use braid_types::LogIndex;

    use super::*;
    use crate::{Credit, MemberConfig, MessageHeader, Owner, Refused};

    const GROUP: GroupId = GroupId(1);
    const OTHER: GroupId = GroupId(2);

    fn apply(partition: &mut Partition, index: u64, command: Command) -> (Reply, Vec<Effect>) {
        let mut effects = Vec::new();
        let stamp = Stamp { index: LogIndex(index), ..Stamp::default() };
        let reply = partition.apply(stamp, command, &mut effects);
        (reply, effects)
    }

    fn enqueue(group: GroupId) -> Command {
        let message = MessageHeader { size_bytes: 1, priority: 0, expires_at: None, address: None };
        Command::Enqueue { groups: [group].into_iter().collect(), message }
    }

    #[test]
    fn a_broken_invariant_stops_one_group_which_keeps_its_messages() {
        let mut partition = Partition::default();
        for group in [GROUP, OTHER] {
            apply(&mut partition, group.0, Command::CreateGroup { group, config: Box::default() });
        }
        let credit = Credit::Window { messages: 1 };
        let member = MemberConfig { owner: Owner::default(), credit, priority: 0, exclusive: false, filter: None };
        let (reply, _) = apply(&mut partition, 3, Command::Attach { group: GROUP, member: Box::new(member) });
        let Reply::Attached { member } = reply else { panic!("{reply:?}") };
        // A fault that this crate would have to make itself: the member stands in line and does not know it.
        partition.groups.get_mut(&GROUP).unwrap().members.get_mut(member).unwrap().turn = None;
        assert_eq!(apply(&mut partition, 4, enqueue(GROUP)), (Reply::Enqueued { groups: 1 }, Vec::new()));
        let view = partition.group(GROUP).unwrap();
        assert!(view.fault().is_some());
        assert_eq!((view.ready(), view.unacked()), (1, 0));
        assert_eq!(apply(&mut partition, 6, enqueue(GROUP)).0, Reply::Refused(Refused::Faulted));
        assert_eq!(apply(&mut partition, 7, enqueue(OTHER)).0, Reply::Enqueued { groups: 1 });
        let mut snapshot = BytesMut::new();
        partition.snapshot(&mut snapshot);
        let mut restored = Partition::restore(&mut snapshot.freeze()).unwrap();
        assert!(restored.group(GROUP).unwrap().fault().is_some());
        let delete = Command::DeleteGroup { group: GROUP, if_unused: false, if_empty: false };
        assert_eq!(apply(&mut restored, 8, delete).0, Reply::Removed { message_count: 1 });
    }
}
