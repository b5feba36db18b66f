//! The neutral view of a message, made by the crate of its origin. The only place that knows all three.

mod deaths;

use std::sync::Arc;

use braid_types::{DeadLetter, Death, IdentityError, Message, Properties, Protocol, PublisherIdentity};

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
    (message.origin != protocol).then(|| {
        let mut properties = neutral(message);
        deaths::translate(message, protocol, &mut properties.headers);
        Arc::new(properties)
    })
}

/// The message as it is to be published again after this death.
pub(crate) fn dead_letter(message: &Message, death: &Death) -> DeadLetter {
    match message.origin {
        Protocol::Amqp => braid_amqp::dead_letter(message, death),
        Protocol::Mqtt => braid_mqtt::dead_letter(message, death),
        Protocol::Nats => braid_nats::dead_letter(message, death),
    }
}

/// What makes the publish the same as an earlier one, if its publisher says so.
pub(crate) fn publish_identity(message: &Message) -> Result<Option<PublisherIdentity>, IdentityError> {
    match message.origin {
        Protocol::Amqp => braid_amqp::publish_identity(message),
        Protocol::Mqtt => braid_mqtt::publish_identity(message),
        Protocol::Nats => braid_nats::publish_identity(message),
    }
}
