//! The neutral view of a message's properties, for members of another protocol than the publisher's (SPEC section 5).
//!
//! Made only when a message crosses protocols. Absent stays absent. Order and duplicates of headers are kept.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::{Address, Timestamp};

/// Headers in order, duplicates kept.
pub type Headers = Vec<(Bytes, HeaderValue)>;

/// A typed header value. AMQP has all of them; MQTT and NATS have `Text` only.
#[derive(Clone, Debug, PartialEq)]
pub enum HeaderValue {
    /// AMQP `V`.
    Void,
    /// AMQP `t`.
    Boolean(bool),
    /// AMQP `b B s u I i l L`.
    Integer(i64),
    /// AMQP `f d`.
    Float(f64),
    /// AMQP `D`: value × 10^-scale.
    Decimal {
        /// Decimal places.
        scale: u8,
        /// Unscaled value.
        value: i32,
    },
    /// AMQP `S`; MQTT user property value; NATS header value.
    Text(Bytes),
    /// AMQP `x`.
    Binary(Bytes),
    /// AMQP `T`: seconds since the Unix epoch.
    TimestampS(u64),
    /// AMQP `A`.
    List(Vec<HeaderValue>),
    /// AMQP `F`.
    Table(Headers),
}

/// Where a reply goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyAddress {
    /// A group by name (AMQP `reply-to` is a queue of the default exchange).
    Group(Bytes),
    /// An address in the vhost's topic exchange (MQTT response topic, NATS reply subject).
    Topic(Address),
}

/// The neutral properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// MIME type of the body.
    pub content_type: Option<Bytes>,
    /// MIME encoding of the body.
    pub content_encoding: Option<Bytes>,
    /// Correlation data, any bytes.
    pub correlation: Option<Bytes>,
    /// Where a reply goes.
    pub reply: Option<ReplyAddress>,
    /// Application's id of the message.
    pub message_id: Option<Bytes>,
    /// Application's time of the message, seconds since the Unix epoch.
    pub timestamp_s: Option<u64>,
    /// When it expires (wall clock).
    pub expires_at: Option<Timestamp>,
    /// Priority, when the publisher gave one.
    pub priority: Option<u8>,
    /// Application's name of the message's type.
    pub kind: Option<Bytes>,
    /// Application's name of itself.
    pub application: Option<Bytes>,
    /// User that published, as the publisher claimed it.
    pub user: Option<Bytes>,
    /// Headers, user properties.
    pub headers: Headers,
    /// The body is UTF-8 text, as MQTT's payload format indicator 1 says.
    pub is_text: bool,
}
