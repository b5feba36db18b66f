//! Bytes to the client: which version it speaks, how large packets may be, and the one outgoing buffer.
//!
//! Invariant: no packet is larger than the client's maximum packet size (MQTT-3.1.2-24; for PUBLISH counted as Mosquitto
//! counts it).

use core::mem;

use braid_types::{Message, Properties, Protocol, Timestamp, Transmit};
use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    ReasonCode, Version,
    aliases::OutgoingAliases,
    limits,
    packet::{acknowledge, connack::Connack, disconnect, kind, publish, suback},
    properties::{self, publish::put_counted_down},
    topic,
};

/// The outgoing side of a connection.
#[derive(Debug)]
pub(super) struct Wire {
    version: Version,
    packet_bytes_max: usize,
    aliases: OutgoingAliases,
    transmit: Transmit,
    /// Property blocks that are made for messages of other protocols.
    scratch: BytesMut,
}

/// Bytes of a PUBLISH that do not count towards the client's maximum packet size. Mosquitto counts without the first byte,
/// and its test scripts demand a delivery that fits only so.
const UNCOUNTED_BYTES: usize = 1;

/// One copy of a message, ready to be written.
#[derive(Debug)]
pub(super) struct Copy<'a> {
    pub(super) message: &'a Message,
    /// Present when the message is of another protocol.
    pub(super) properties: Option<&'a Properties>,
    pub(super) qos: u8,
    pub(super) retain: bool,
    pub(super) dup: bool,
    pub(super) packet_id: u16,
    pub(super) identifiers: &'a [u32],
    pub(super) delivery_count: u32,
}

/// Why a copy cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undeliverable {
    TooLarge,
    Expired,
    Unconvertible,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            version: Version::V311,
            packet_bytes_max: usize::MAX,
            aliases: OutgoingAliases::default(),
            transmit: Transmit::new(),
            scratch: BytesMut::new(),
        }
    }
}

impl Wire {
    /// Sets what CONNECT says.
    pub(super) fn configure(&mut self, version: Version, packet_bytes_max: Option<u32>, topic_alias_maximum: u16) {
        self.version = version;
        self.packet_bytes_max = packet_bytes_max.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
        self.aliases = OutgoingAliases::new(topic_alias_maximum);
    }

    /// The version that the client speaks.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// What waits to be written.
    pub(super) fn transmit(&mut self) -> &mut Transmit {
        &mut self.transmit
    }

    /// CONNACK; `false`: the client cannot be told.
    pub(super) fn connack(&mut self, reason: ReasonCode, connack: &Connack) -> bool {
        let packet = connack.encode(reason, self.version, self.packet_bytes_max);
        if let Some(packet) = &packet {
            self.transmit.buffer().extend_from_slice(packet);
        }
        packet.is_some()
    }

    /// PUBACK, PUBREC, PUBREL or PUBCOMP.
    pub(super) fn acknowledge(&mut self, packet_kind: u8, packet_id: u16, reason: ReasonCode) {
        acknowledge::put(self.transmit.buffer(), packet_kind, packet_id, reason, self.version);
    }

    /// SUBACK or UNSUBACK; `false`: the client does not take packets of that size.
    pub(super) fn suback(&mut self, packet_kind: u8, packet_id: u16, codes: &[u8], reason: Option<&str>) -> bool {
        let buffer = self.transmit.buffer();
        suback::put(buffer, packet_kind, packet_id, codes, reason, self.version, self.packet_bytes_max)
    }

    /// PINGRESP.
    pub(super) fn ping_response(&mut self) {
        self.transmit.buffer().put_slice(&[kind::PINGRESP << 4, 0]);
    }

    /// DISCONNECT; MQTT 3 has none from the server.
    pub(super) fn disconnect(&mut self, reason: ReasonCode, reason_string: &str) {
        if self.version.is_5() {
            disconnect::put(self.transmit.buffer(), reason, reason_string, self.packet_bytes_max);
        }
    }

    /// PUBLISH.
    pub(super) fn publish(&mut self, now: Timestamp, copy: &Copy<'_>) -> Result<(), Undeliverable> {
        let message = copy.message;
        if message.expires_at.is_some_and(|expires_at| expires_at <= now) {
            return Err(Undeliverable::Expired);
        }
        if message.origin == Protocol::Mqtt {
            return self.publish_own(now, copy);
        }
        let topic = foreign_topic(message).ok_or(Undeliverable::Unconvertible)?;
        let mut block = mem::take(&mut self.scratch);
        block.clear();
        if let Some(properties) = copy.properties.filter(|_| self.version.is_5()) {
            properties::foreign::put(&mut block, properties, message.expires_at, copy.delivery_count, now);
        }
        let written = self.put(copy, b"", &topic, block.len(), |buffer| buffer.put_slice(&block));
        if block.capacity() <= limits::SCRATCH_BYTES_KEPT {
            self.scratch = block;
        }
        written
    }

    /// A message of MQTT origin: its properties as they came, with the expiry counted down.
    fn publish_own(&mut self, now: Timestamp, copy: &Copy<'_>) -> Result<(), Undeliverable> {
        let message = copy.message;
        let header = &message.header;
        let prefix = own_prefix(message);
        self.put(copy, prefix, &message.key, header.len(), |buffer| match message.expires_at {
            Some(expires_at) => put_counted_down(buffer, header, expires_at, now),
            None => buffer.put_slice(header),
        })
    }

    fn put(
        &mut self,
        copy: &Copy<'_>,
        topic_prefix: &[u8],
        topic: &[u8],
        properties_bytes: usize,
        put_properties: impl FnOnce(&mut BytesMut),
    ) -> Result<(), Undeliverable> {
        // Two parts are never an alias: the table is keyed by whole topics.
        let alias = if topic_prefix.is_empty() { self.aliases.choose(topic) } else { publish::OutgoingAlias::None };
        let outgoing = publish::Outgoing {
            dup: copy.dup,
            qos: copy.qos,
            retain: copy.retain,
            topic_prefix,
            topic,
            alias,
            packet_id: copy.packet_id,
            properties_bytes,
            identifiers: copy.identifiers,
            body: &copy.message.body,
        };
        let packet_bytes_max = self.packet_bytes_max.saturating_add(UNCOUNTED_BYTES);
        if !outgoing.put(&mut self.transmit, self.version, packet_bytes_max, put_properties) {
            return Err(Undeliverable::TooLarge);
        }
        self.aliases.confirm(topic, alias);
        Ok(())
    }
}

/// The topic of a message of another protocol; `None`: it is none in MQTT.
pub(super) fn foreign_topic(message: &Message) -> Option<Bytes> {
    let address = braid_types::Address::from_notation(message.origin, &message.key).ok()?;
    address.to_notation(Protocol::Mqtt).ok().filter(|topic| topic::is_name(topic))
}

/// What goes before the key of an MQTT message: a publish to `$queue/NAME` went to the default exchange.
fn own_prefix(message: &Message) -> &'static [u8] {
    if message.exchange.is_empty() { topic::QUEUE_PREFIX } else { b"" }
}
