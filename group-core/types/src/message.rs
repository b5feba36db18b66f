//! The message, kept in the form it came in (SPEC section 5). Never converted here: who needs another protocol's view
//! of it asks the origin's crate for [`crate::Properties`].
//!
//! Invariant: `key`, `header` and `body` are the publisher's bytes, verbatim; all are slices, nothing is copied.

use bytes::Bytes;

use crate::{ConnectionId, Timestamp};

/// The client protocol that something came from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// AMQP 0-9-1.
    Amqp,
    /// MQTT 3.1, 3.1.1 or 5.0.
    Mqtt,
    /// The NATS client protocol.
    Nats,
}

/// A published message. Shared by reference count between all that hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The protocol that `key` and `header` are written in.
    pub origin: Protocol,
    /// The exchange it was published to; `amq.topic` for MQTT and NATS, empty for AMQP's default exchange.
    pub exchange: Bytes,
    /// Routing key, topic name or subject, in the origin's notation.
    pub key: Bytes,
    /// The origin's header block: AMQP property flags and property list; MQTT 5 property bytes without their length
    /// (empty for MQTT 3); NATS header block from `NATS/1.0` to the empty line (empty without headers).
    pub header: Bytes,
    /// NATS reply subject; empty when there is none. (AMQP and MQTT carry theirs in `header`.)
    pub reply: Bytes,
    /// The body.
    pub body: Bytes,
    /// Quality of service of the publish: MQTT's 0, 1 or 2; AMQP and NATS publishes are 1.
    pub qos: u8,
    /// MQTT's retain flag.
    pub retain: bool,
    /// Message priority, 0 to 255; groups clamp it to their levels.
    pub priority: u8,
    /// When it expires (wall clock), if it does.
    pub expires_at: Option<Timestamp>,
    /// When the broker read it (wall clock).
    pub received_at: Timestamp,
    /// The connection that published it (for no-local).
    pub publisher: ConnectionId,
}

impl Message {
    /// An empty message of `origin` without properties, to be filled in with struct update syntax.
    #[must_use]
    pub fn empty(origin: Protocol) -> Self {
        Self {
            origin,
            exchange: Bytes::new(),
            key: Bytes::new(),
            header: Bytes::new(),
            reply: Bytes::new(),
            body: Bytes::new(),
            qos: 1,
            retain: false,
            priority: 0,
            expires_at: None,
            received_at: Timestamp(0),
            publisher: ConnectionId(0),
        }
    }

    /// Bytes that the message holds: header and body, as the length limits of groups count them.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.header.len() + self.body.len()
    }
}
