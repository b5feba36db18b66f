//! PUBLISH, both ways (MQTT 5, 3.3).
//!
//! ```text
//! | 3, DUP QoS RETAIN | length | topic (2 + n) | [packet identifier (2)] | [properties] | payload |
//! ```
//!
//! Incoming: topic, properties and payload are slices of the read buffer. Outgoing: written straight to the socket's
//! buffer; the properties of an MQTT message are copied as they are.

use braid_types::Transmit;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::kind;
use crate::{
    Fault, Version, codec,
    properties::{id, publish::split_block},
};

/// Flags of the first byte.
const DUP: u8 = 0b1000;
const RETAIN: u8 = 0b0001;

/// A PUBLISH as the client sent it. Its topic and properties are not validated yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Publish {
    /// 0, 1 or 2.
    pub(crate) qos: u8,
    /// To be kept as the topic's retained message.
    pub(crate) retain: bool,
    /// Empty when an alias stands for it.
    pub(crate) topic: Bytes,
    /// Not 0 when `qos` is not 0.
    pub(crate) packet_id: u16,
    /// The property block without its length.
    pub(crate) properties: Bytes,
    /// The payload.
    pub(crate) body: Bytes,
}

impl Publish {
    /// Reads a packet whose fixed header has `header_bytes` bytes.
    pub(crate) fn decode(mut packet: Bytes, header_bytes: usize, version: Version) -> Result<Self, Fault> {
        const SHORT: Fault = Fault::Malformed("PUBLISH ends early");
        let first = packet.first().copied().unwrap_or_default();
        let qos = (first >> 1) & 0b11;
        if qos == 3 || (qos == 0 && first & DUP != 0) {
            return Err(Fault::Malformed("QoS 3, or DUP with QoS 0"));
        }
        let rest = packet.get(header_bytes..).ok_or(SHORT)?;
        let topic_bytes = usize::from(u16::from_be_bytes(*rest.first_chunk().ok_or(SHORT)?));
        let after_topic = rest.len().checked_sub(topic_bytes.saturating_add(2)).ok_or(SHORT)?;
        if qos > 0 && after_topic < 2 {
            return Err(SHORT);
        }
        packet.advance(header_bytes.saturating_add(2));
        let topic = packet.split_to(topic_bytes);
        let packet_id = if qos > 0 { packet.get_u16() } else { 0 };
        if qos > 0 && packet_id == 0 {
            return Err(Fault::Protocol("packet identifier 0"));
        }
        let properties = if version.is_5() { split_block(&mut packet)? } else { Bytes::new() };
        Ok(Self { qos, retain: first & RETAIN != 0, topic, packet_id, properties, body: packet })
    }
}

/// How an outgoing topic is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutgoingAlias {
    /// In full.
    None,
    /// In full, and this alias stands for it from now on.
    New(u16),
    /// This alias stands for it already.
    Known(u16),
}

/// A PUBLISH to the client.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    /// Sent before.
    pub(crate) dup: bool,
    /// 0, 1 or 2.
    pub(crate) qos: u8,
    /// The retain flag.
    pub(crate) retain: bool,
    /// Goes before `topic`: `$queue/` or nothing.
    pub(crate) topic_prefix: &'a [u8],
    /// The topic.
    pub(crate) topic: &'a [u8],
    /// What stands for it.
    pub(crate) alias: OutgoingAlias,
    /// Not 0 when `qos` is not 0.
    pub(crate) packet_id: u16,
    /// The message's own properties; written by `put_properties`.
    pub(crate) properties_bytes: usize,
    /// Identifiers of the subscriptions that matched.
    pub(crate) identifiers: &'a [u32],
    /// The payload.
    pub(crate) body: &'a Bytes,
}

impl Outgoing<'_> {
    /// Appends it, unless it has more than `packet_bytes_max` bytes: then it says `false`. `put_properties` appends
    /// exactly `properties_bytes` bytes.
    pub(crate) fn put(
        &self,
        out: &mut Transmit,
        version: Version,
        packet_bytes_max: usize,
        put_properties: impl FnOnce(&mut BytesMut),
    ) -> bool {
        let topic_bytes = match self.alias {
            OutgoingAlias::Known(_) => 0,
            OutgoingAlias::None | OutgoingAlias::New(_) => self.topic_prefix.len().saturating_add(self.topic.len()),
        };
        let Ok(topic_bytes) = u16::try_from(topic_bytes) else { return false };
        let block_bytes = self.block_bytes();
        let mut remaining = 2_usize.saturating_add(usize::from(topic_bytes)).saturating_add(self.body.len());
        if self.qos > 0 {
            remaining = remaining.saturating_add(2);
        }
        if version.is_5() {
            remaining = remaining.saturating_add(codec::varint_bytes(block_bytes)).saturating_add(block_bytes);
        }
        let packet_bytes = remaining.saturating_add(1).saturating_add(codec::varint_bytes(remaining));
        if packet_bytes > packet_bytes_max {
            return false;
        }
        let buffer = out.buffer();
        buffer.reserve(packet_bytes.saturating_sub(self.body.len()));
        let dup = if self.dup { DUP } else { 0 };
        buffer.put_u8(kind::PUBLISH << 4 | dup | self.qos << 1 | u8::from(self.retain));
        codec::put_varint(buffer, remaining);
        buffer.put_u16(topic_bytes);
        if topic_bytes > 0 {
            buffer.put_slice(self.topic_prefix);
            buffer.put_slice(self.topic);
        }
        if self.qos > 0 {
            buffer.put_u16(self.packet_id);
        }
        if version.is_5() {
            codec::put_varint(buffer, block_bytes);
            put_properties(buffer);
            self.put_own_properties(buffer);
        }
        out.push_body(self.body);
        true
    }

    fn block_bytes(&self) -> usize {
        let alias = if self.alias == OutgoingAlias::None { 0 } else { 3 };
        let identifiers: usize =
            self.identifiers.iter().map(|identifier| 1 + codec::varint_bytes(*identifier as usize)).sum();
        self.properties_bytes.saturating_add(alias).saturating_add(identifiers)
    }

    /// Those that belong to this hop.
    fn put_own_properties(&self, buffer: &mut BytesMut) {
        if let OutgoingAlias::New(alias) | OutgoingAlias::Known(alias) = self.alias {
            buffer.put_u8(id::TOPIC_ALIAS);
            buffer.put_u16(alias);
        }
        for identifier in self.identifiers {
            buffer.put_u8(id::SUBSCRIPTION_IDENTIFIER);
            codec::put_varint(buffer, *identifier as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing<'a>(body: &'a Bytes, identifiers: &'a [u32], alias: OutgoingAlias) -> Outgoing<'a> {
        Outgoing {
            dup: false,
            qos: 1,
            retain: true,
            topic_prefix: b"",
            topic: b"a/b",
            alias,
            packet_id: 7,
            properties_bytes: 2,
            identifiers,
            body,
        }
    }

    #[test]
    fn an_outgoing_publish_is_read_back() {
        let body = Bytes::from_static(b"body");
        let mut out = Transmit::new();
        let put = |buffer: &mut BytesMut| buffer.put_slice(&[0x01, 1]);
        assert!(outgoing(&body, &[1, 200], OutgoingAlias::New(3)).put(&mut out, Version::V5, 1_000, put));
        let wire = out.take();
        assert_eq!(&wire[..], b"\x33\x16\x00\x03a/b\x00\x07\x0A\x01\x01\x23\x00\x03\x0B\x01\x0B\xC8\x01body");
        let publish = Publish::decode(wire, 2, Version::V5).expect("valid");
        assert_eq!((publish.qos, publish.retain, publish.packet_id), (1, true, 7));
        assert_eq!((&publish.topic[..], &publish.body[..]), (&b"a/b"[..], &b"body"[..]));
    }

    #[test]
    fn the_size_limit_counts_every_byte() {
        let body = Bytes::from_static(b"body");
        let mut out = Transmit::new();
        let size = 2 + 5 + 2 + 4;
        assert!(!outgoing(&body, &[], OutgoingAlias::None).put(&mut out, Version::V311, size - 1, |_| {}));
        assert!(out.is_empty());
        assert!(outgoing(&body, &[], OutgoingAlias::None).put(&mut out, Version::V311, size, |_| {}));
        assert_eq!(out.size_bytes(), size);
    }

    #[test]
    fn every_cut_of_a_publish_is_a_fault_not_a_panic() {
        let wire = b"\x32\x0C\x00\x03a/b\x00\x07\x02\x01\x01xy";
        for end in 2..wire.len() - 2 {
            assert!(Publish::decode(Bytes::copy_from_slice(&wire[..end]), 2, Version::V5).is_err(), "{end}");
        }
        assert!(Publish::decode(Bytes::from_static(wire), 2, Version::V5).is_ok());
        assert!(Publish::decode(Bytes::from_static(b"\x36\x05\x00\x01a\x00\x01"), 2, Version::V311).is_err());
        assert!(Publish::decode(Bytes::from_static(b"\x38\x03\x00\x01a"), 2, Version::V311).is_err());
    }
}
