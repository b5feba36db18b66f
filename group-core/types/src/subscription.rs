//! Subscribing: an AMQP consumer, an MQTT subscription and a NATS subscription are one request.

use bytes::Bytes;

use crate::{Outcome, SubscriptionId, Ticket};

/// What a subscription takes messages from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A group by its name (AMQP consume, MQTT `$queue/N`, NATS `SUB $queue.N q`): unfiltered.
    Group {
        /// The name.
        name: Bytes,
    },
    /// All messages whose address matches, in the endpoint's own notation.
    Filter {
        /// MQTT topic filter without its `$share/N/` prefix, or NATS subject.
        filter: Bytes,
        /// MQTT share name or NATS queue group; `None`: a subscription of the client alone.
        share: Option<Bytes>,
    },
}

/// When deliveries to a subscription count as done, and how many may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// With their hand-off to the connection (AMQP no-ack, QoS 0, core NATS).
    HandOff,
    /// When the client acknowledges; at most `messages` open at a time (0: unlimited).
    Acknowledged {
        /// The window.
        messages: u32,
    },
}

/// Whether retained messages are sent for a new subscription (MQTT 5, 3.8.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetainedDelivery {
    /// Never.
    Skip,
    /// At each subscribe.
    Always,
    /// Only if the subscription did not exist.
    IfNew,
}

/// What becomes of deliveries that are open when their subscription ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnackedOnEnd {
    /// They stay with the connection, which may still settle them (AMQP cancel).
    Keep,
    /// They end like this.
    Settle(Outcome),
}

/// A client subscribes.
#[derive(Clone, Debug)]
pub struct Subscribe {
    /// For the answer.
    pub ticket: Ticket,
    /// Chosen by the endpoint. An MQTT endpoint that subscribes again to the same filter uses the same id: options change.
    pub subscription: SubscriptionId,
    /// Where from.
    pub source: Source,
    /// When deliveries count as done.
    pub settlement: Settlement,
    /// Granted quality of service (MQTT); 0 for core NATS; 1 for AMQP.
    pub qos: u8,
    /// No other consumer beside this one (AMQP).
    pub exclusive: bool,
    /// Consumer priority (AMQP `x-priority`); higher first.
    pub priority: i32,
    /// Not what this connection published itself.
    pub no_local: bool,
    /// Retained messages at subscribe.
    pub retained: RetainedDelivery,
    /// What becomes of unacked deliveries when the connection is lost.
    pub on_loss: Outcome,
    /// AMQP consumer tag, MQTT client id or NATS sid, for listings.
    pub label: Bytes,
}
