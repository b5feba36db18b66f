//! DISCONNECT (MQTT 5, 3.14), both ways.

use bytes::{BufMut, BytesMut};

use super::kind;
use crate::{
    Fault, ReasonCode, Version,
    codec::{self, Reader},
    properties::{self, Carrier, id},
    text,
};

/// A DISCONNECT of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disconnect {
    /// Success in MQTT 3 and when it is left out.
    pub(crate) reason: ReasonCode,
    /// A session expiry in seconds that replaces the one of CONNECT.
    pub(crate) session_expiry_s: Option<u32>,
}

impl Disconnect {
    /// Reads what follows the fixed header.
    pub(crate) fn decode(body: &[u8], version: Version) -> Result<Self, Fault> {
        let mut reader = Reader::new(body);
        let mut disconnect = Self { reason: ReasonCode::SUCCESS, session_expiry_s: None };
        if !version.is_5() {
            reader.end()?;
            return Ok(disconnect);
        }
        if reader.is_empty() {
            return Ok(disconnect);
        }
        disconnect.reason = ReasonCode(reader.byte()?);
        if !reader.is_empty() {
            let block = properties::block(&mut reader)?;
            properties::walk(block, Carrier::Disconnect, |property, value, _| {
                if property == id::SESSION_EXPIRY {
                    disconnect.session_expiry_s = Some(value.number());
                }
            })?;
            reader.end()?;
        }
        if !disconnect.reason.is_client_disconnect() {
            // A code that clients may not send. The client has left all the same: it is not told, but it left with a fault.
            disconnect.reason = ReasonCode::PROTOCOL_ERROR;
        }
        Ok(disconnect)
    }
}

/// Appends a DISCONNECT of MQTT 5, with a reason string unless that made it larger than `packet_bytes_max`.
pub(crate) fn put(out: &mut BytesMut, reason: ReasonCode, reason_string: &str, packet_bytes_max: usize) {
    let reason_string = text::reason_string(reason_string);
    let block_bytes = reason_string.len().saturating_add(3);
    let remaining = block_bytes.saturating_add(codec::varint_bytes(block_bytes)).saturating_add(1);
    let packet_bytes = remaining.saturating_add(1).saturating_add(codec::varint_bytes(remaining));
    out.put_u8(kind::DISCONNECT << 4);
    if reason_string.is_empty() || packet_bytes > packet_bytes_max {
        out.put_slice(&[1, reason.0]);
        return;
    }
    codec::put_varint(out, remaining);
    out.put_u8(reason.0);
    codec::put_varint(out, block_bytes);
    out.put_u8(id::REASON_STRING);
    codec::put_binary(out, reason_string.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_disconnect() {
        let decode = |body: &[u8]| Disconnect::decode(body, Version::V5);
        assert_eq!(decode(&[]), Ok(Disconnect { reason: ReasonCode::SUCCESS, session_expiry_s: None }));
        assert_eq!(decode(&[4, 5, 0x11, 0, 0, 0, 9]).map(|d| d.session_expiry_s), Ok(Some(9)));
        assert!(decode(&[4, 5, 0x11, 0, 0, 0]).is_err());
        assert_eq!(decode(&[0x8B]).map(|d| d.reason), Ok(ReasonCode::PROTOCOL_ERROR));
        assert!(Disconnect::decode(&[0], Version::V311).is_err());
        let mut out = BytesMut::new();
        put(&mut out, ReasonCode::SERVER_SHUTTING_DOWN, "", 100);
        put(&mut out, ReasonCode::SERVER_SHUTTING_DOWN, "bye", 100);
        put(&mut out, ReasonCode::SERVER_SHUTTING_DOWN, "bye", 9);
        assert_eq!(&out[..], b"\xE0\x01\x8B\xE0\x08\x8B\x06\x1F\x00\x03bye\xE0\x01\x8B");
    }
}
