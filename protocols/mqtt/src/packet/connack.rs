//! CONNACK (MQTT 5, 3.2).

use alloc::string::String;

use bytes::{BufMut, Bytes, BytesMut};

use super::kind;
use crate::{ReasonCode, Version, codec, properties::id, text};

/// A CONNACK. The properties are written for MQTT 5 only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connack {
    /// The client finds its old session.
    pub(crate) session_present: bool,
    /// The session expiry, where it is not what the client asked for.
    pub(crate) session_expiry_s: Option<u32>,
    /// Open publishes that the client may have.
    pub(crate) receive_maximum: Option<u16>,
    /// Largest packet that it may send.
    pub(crate) packet_bytes_max: Option<u32>,
    /// The client id that it was given.
    pub(crate) assigned_client_id: Option<Bytes>,
    /// Aliases that it may use; 0: none.
    pub(crate) topic_alias_maximum: u16,
    /// The keep alive, where it is not the client's own.
    pub(crate) server_keep_alive_s: Option<u16>,
    /// For people.
    pub(crate) reason_string: String,
}

impl Connack {
    /// The packet with `reason`; `None` when MQTT 3 has no code for it, or when it is larger than `packet_bytes_max` even
    /// without the reason string.
    pub(crate) fn encode(&self, reason: ReasonCode, version: Version, packet_bytes_max: usize) -> Option<BytesMut> {
        let present = u8::from(self.session_present && version != Version::V31);
        if !version.is_5() {
            return Some(BytesMut::from(&[kind::CONNACK << 4, 2, present, reason.v3_return_code()?][..]));
        }
        let with_text = self.encode_5(reason, present, text::reason_string(&self.reason_string));
        if with_text.len() <= packet_bytes_max {
            return Some(with_text);
        }
        Some(self.encode_5(reason, present, "")).filter(|packet| packet.len() <= packet_bytes_max)
    }

    fn encode_5(&self, reason: ReasonCode, present: u8, reason_string: &str) -> BytesMut {
        let block = self.block(reason_string);
        let remaining = block.len().saturating_add(codec::varint_bytes(block.len())).saturating_add(2);
        let mut out = BytesMut::with_capacity(remaining.saturating_add(5));
        out.put_u8(kind::CONNACK << 4);
        codec::put_varint(&mut out, remaining);
        out.put_slice(&[present, reason.0]);
        codec::put_varint(&mut out, block.len());
        out.put_slice(&block);
        out
    }

    fn block(&self, reason_string: &str) -> BytesMut {
        let mut block = BytesMut::new();
        if let Some(session_expiry_s) = self.session_expiry_s {
            block.put_u8(id::SESSION_EXPIRY);
            block.put_u32(session_expiry_s);
        }
        if self.topic_alias_maximum > 0 {
            block.put_u8(id::TOPIC_ALIAS_MAXIMUM);
            block.put_u16(self.topic_alias_maximum);
        }
        if let Some(client_id) = &self.assigned_client_id {
            block.put_u8(id::ASSIGNED_CLIENT_IDENTIFIER);
            codec::put_binary(&mut block, client_id);
        }
        if let Some(packet_bytes_max) = self.packet_bytes_max {
            block.put_u8(id::MAXIMUM_PACKET_SIZE);
            block.put_u32(packet_bytes_max);
        }
        if let Some(receive_maximum) = self.receive_maximum {
            block.put_u8(id::RECEIVE_MAXIMUM);
            block.put_u16(receive_maximum);
        }
        if let Some(server_keep_alive_s) = self.server_keep_alive_s {
            block.put_u8(id::SERVER_KEEP_ALIVE);
            block.put_u16(server_keep_alive_s);
        }
        if !reason_string.is_empty() {
            block.put_u8(id::REASON_STRING);
            codec::put_binary(&mut block, reason_string.as_bytes());
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mqtt_3_has_its_own_codes_and_mqtt_3_1_no_session_present() {
        let connack = Connack { session_present: true, ..Connack::default() };
        let wire = |reason, version| connack.encode(reason, version, 100).map(|packet| packet.to_vec());
        assert_eq!(wire(ReasonCode::SUCCESS, Version::V311).as_deref(), Some(&[0x20, 2, 1, 0][..]));
        assert_eq!(wire(ReasonCode::SUCCESS, Version::V31).as_deref(), Some(&[0x20, 2, 0, 0][..]));
        assert_eq!(wire(ReasonCode::MALFORMED_PACKET, Version::V311), None);
        assert_eq!(wire(ReasonCode::SUCCESS, Version::V5).as_deref(), Some(&[0x20, 3, 1, 0, 0][..]));
    }

    #[test]
    fn the_reason_string_goes_first_when_the_client_takes_little() {
        let connack = Connack { reason_string: "why".into(), ..Connack::default() };
        let encode = |limit| connack.encode(ReasonCode::NOT_AUTHORIZED, Version::V5, limit).map(|packet| packet.len());
        assert_eq!((encode(11), encode(10), encode(4)), (Some(11), Some(5), None));
    }
}
