//! What a client receives, the same for both versions.

use bytes::Bytes;
use rumqttc::{
    Packet as Packet4, Publish as Publish4, SubscribeReasonCode as Code4,
    v5::mqttbytes::v5::{Packet as Packet5, Publish as Publish5, PublishProperties, SubscribeReasonCode as Code5},
};

/// A received message.
#[derive(Clone, Debug)]
pub struct Publish {
    /// Its topic.
    pub topic: String,
    /// Its payload.
    pub payload: Bytes,
    /// Its `QoS`.
    pub qos: u8,
    /// Sent from the retained set.
    pub retain: bool,
    /// Sent before.
    pub dup: bool,
    /// Properties (version 5).
    pub properties: Option<PublishProperties>,
    pub(super) original: Original,
}

/// The library's own packet, which it wants back for an acknowledgement.
#[derive(Clone, Debug)]
pub(super) enum Original {
    V311(Publish4),
    V5(Publish5),
}

/// Any other packet that a test waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// CONNACK.
    Connected {
        /// The broker had kept the session.
        session_present: bool,
    },
    /// SUBACK: the granted `QoS` of each filter, `None` where it was refused.
    Subscribed(Vec<Option<u8>>),
    /// UNSUBACK.
    Unsubscribed,
    /// PUBACK, with the reason in the library's words.
    Acknowledged(String),
    /// PUBCOMP.
    Completed,
    /// DISCONNECT from the broker, with the reason in the library's words.
    Disconnected(String),
    /// The connection is gone, with the reason.
    Lost(String),
}

/// A packet, sorted.
pub(super) enum Sorted {
    Publish(Box<Publish>),
    Reply(Reply),
    Other,
}

impl From<Packet4> for Sorted {
    fn from(packet: Packet4) -> Self {
        Self::Reply(match packet {
            Packet4::Publish(publish) => return Self::Publish(Box::new(publish.into())),
            Packet4::ConnAck(ack) => Reply::Connected { session_present: ack.session_present },
            Packet4::SubAck(ack) => Reply::Subscribed(ack.return_codes.into_iter().map(granted4).collect()),
            Packet4::UnsubAck(_) => Reply::Unsubscribed,
            Packet4::PubAck(_) => Reply::Acknowledged("Success".to_owned()),
            Packet4::PubComp(_) => Reply::Completed,
            _ => return Self::Other,
        })
    }
}

impl From<Packet5> for Sorted {
    fn from(packet: Packet5) -> Self {
        Self::Reply(match packet {
            Packet5::Publish(publish) => return Self::Publish(Box::new(publish.into())),
            Packet5::ConnAck(ack) => Reply::Connected { session_present: ack.session_present },
            Packet5::SubAck(ack) => Reply::Subscribed(ack.return_codes.into_iter().map(granted5).collect()),
            Packet5::UnsubAck(_) => Reply::Unsubscribed,
            Packet5::PubAck(ack) => Reply::Acknowledged(format!("{:?}", ack.reason)),
            Packet5::PubComp(_) => Reply::Completed,
            Packet5::Disconnect(disconnect) => Reply::Disconnected(format!("{:?}", disconnect.reason_code)),
            _ => return Self::Other,
        })
    }
}

fn granted4(code: Code4) -> Option<u8> {
    match code {
        Code4::Success(qos) => Some(qos as u8),
        Code4::Failure => None,
    }
}

fn granted5(code: Code5) -> Option<u8> {
    match code {
        Code5::Success(qos) => Some(qos as u8),
        _ => None,
    }
}

impl From<Publish4> for Publish {
    fn from(publish: Publish4) -> Self {
        Self {
            topic: publish.topic.clone(),
            payload: publish.payload.clone(),
            qos: publish.qos as u8,
            retain: publish.retain,
            dup: publish.dup,
            properties: None,
            original: Original::V311(publish),
        }
    }
}

impl From<Publish5> for Publish {
    fn from(publish: Publish5) -> Self {
        Self {
            topic: String::from_utf8_lossy(&publish.topic).into_owned(),
            payload: publish.payload.clone(),
            qos: publish.qos as u8,
            retain: publish.retain,
            dup: publish.dup,
            properties: publish.properties.clone(),
            original: Original::V5(publish),
        }
    }
}
