//! What a group's arguments mean, parsed once when it is declared. Absent stays absent: policies may fill it later.

use braid_types::{HeaderValue, Headers};
use bytes::Bytes;

use crate::{
    StorageClass,
    arguments::find,
    limits::{DELAYED_RETRY_LONGEST_DEFAULT_MS, DELAYED_RETRY_SHORTEST_DEFAULT_MS, QUORUM_DELIVERY_LIMIT},
};

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

/// Which member gets the next message (SPEC section 3, Dispatch).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DispatchStrategy {
    /// Each in turn.
    #[default]
    RoundRobin,
    /// The one with the fewest unacked deliveries.
    LeastUnacked,
    /// Any.
    Random,
    /// Those on the leader's node first.
    LocalFirst,
    /// Messages of one address go to one member at a time, in order.
    Key,
}

/// How long a message waits after a failed try: the shortest delay times the number of failed tries, up to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedRetry {
    /// The delay after the first failed try in milliseconds (`x-delayed-retry-min`).
    pub shortest_ms: u64,
    /// No delay is longer, in milliseconds (`x-delayed-retry-max`).
    pub longest_ms: u64,
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
    /// How surely (`x-dead-letter-strategy`): at least once only on a group that refuses publishes when it is full, as in
    /// RabbitMQ, for otherwise nothing bounds what waits.
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
    /// How long failed messages wait (`x-delayed-retry-type`, with `x-delayed-retry-min` and `x-delayed-retry-max`).
    pub delayed_retry: Option<DelayedRetry>,
    /// Which member is next (`x-dispatch-strategy`).
    pub dispatch_strategy: DispatchStrategy,
    /// Milliseconds for which the names of messages (`Nats-Msg-Id`) are remembered (`x-deduplication-window`).
    pub deduplication_window_ms: Option<u64>,
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
        let overflow = match text(arguments, "x-overflow").as_deref() {
            Some(b"reject-publish") => Overflow::RejectPublish,
            Some(b"reject-publish-dlx") => Overflow::RejectPublishDeadLetter,
            _ => Overflow::DropHead,
        };
        Self {
            message_ttl_ms: number("x-message-ttl"),
            expires_ms: number("x-expires"),
            max_length: number("x-max-length"),
            max_length_bytes: number("x-max-length-bytes"),
            overflow,
            dead_letter_exchange: text(arguments, "x-dead-letter-exchange"),
            dead_letter_routing_key: text(arguments, "x-dead-letter-routing-key"),
            dead_letter_strategy: match text(arguments, "x-dead-letter-strategy").as_deref() {
                Some(b"at-least-once") if overflow == Overflow::RejectPublish => DeadLetterStrategy::AtLeastOnce,
                _ => DeadLetterStrategy::AtMostOnce,
            },
            delivery_limit,
            max_priority: integer(arguments, "x-max-priority").and_then(|value| u8::try_from(value).ok()),
            single_active_consumer: find(arguments, "x-single-active-consumer") == Some(&HeaderValue::Boolean(true)),
            initial_group_size: integer(arguments, "x-quorum-initial-group-size")
                .and_then(|value| u32::try_from(value).ok()),
            consumer_timeout_ms: number("x-consumer-timeout"),
            delayed_retry: DelayedRetry::from_arguments(arguments),
            dispatch_strategy: DispatchStrategy::from_arguments(arguments),
            deduplication_window_ms: number("x-deduplication-window"),
        }
    }
}

impl DispatchStrategy {
    fn from_arguments(arguments: &Headers) -> Self {
        match text(arguments, "x-dispatch-strategy").as_deref() {
            Some(b"least_unacked") => Self::LeastUnacked,
            Some(b"random") => Self::Random,
            Some(b"local_first") => Self::LocalFirst,
            Some(b"key") => Self::Key,
            _ => Self::RoundRobin,
        }
    }
}

impl DelayedRetry {
    /// A delay without a type is meant: who names one wants it.
    fn from_arguments(arguments: &Headers) -> Option<Self> {
        let number = |name: &str| integer(arguments, name).and_then(|value| u64::try_from(value).ok());
        let (shortest, longest) = (number("x-delayed-retry-min"), number("x-delayed-retry-max"));
        let is_wanted = match text(arguments, "x-delayed-retry-type").as_deref() {
            Some(kind) => kind == b"failed",
            None => shortest.is_some() || longest.is_some(),
        };
        if !is_wanted {
            return None;
        }
        let longest_ms = longest.unwrap_or_else(|| shortest.unwrap_or(0).max(DELAYED_RETRY_LONGEST_DEFAULT_MS));
        let shortest_ms = shortest.unwrap_or_else(|| longest_ms.min(DELAYED_RETRY_SHORTEST_DEFAULT_MS));
        Some(Self { shortest_ms, longest_ms })
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
