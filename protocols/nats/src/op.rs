//! The operations that a client can send, as the parser gives them.
//!
//! Invariant: the parts of a [`PublishOp`] are slices of the read buffer; those of the others are copies, because they
//! live as long as a subscription does and must not pin a read buffer.

use bytes::Bytes;

/// `PUB` or `HPUB` with its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublishOp {
    /// The subject, never empty.
    pub subject: Bytes,
    /// The reply subject; empty when there is none.
    pub reply: Bytes,
    /// The header block, verbatim; empty for `PUB`.
    pub header: Bytes,
    /// The body.
    pub body: Bytes,
}

/// `SUB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubscribeOp {
    /// The subject, with wildcards.
    pub filter: Bytes,
    /// The queue group.
    pub queue: Option<Bytes>,
    /// The client's name for the subscription.
    pub sid: Bytes,
}

/// `UNSUB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnsubscribeOp {
    /// The client's name for the subscription.
    pub sid: Bytes,
    /// End it after so many messages since it began; 0 (also for a number that is none): now.
    pub messages_max: u64,
}

/// One operation. No `Debug`: [`Op::Connect`] holds secrets.
pub(crate) enum Op {
    /// `CONNECT` with its JSON text.
    Connect(Bytes),
    /// `PING`.
    Ping,
    /// `PONG`.
    Pong,
    /// `PUB` or `HPUB`.
    Publish(PublishOp),
    /// `SUB`.
    Subscribe(SubscribeOp),
    /// `UNSUB`.
    Unsubscribe(UnsubscribeOp),
    /// `+OK` or a valid `INFO`: harmless from a client.
    Nothing,
}
