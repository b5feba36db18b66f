//! What a group's arguments mean, parsed once when it is declared. Absent stays absent: policies may fill it later.

use braid_types::{HeaderValue, Headers};
use bytes::Bytes;

use crate::{StorageClass, arguments::find, limits::QUORUM_DELIVERY_LIMIT};

/// What happens to a publish that a full group cannot take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The oldest message goes.
    #[default]
    DropHead,
    /// The publish is refused.
    RejectPublish,
    /// The publish is refused and dead-lettered.
    RejectPublishDeadLetter,
}

/// How surely a message is dead-lettered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadLetterStrategy {
    /// It may be lost on the way.
    #[default]
    AtMostOnce,
    /// It leaves the group when its target has confirmed.
    AtLeastOnce,
}

/// The settings of a group (SPEC section 3, Limits).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupOptions {
    /// Time to live of its messages in milliseconds (`x-message-ttl`).
    pub message_ttl_ms: Option<u64>,
    /// Milliseconds without use after which it goes (`x-expires`).
    pub expires_ms: Option<u64>,
    /// Most ready messages (`x-max-length`).
    pub max_length: Option<u64>,
    /// Most bytes of ready messages (`x-max-length-bytes`).
    pub max_length_bytes: Option<u64>,
    /// What happens beyond them (`x-overflow`).
    pub overflow: Overflow,
    /// Where its dead letters go (`x-dead-letter-exchange`); the empty name is the default exchange.
    pub dead_letter_exchange: Option<Bytes>,
    /// With which key (`x-dead-letter-routing-key`); absent: the message's own.
    pub dead_letter_routing_key: Option<Bytes>,
    /// How surely (`x-dead-letter-strategy`).
    pub dead_letter_strategy: DeadLetterStrategy,
    /// Failed tries allowed (`x-delivery-limit`); `None`: unlimited. 20 by default on AMQP-declared quorum groups.
    pub delivery_limit: Option<u32>,
    /// Highest priority (`x-max-priority`).
    pub max_priority: Option<u8>,
    /// One consumer at a time (`x-single-active-consumer`).
    pub single_active_consumer: bool,
    /// Replicas at birth (`x-quorum-initial-group-size`).
    pub initial_group_size: Option<u32>,
    /// Milliseconds that a delivery may stay unacknowledged (`x-consumer-timeout`).
    pub consumer_timeout_ms: Option<u64>,
}

impl GroupOptions {
    /// Reads arguments that were checked. A value that does not fit its meaning counts as absent.
    pub(crate) fn from_arguments(arguments: &Headers, class: StorageClass) -> Self {
        let number = |name: &str| integer(arguments, name).and_then(|value| u64::try_from(value).ok());
        let delivery_limit = match integer(arguments, "x-delivery-limit") {
            Some(limit) => u32::try_from(limit).ok(),
            None if class == StorageClass::Quorum => Some(QUORUM_DELIVERY_LIMIT),
            None => None,
        };
        Self {
            message_ttl_ms: number("x-message-ttl"),
            expires_ms: number("x-expires"),
            max_length: number("x-max-length"),
            max_length_bytes: number("x-max-length-bytes"),
            overflow: match text(arguments, "x-overflow").as_deref() {
                Some(b"reject-publish") => Overflow::RejectPublish,
                Some(b"reject-publish-dlx") => Overflow::RejectPublishDeadLetter,
                _ => Overflow::DropHead,
            },
            dead_letter_exchange: text(arguments, "x-dead-letter-exchange"),
            dead_letter_routing_key: text(arguments, "x-dead-letter-routing-key"),
            dead_letter_strategy: match text(arguments, "x-dead-letter-strategy").as_deref() {
                Some(b"at-least-once") => DeadLetterStrategy::AtLeastOnce,
                _ => DeadLetterStrategy::AtMostOnce,
            },
            delivery_limit,
            max_priority: integer(arguments, "x-max-priority").and_then(|value| u8::try_from(value).ok()),
            single_active_consumer: find(arguments, "x-single-active-consumer") == Some(&HeaderValue::Boolean(true)),
            initial_group_size: integer(arguments, "x-quorum-initial-group-size")
                .and_then(|value| u32::try_from(value).ok()),
            consumer_timeout_ms: number("x-consumer-timeout"),
        }
    }
}

fn integer(arguments: &Headers, name: &str) -> Option<i64> {
    match find(arguments, name) {
        Some(HeaderValue::Integer(value)) => Some(*value),
        _ => None,
    }
}

fn text(arguments: &Headers, name: &str) -> Option<Bytes> {
    match find(arguments, name) {
        Some(HeaderValue::Text(value)) => Some(value.clone()),
        _ => None,
    }
}
