//! QoS 1 and 2 deliveries to the client: those in flight, by packet identifier, and those that wait for a place.
//!
//! ```text
//! wait ──send──▶ AwaitAck ──PUBACK──▶ done                      (QoS 1)
//!      ──send──▶ AwaitReceived ──PUBREC──▶ AwaitComplete ──PUBCOMP──▶ done   (QoS 2)
//! ```
//!
//! Invariants: at most `window` deliveries are open at a time (Receive Maximum, MQTT-3.3.4-9); identifiers are given in
//! a circle, so an identifier comes again as late as possible; what waits is sent in the order in which it came.

mod ring;
mod waiting;

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use braid_types::{DeliveryKey, InFlight, InFlightStage, Message, Properties, SubscriptionId};

pub(crate) use ring::Ring;
pub(crate) use waiting::{Next, Waiting};

/// A QoS 1 or 2 delivery.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one delivery")]
pub(crate) struct Outgoing {
    pub(crate) message: Arc<Message>,
    /// The neutral properties of a message of another protocol.
    pub(crate) properties: Option<Arc<Properties>>,
    /// How to settle it.
    pub(crate) key: Option<DeliveryKey>,
    /// The key is one of the session's own group, which keeps the message over a reconnect.
    pub(crate) is_session: bool,
    pub(crate) subscription: SubscriptionId,
    pub(crate) others: Option<Box<[SubscriptionId]>>,
    /// 1 or 2.
    pub(crate) qos: u8,
    /// The retain flag.
    pub(crate) retain: bool,
    /// It is the retained message of its topic, for a new subscription.
    pub(crate) is_retained: bool,
    /// Another member may have seen it: it carries DUP from its first sending on (SPEC, promise P5).
    pub(crate) redelivered: bool,
    /// Failed tries so far.
    pub(crate) delivery_count: u32,
}

impl Outgoing {
    /// The stage in which it is after it was sent.
    pub(crate) fn first_stage(&self) -> InFlightStage {
        if self.qos == 2 { InFlightStage::AwaitReceived } else { InFlightStage::AwaitAck }
    }

    /// From what an earlier connection left. The retain flag of a copy that was sent for a new subscription is not part
    /// of that state, so it is given as retain as published has it.
    pub(crate) fn restore(old: InFlight) -> Self {
        Self {
            retain: false,
            is_retained: false,
            is_session: old.key.is_some(),
            key: old.key,
            subscription: old.subscription,
            others: (!old.others.is_empty()).then(|| old.others.into_boxed_slice()),
            qos: if old.stage == InFlightStage::AwaitAck { 1 } else { 2 },
            message: old.message,
            properties: old.properties,
            redelivered: false,
            delivery_count: 0,
        }
    }

    /// What to keep of it. Packet identifier 0: it was never sent.
    pub(crate) fn to_session(&self, packet_id: u16, stage: InFlightStage) -> InFlight {
        InFlight {
            packet_id,
            stage,
            key: self.key.filter(|_| self.is_session),
            subscription: self.subscription,
            others: self.others.as_deref().map(Vec::from).unwrap_or_default(),
            message: Arc::clone(&self.message),
            properties: self.properties.clone(),
        }
    }

    /// Bytes that it is counted with.
    pub(crate) fn size_bytes(&self) -> usize {
        self.message.size_bytes().saturating_add(self.message.key.len())
    }
}
