//! Why the broker did not do what a client asked. Each endpoint turns the kind into its protocol's code.

use alloc::string::String;

/// The kind of a refusal; endpoints map it to reply codes (AMQP), reason codes (MQTT) and `-ERR` (NATS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// No such exchange, group, binding or vhost (AMQP 404).
    NotFound,
    /// It exists with other arguments, is in use, or is not empty (AMQP 406).
    PreconditionFailed,
    /// The user may not (AMQP 403).
    AccessRefused,
    /// It belongs to another connection (AMQP 405).
    ResourceLocked,
    /// The request makes no sense here (AMQP 530).
    NotAllowed,
    /// Well formed, but this broker does not do it (AMQP 540).
    NotImplemented,
    /// A named limit is reached (AMQP 506).
    LimitReached,
    /// No leader, busy, or shutting down: try again later (AMQP 506).
    Unavailable,
    /// The credentials are wrong (AMQP 403 on the connection).
    BadCredentials,
    /// A broken invariant or a fault of the disk (AMQP 541).
    Internal,
}

/// A refusal with a text for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// For people, in RabbitMQ's shape without the code's name: `no queue 'x' in vhost '/'`.
    pub text: String,
}

impl Refusal {
    /// A refusal of `kind` with `text`.
    #[must_use]
    pub fn new(kind: RefusalKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}
