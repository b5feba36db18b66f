//! The queues of the test, what is routed to which, and who consumes them.
//!
//! | queue | class | fed by | members |
//! |---|---|---|---|
//! | `kill.classic` | disk | AMQP, default exchange | two AMQP, one of them quick |
//! | `kill.quorum` | quorum | AMQP, default exchange | two AMQP |
//! | `kill.topic` | disk | binding `kill.t.#`: AMQP, MQTT, NATS | one AMQP |
//! | `kg` | quorum | the same binding | one AMQP, and MQTT through `$share/kg/kill/t/#` |
//! | `kill.nats` | disk | the same binding | NATS through `$queue.kill.nats` |
//!
//! `kg` is declared, so that it is durable: a shared group that nobody declared lives as long as its sessions do, and
//! goes with them.

use braid_conformance::{Failure, within};
use lapin::{
    Channel, Queue as Declared,
    options::{QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};

/// Prefetch of an AMQP consumer, in messages.
pub(crate) const PREFETCH: u16 = 100;

/// Prefetch of one that is handed a second window, because it settles so few in no time.
const PREFETCH_QUICK: u16 = 2;

/// Receive Maximum of the MQTT member, in messages.
pub(crate) const RECEIVE_MAXIMUM: u16 = 50;

/// Window of a NATS member, which the broker sets, in messages. What was in it when the broker died may be lost.
pub(crate) const NATS_WINDOW: u32 = 1_000;

/// The binding, in three notations.
pub(crate) const BINDING: &str = "kill.t.#";
/// The MQTT member's subscription.
pub(crate) const SHARE: &str = "$share/kg/kill/t/#";
/// The NATS member's subscription.
pub(crate) const BY_NAME: &str = "$queue.kill.nats";

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Queue {
    Classic,
    Quorum,
    Topic,
    Shared,
    Nats,
}

impl Queue {
    /// All.
    pub(crate) const ALL: [Self; 5] = [Self::Classic, Self::Quorum, Self::Topic, Self::Shared, Self::Nats];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Classic => "kill.classic",
            Self::Quorum => "kill.quorum",
            Self::Topic => "kill.topic",
            Self::Shared => "kg",
            Self::Nats => "kill.nats",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Quorum | Self::Shared => "quorum",
            Self::Classic | Self::Topic | Self::Nats => "classic",
        }
    }

    /// The prefetch of each AMQP consumer that it has.
    pub(crate) fn prefetches(self) -> &'static [u16] {
        match self {
            Self::Classic => &[PREFETCH, PREFETCH_QUICK],
            Self::Quorum => &[PREFETCH, PREFETCH],
            Self::Topic | Self::Shared => &[PREFETCH],
            Self::Nats => &[],
        }
    }

    /// One of its members is quick enough to be handed a second window.
    pub(crate) fn has_quick_member(self) -> bool {
        self.prefetches().contains(&PREFETCH_QUICK)
    }

    /// What its members may hold together. Members whose acks are never known to be committed (MQTT, NATS) count twice:
    /// what they hold, and as much that they have acknowledged.
    pub(crate) fn windows(self) -> u64 {
        let amqp: u64 = self.prefetches().iter().map(|prefetch| u64::from(*prefetch)).sum();
        match self {
            Self::Classic | Self::Quorum | Self::Topic => amqp,
            Self::Shared => amqp + 2 * u64::from(RECEIVE_MAXIMUM),
            Self::Nats => 2 * u64::from(NATS_WINDOW),
        }
    }

    /// Declares it with its binding; says what it holds.
    pub(crate) async fn declare(self, channel: &Channel) -> Result<Declared, Failure> {
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString(self.kind().into()));
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let declared = channel.queue_declare(self.name().into(), options, arguments);
        let declared = within("queue.declare-ok", declared).await??;
        if Route::Topic.queues().contains(&self) {
            let (options, none) = (QueueBindOptions::default(), FieldTable::default());
            let bound = channel.queue_bind(self.name().into(), "amq.topic".into(), BINDING.into(), options, none);
            within("queue.bind-ok", bound).await??;
        }
        Ok(declared)
    }

    /// Asks what it holds. Its answer is a synchronous reply: what was acknowledged before on this channel is committed.
    pub(crate) async fn ask(self, channel: &Channel) -> lapin::Result<Declared> {
        let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(self.name().into(), options, FieldTable::default()).await
    }
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Classic,
    Quorum,
    Topic,
}

impl Route {
    /// The queues that it reaches.
    pub(crate) fn queues(self) -> &'static [Queue] {
        match self {
            Self::Classic => &[Queue::Classic],
            Self::Quorum => &[Queue::Quorum],
            Self::Topic => &[Queue::Topic, Queue::Shared, Queue::Nats],
        }
    }
}
