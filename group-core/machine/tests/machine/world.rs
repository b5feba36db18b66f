//! The machine and the model side by side: takes steps, compares, and keeps the log.

use std::collections::{BTreeMap, BTreeSet};

use braid_machine::{Command, Credit, Effect, GroupConfig, Partition, Reply, invariants};
use braid_types::{DeliveryId, GroupId, LogIndex, Machine, MemberId, MessageId, Stamp, Term, Timestamp};
use bytes::{Bytes, BytesMut};

use crate::actions::{Action, Made, nth_back};
use crate::model::Model;

/// A command of the log, with what it answered and caused.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) stamp: Stamp,
    pub(crate) command: Command,
    pub(crate) reply: Reply,
    pub(crate) effects: Vec<Effect>,
}

/// Machine, model, and what an observer of the effects knows.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) machine: Partition,
    pub(crate) log: Vec<Logged>,
    model: Model,
    index: u64,
    position: u32,
    time: u64,
    members: Vec<(GroupId, MemberId)>,
    made: Vec<Made>,
    next_delivery: BTreeMap<(GroupId, MemberId), u64>,
    published: BTreeSet<MessageId>,
    forgotten: BTreeSet<MessageId>,
    kept: Vec<MessageId>,
}

impl World {
    /// With groups 0, 1 ... of these settings.
    pub(crate) fn new(configs: &[GroupConfig]) -> Self {
        let mut world = Self::default();
        for (config, group) in configs.iter().zip(0..) {
            world.command(Command::CreateGroup { group: GroupId(group), config: Box::new(config.clone()) });
        }
        world
    }

    /// Takes a step.
    pub(crate) fn step(&mut self, action: &Action) {
        match action {
            Action::Plain(command) => self.command(command.clone()),
            Action::Wait(milliseconds) => self.time += milliseconds,
            Action::MeetDeadline => {
                self.time = self.machine.next_deadline().map_or(self.time, |next| self.time.max(next.0));
                self.command(Command::Tick);
            }
            Action::Member { back, what } => {
                if let Some((group, member)) = nth_back(&self.members, *back) {
                    self.command(what.command(group, member));
                }
            }
            Action::Settle { backs, outcome } => self.settle(backs, *outcome),
            Action::EndDeadLetters { group, backs } => {
                let messages = backs.iter().filter_map(|back| nth_back(&self.kept, *back)).collect();
                self.command(Command::EndDeadLetters { group: *group, messages });
            }
        }
    }

    fn settle(&mut self, backs: &[usize], outcome: braid_types::Outcome) {
        let Some((group, member, _)) = backs.first().and_then(|back| nth_back(&self.made, *back)) else { return };
        let named = backs.iter().filter_map(|back| nth_back(&self.made, *back));
        let deliveries = named.map(|(_, _, delivery)| delivery).collect();
        self.command(Command::Settle { group, member, deliveries, outcome });
    }

    /// Applies a command to both, compares, and checks everything that must hold.
    pub(crate) fn command(&mut self, command: Command) {
        // Entries of one to three commands.
        self.position = if self.position < 2 && !self.log.len().is_multiple_of(3) { self.position + 1 } else { 0 };
        self.index += u64::from(self.position == 0);
        let stamp =
            Stamp { index: LogIndex(self.index), position: self.position, term: Term(1), time: Timestamp(self.time) };
        let mut effects = Vec::new();
        let reply = self.machine.apply(stamp, command.clone(), &mut effects);
        let expected = self.model.apply(stamp, command.clone());
        assert_eq!((reply, &effects), (expected.0, &expected.1), "machine (left) and model (right) on {command:?}");
        if let Err(what) = invariants::check(&self.machine) {
            panic!("after {command:?}: {what}");
        }
        self.observe(stamp, &command, reply, &effects);
        self.log.push(Logged { stamp, command, reply, effects });
    }

    fn observe(&mut self, stamp: Stamp, command: &Command, reply: Reply, effects: &[Effect]) {
        if *command == Command::Tick {
            let next = self.machine.next_deadline();
            assert!(next.is_none_or(|next| next > stamp.time), "a deadline was not met");
        }
        if let Command::Enqueue { .. } | Command::EnqueueOnce { .. } = command {
            self.published.insert(MessageId { index: stamp.index, position: stamp.position });
        }
        if let (Reply::Attached { member }, Command::Attach { group, .. }) = (reply, command) {
            self.members.push((*group, member));
        }
        if let (Reply::Got { taken: Some(taken) }, Command::Get { group, settled, .. }) = (reply, command) {
            self.members.push((*group, taken.member));
            if !settled {
                self.made.push((*group, taken.member, taken.delivery));
            }
        }
        for effect in effects {
            match effect {
                Effect::Deliver { group, member, delivery, message, .. } => {
                    let next = self.next_delivery.entry((*group, *member)).or_insert(0);
                    assert_eq!(delivery.0, *next, "delivery ids are contiguous per member");
                    *next += 1;
                    assert!(!self.forgotten.contains(message), "a forgotten message was delivered");
                    self.made.push((*group, *member, *delivery));
                    self.check_window(*group, *member);
                }
                Effect::Dropped { group, message, reason, delivery_count, kept: true } => {
                    let letter = (*message, *reason, *delivery_count);
                    assert!(
                        self.machine.dead_letters(*group).any(|other| other == letter),
                        "a dead letter was not kept"
                    );
                    self.kept.push(*message);
                }
                Effect::Forget { message } => {
                    assert!(self.published.contains(message), "a message was forgotten that never was");
                    assert!(self.forgotten.insert(*message), "a message was forgotten twice");
                }
                _ => {}
            }
        }
        let live: BTreeSet<MessageId> = self.machine.live_messages().collect();
        let expected: BTreeSet<MessageId> = self.published.difference(&self.forgotten).copied().collect();
        assert_eq!(live, expected, "live messages are those published and not forgotten");
    }

    /// A member that was just sent something is within its window.
    fn check_window(&self, group: GroupId, member: MemberId) {
        let view = self.machine.group(group).expect("it delivered");
        if let Some(member) = view.members().find(|view| view.id == member)
            && let Credit::Window { messages } = member.credit
        {
            assert!(messages == 0 || member.unacked <= u64::from(messages), "a window was overrun");
        }
    }

    /// The machine's snapshot.
    pub(crate) fn snapshot(&self) -> Bytes {
        snapshot(&self.machine)
    }

    /// All deliveries ever made.
    pub(crate) fn made(&self) -> &[(GroupId, MemberId, DeliveryId)] {
        &self.made
    }
}

/// A machine's snapshot.
pub(crate) fn snapshot(machine: &Partition) -> Bytes {
    let mut out = BytesMut::new();
    machine.snapshot(&mut out);
    out.freeze()
}
