//! The neutral view of a message, made by the crate of its origin. The only place that knows all three.

use std::sync::Arc;

use braid_types::{Message, Properties, Protocol};

/// The neutral properties of `message`.
pub(crate) fn neutral(message: &Message) -> Properties {
    match message.origin {
        Protocol::Amqp => braid_amqp::properties::neutral(message),
        Protocol::Mqtt => braid_mqtt::neutral(message),
        Protocol::Nats => braid_nats::neutral(message),
    }
}

/// The neutral properties for a receiver that speaks `protocol`: only made when the origin is another.
pub(crate) fn for_receiver(message: &Message, protocol: Protocol) -> Option<Arc<Properties>> {
    (message.origin != protocol).then(|| Arc::new(neutral(message)))
}
