//! The machine of a partition: its groups, and what they share.
//!
//! `apply` is one match. It is total: every decodable command has a reply and changes the same on every replica. Never
//! reads a clock (time is the stamp's), never iterates a hash map for output.

use alloc::boxed::Box;
use alloc::vec::Vec;

use braid_types::{CorruptBytes, GroupId, Machine, Stamp, Timestamp};
use bytes::{Bytes, BytesMut};

use crate::attachments::Attachments;
use crate::deadlines::Deadlines;
use crate::doomed::Doomed;
use crate::group::Group;
use crate::group_sets::GroupSets;
use crate::hasher::FixedMap;
use crate::references::References;
use crate::{Command, Effect, Reply};

mod enqueue;
mod lifecycle;
mod lost;
mod parts;
mod queries;

/// A partition: one log that carries many groups, and the state that follows from it.
#[derive(Debug, Default)]
pub struct Partition {
    /// Boxed, so that the map's free slots cost next to nothing and growing it moves no groups.
    pub(crate) groups: FixedMap<GroupId, Box<Group>>,
    pub(crate) group_sets: GroupSets,
    pub(crate) references: References,
    pub(crate) attachments: Attachments,
    pub(crate) deadlines: Deadlines,
    pub(crate) doomed: Doomed,
    /// The node that leads.
    pub(crate) leading: Option<u64>,
    /// Groups that were changed since they were last asked for; deleted ones too.
    pub(crate) changed: Vec<GroupId>,
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
        let reply = self.carry_out(stamp, command, effects);
        self.doomed.let_go(stamp.index, &mut self.references, effects);
        reply
    }

    fn snapshot(&self, out: &mut BytesMut) {
        crate::snapshot::encode(self, out);
    }

    fn restore(snapshot: &mut Bytes) -> Result<Self, CorruptBytes> {
        crate::snapshot::decode(snapshot)
    }
}

impl Partition {
    fn carry_out(&mut self, stamp: Stamp, command: Command, effects: &mut Vec<Effect>) -> Reply {
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
            Command::Pause { group, member } => {
                self.in_group(stamp, group, effects, |group, context| group.pause(context, member))
            }
            Command::Resume { group, member, owner, messages } => {
                self.in_group(stamp, group, effects, |group, context| group.resume(context, member, owner, messages))
            }
            Command::SetWindow { group, member, messages } => {
                self.in_group(stamp, group, effects, |group, context| group.set_window(context, member, messages))
            }
            Command::Grant { group, member, messages, bytes } => {
                self.in_group(stamp, group, effects, |group, context| group.grant(context, member, messages, bytes))
            }
            Command::Settle { group, member, deliveries, outcome } => {
                self.in_group(stamp, group, effects, |group, context| {
                    group.settle(context, member, &deliveries, outcome)
                })
            }
            Command::Tick => self.tick(stamp, effects),
            Command::Get { group, owner, settled, on_loss } => {
                self.in_group(stamp, group, effects, |group, context| group.get(context, owner, settled, on_loss))
            }
            Command::Configure { group, config } => {
                self.in_group(stamp, group, effects, |group, context| group.configure(context, *config))
            }
            Command::EndDeadLetters { group, messages } => {
                self.in_group(stamp, group, effects, |group, context| group.end_dead_letters(context, &messages))
            }
            Command::ConnectionLost { node, connection, kept, unsent } => {
                self.connection_lost(stamp, (node, connection), (kept.into_vec(), unsent), effects)
            }
            Command::NodeLost { node } => self.node_lost(stamp, node, effects),
            Command::Lead { node } => self.lead(node),
            Command::DefineGroupSet { set, groups } => self.group_sets.define(set, groups),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use braid_types::LogIndex;

    use super::*;
    use crate::{Credit, MemberConfig, MessageHeader, OnLoss, Owner, Refused};

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
        let member = MemberConfig {
            owner: Owner::default(),
            credit,
            priority: 0,
            exclusive: false,
            filter: None,
            on_loss: OnLoss::Pause,
        };
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
