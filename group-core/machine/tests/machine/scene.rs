//! A partition with a short way to say what happens to it, for the named scenarios.

use std::sync::atomic::{AtomicU32, Ordering};

use braid_machine::{
    Command, Credit, DropReason, Effect, GroupConfig, MemberConfig, MemberView, MessageHeader, OnLoss, Owner,
    Partition, Reply, invariants,
};
use braid_types::{
    Address, ConnectionId, DeliveryId, Filter, GroupId, LogIndex, Machine, MemberId, MessageId, Outcome, Protocol,
    Stamp, Term, Timestamp, UnackedOnEnd,
};

/// The group of most scenarios.
pub(crate) const GROUP: GroupId = GroupId(1);

static ATTACHMENT: AtomicU32 = AtomicU32::new(0);

/// What a member was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) member: MemberId,
    pub(crate) message: u64,
    pub(crate) delivery: DeliveryId,
    pub(crate) redelivered: bool,
    pub(crate) delivery_count: u32,
    pub(crate) settled: bool,
}

/// A partition, and what came of the last command.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    pub(crate) machine: Partition,
    pub(crate) effects: Vec<Effect>,
    pub(crate) time_ms: u64,
    index: u64,
}

impl Scene {
    /// With one group.
    pub(crate) fn new(config: GroupConfig) -> Self {
        let mut scene = Self::default();
        scene.apply(Command::CreateGroup { group: GROUP, config: Box::new(config) });
        scene
    }

    pub(crate) fn apply(&mut self, command: Command) -> Reply {
        self.index += 1;
        self.effects.clear();
        let stamp = Stamp { index: LogIndex(self.index), position: 0, term: Term(1), time: Timestamp(self.time_ms) };
        let reply = self.machine.apply(stamp, command, &mut self.effects);
        invariants::check(&self.machine).expect("invariants");
        reply
    }

    /// Publishes and says which message it is: its entry's index.
    pub(crate) fn publish(&mut self, message: MessageHeader) -> u64 {
        self.apply(Command::Enqueue { groups: [GROUP].into_iter().collect(), message });
        self.index
    }

    pub(crate) fn publish_plain(&mut self) -> u64 {
        self.publish(header())
    }

    pub(crate) fn publish_to(&mut self, topic: &str) -> u64 {
        self.publish(MessageHeader { address: Some(address(topic)), ..header() })
    }

    pub(crate) fn attach(&mut self, member: MemberConfig) -> MemberId {
        match self.apply(Command::Attach { group: GROUP, member: Box::new(member) }) {
            Reply::Attached { member } => member,
            other => panic!("not attached: {other:?}"),
        }
    }

    pub(crate) fn settle(&mut self, member: MemberId, deliveries: &[u64], outcome: Outcome) -> Reply {
        let deliveries = deliveries.iter().map(|delivery| DeliveryId(*delivery)).collect();
        self.apply(Command::Settle { group: GROUP, member, deliveries, outcome })
    }

    pub(crate) fn detach(&mut self, member: MemberId, unacked: UnackedOnEnd) -> Reply {
        self.apply(Command::Detach { group: GROUP, member, unacked })
    }

    /// Time passes, and the partition is told.
    pub(crate) fn tick(&mut self, time_ms: u64) {
        self.time_ms = time_ms;
        self.apply(Command::Tick);
    }

    /// What the last command sent, in order.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        let sent = self.effects.iter().filter_map(|effect| match *effect {
            Effect::Deliver { member, delivery, message, redelivered, delivery_count, settled, .. } => {
                Some(Sent { member, message: message.index.0, delivery, redelivered, delivery_count, settled })
            }
            _ => None,
        });
        sent.collect()
    }

    /// Which messages the last command sent to which members.
    pub(crate) fn pairs(&self) -> Vec<(MemberId, u64)> {
        self.sent().into_iter().map(|sent| (sent.member, sent.message)).collect()
    }

    /// Which messages the last command dropped, and why.
    pub(crate) fn dropped(&self) -> Vec<(u64, DropReason)> {
        let dropped = self.effects.iter().filter_map(|effect| match effect {
            Effect::Dropped { message, reason, .. } => Some((message.index.0, *reason)),
            _ => None,
        });
        dropped.collect()
    }

    /// Which messages the last command dropped and kept as dead letters, and why.
    pub(crate) fn kept(&self) -> Vec<(u64, DropReason)> {
        let kept = self.effects.iter().filter_map(|effect| match effect {
            Effect::Dropped { message, reason, kept: true, .. } => Some((message.index.0, *reason)),
            _ => None,
        });
        kept.collect()
    }

    /// Which messages the last command let go of.
    pub(crate) fn forgotten(&self) -> Vec<u64> {
        let forgotten = self.effects.iter().filter_map(|effect| match effect {
            Effect::Forget { message } => Some(message.index.0),
            _ => None,
        });
        forgotten.collect()
    }

    pub(crate) fn member(&self, id: MemberId) -> MemberView<'_> {
        let group = self.machine.group(GROUP).expect("the group");
        group.members().find(|member| member.id == id).expect("the member")
    }

    /// Ready and unacked messages.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let group = self.machine.group(GROUP).expect("the group");
        (group.ready(), group.unacked())
    }
}

/// A member with a window, and with an owner of its own.
pub(crate) fn windowed(messages: u32) -> MemberConfig {
    let owner = Owner { node: 1, connection: ConnectionId(1), attachment: ATTACHMENT.fetch_add(1, Ordering::Relaxed) };
    MemberConfig {
        owner,
        credit: Credit::Window { messages },
        priority: 0,
        exclusive: false,
        filter: None,
        on_loss: OnLoss::Detach(Outcome::Modified),
    }
}

/// A member whose deliveries are settled by being made.
pub(crate) fn granted(messages: u32, bytes: u64) -> MemberConfig {
    MemberConfig { credit: Credit::Granted { messages, bytes }, ..windowed(0) }
}

/// A member with a filter.
pub(crate) fn filtered(filter: &str, messages: u32) -> MemberConfig {
    let filter = Filter::from_notation(Protocol::Mqtt, filter.as_bytes()).expect("a filter");
    MemberConfig { filter: Some(filter), ..windowed(messages) }
}

pub(crate) fn address(topic: &str) -> Address {
    Address::from_notation(Protocol::Mqtt, topic.as_bytes()).expect("a topic")
}

/// 10 bytes, priority 0, no expiry and no address.
pub(crate) fn header() -> MessageHeader {
    MessageHeader { size_bytes: 10, priority: 0, expires_at: None, address: None }
}

/// The message of an entry.
pub(crate) fn message(index: u64) -> MessageId {
    MessageId { index: LogIndex(index), position: 0 }
}
