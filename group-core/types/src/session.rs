//! What is kept of an MQTT session between its connections. Plain data: it can be written to a log.
//!
//! The session's queue is a group of its own with one member; what is here is the part that only the endpoint
//! understands: packet ids and subscription options.

use alloc::{sync::Arc, vec::Vec};

use bytes::Bytes;

use crate::{DeliveryKey, Message, Properties, SubscriptionId};

/// A message to be published when a connection is lost (MQTT 3.1.2.5).
#[derive(Clone, Debug)]
pub struct Will {
    /// The message, with topic and properties.
    pub message: Arc<Message>,
    /// Seconds to wait before it is published.
    pub delay_s: u32,
}

/// A subscription of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSubscription {
    /// The endpoint's number for it.
    pub subscription: SubscriptionId,
    /// The topic filter as the client wrote it, `$share/N/` included.
    pub filter: Bytes,
    /// The options byte of SUBSCRIBE (QoS, no local, retain as published, retain handling).
    pub options: u8,
    /// MQTT 5 subscription identifier.
    pub identifier: Option<u32>,
}

/// How far a QoS 1 or 2 delivery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlightStage {
    /// QoS 1, waits for PUBACK.
    AwaitAck,
    /// QoS 2, waits for PUBREC.
    AwaitReceived,
    /// QoS 2, PUBREL sent, waits for PUBCOMP.
    AwaitComplete,
}

/// A delivery that the client has not finished.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// Its packet id, kept when it is sent again.
    pub packet_id: u16,
    /// How far it has come.
    pub stage: InFlightStage,
    /// How to settle it with the session's group.
    pub key: Option<DeliveryKey>,
    /// For which subscription.
    pub subscription: SubscriptionId,
    /// Further subscriptions that matched.
    pub others: Vec<SubscriptionId>,
    /// The message, to be sent again until PUBREC.
    pub message: Arc<Message>,
    /// Its neutral properties when its origin is not MQTT.
    pub properties: Option<Arc<Properties>>,
}

/// What a session keeps between connections.
#[derive(Clone, Debug, Default)]
pub struct SessionState {
    /// Its subscriptions, in the order in which they were made.
    pub subscriptions: Vec<SessionSubscription>,
    /// Deliveries not finished, in the order in which they were first sent.
    pub in_flight: Vec<InFlight>,
    /// Packet ids of QoS 2 publishes that the client has not released yet.
    pub unreleased: Vec<u16>,
    /// The next number for a subscription.
    pub next_subscription: u64,
}
