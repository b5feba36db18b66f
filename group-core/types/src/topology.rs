//! Declaring exchanges, groups and bindings. Names and arguments are as the client wrote them; the catalog checks them.

use bytes::Bytes;

use crate::{Headers, Ticket};

/// How an exchange routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExchangeKind {
    /// By equal routing key.
    Direct,
    /// To all bound groups.
    Fanout,
    /// By patterns with `*` (one level) and `#` (zero or more).
    Topic,
    /// By header values.
    Headers,
}

impl ExchangeKind {
    /// The kind that AMQP calls `name`.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"direct" => Self::Direct,
            b"fanout" => Self::Fanout,
            b"topic" => Self::Topic,
            b"headers" => Self::Headers,
            _ => return None,
        })
    }

    /// AMQP's name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Fanout => "fanout",
            Self::Topic => "topic",
            Self::Headers => "headers",
        }
    }
}

/// A client declares an exchange.
#[expect(clippy::struct_excessive_bools, reason = "they are the flags of the protocol's method, one by one")]
#[derive(Clone, Debug)]
pub struct DeclareExchange {
    /// For the answer.
    pub ticket: Ticket,
    /// Its name.
    pub name: Bytes,
    /// AMQP's name of the kind, as the client wrote it.
    pub kind: Bytes,
    /// Only ask whether it exists.
    pub passive: bool,
    /// Outlives a restart.
    pub durable: bool,
    /// Goes with its last binding.
    pub auto_delete: bool,
    /// Cannot be published to.
    pub internal: bool,
    /// `x-` arguments.
    pub arguments: Headers,
}

/// A client declares a group (AMQP queue).
#[expect(clippy::struct_excessive_bools, reason = "they are the flags of the protocol's method, one by one")]
#[derive(Clone, Debug)]
pub struct DeclareGroup {
    /// For the answer.
    pub ticket: Ticket,
    /// Its name; empty: the broker makes one.
    pub name: Bytes,
    /// Only ask whether it exists.
    pub passive: bool,
    /// Outlives a restart.
    pub durable: bool,
    /// Belongs to this connection and goes with it.
    pub exclusive: bool,
    /// Goes with its last consumer.
    pub auto_delete: bool,
    /// `x-` arguments.
    pub arguments: Headers,
}

/// A client binds a group to an exchange, or undoes that.
#[derive(Clone, Debug)]
pub struct BindGroup {
    /// For the answer.
    pub ticket: Ticket,
    /// The group's name.
    pub group: Bytes,
    /// The exchange's name.
    pub exchange: Bytes,
    /// Routing key or pattern, in AMQP's notation.
    pub key: Bytes,
    /// Arguments (headers exchange).
    pub arguments: Headers,
}
