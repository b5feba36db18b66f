//! Properties of MQTT 5.0 packets (section 2.2.2): the few that matter here, the others by their length.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::packet::{TRUNCATED, put_length, put_short, take_short, take_u8, take_u16};
use crate::client::ClientError;

const SERVER_KEEP_ALIVE: u8 = 0x13;
const REASON_STRING: u8 = 0x1F;
const RECEIVE_MAXIMUM: u8 = 0x21;
const USER_PROPERTY: u8 = 0x26;

/// What a packet's properties say.
#[derive(Debug, Default)]
pub(super) struct Properties {
    /// `QoS` 1 and 2 messages that the server takes ahead of its acknowledgements.
    pub(super) receive_maximum: Option<u16>,
    /// The keepalive that the server wants, in seconds.
    pub(super) server_keep_alive_s: Option<u16>,
    /// The reason, in the server's words.
    pub(super) reason: Option<String>,
    /// Names and values, in order.
    pub(super) user: Vec<(String, String)>,
}

/// Takes the properties with their length.
pub(super) fn take(from: &mut Bytes) -> Result<Properties, ClientError> {
    let length = take_length(from)?;
    if from.len() < length {
        return Err(TRUNCATED);
    }
    let mut bytes = from.split_to(length);
    let mut properties = Properties::default();
    while bytes.has_remaining() {
        match take_u8(&mut bytes)? {
            SERVER_KEEP_ALIVE => properties.server_keep_alive_s = Some(take_u16(&mut bytes)?),
            RECEIVE_MAXIMUM => properties.receive_maximum = Some(take_u16(&mut bytes)?),
            REASON_STRING => properties.reason = Some(take_text(&mut bytes)?),
            USER_PROPERTY => properties.user.push((take_text(&mut bytes)?, take_text(&mut bytes)?)),
            0x01 | 0x17 | 0x19 | 0x24 | 0x25 | 0x28 | 0x29 | 0x2A => drop(take_u8(&mut bytes)?),
            0x22 | 0x23 => drop(take_u16(&mut bytes)?),
            0x02 | 0x11 | 0x18 | 0x27 => drop(bytes.try_get_u32().map_err(|_| TRUNCATED)?),
            0x03 | 0x08 | 0x09 | 0x12 | 0x15 | 0x16 | 0x1A | 0x1C => drop(take_short(&mut bytes)?),
            0x0B => drop(take_length(&mut bytes)?),
            _ => return Err(ClientError::Protocol("the server sent a property that MQTT 5 does not have")),
        }
    }
    Ok(properties)
}

/// Appends properties that are user properties only.
pub(super) fn put_user(out: &mut BytesMut, user: &[(String, String)]) -> Result<(), ClientError> {
    let mut properties = BytesMut::new();
    for (name, value) in user {
        properties.put_u8(USER_PROPERTY);
        put_short(&mut properties, name.as_bytes())?;
        put_short(&mut properties, value.as_bytes())?;
    }
    put_length(out, properties.len())?;
    out.put_slice(&properties);
    Ok(())
}

/// Appends properties that are a Receive Maximum only.
pub(super) fn put_receive_maximum(out: &mut BytesMut, maximum: u16) {
    out.put_slice(&[3, RECEIVE_MAXIMUM]);
    out.put_u16(maximum);
}

fn take_text(from: &mut Bytes) -> Result<String, ClientError> {
    Ok(String::from_utf8_lossy(&take_short(from)?).into_owned())
}

fn take_length(from: &mut Bytes) -> Result<usize, ClientError> {
    let mut length = 0;
    for shift in [0, 7, 14, 21] {
        let byte = take_u8(from)?;
        length |= usize::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(length);
        }
    }
    Err(TRUNCATED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_is_known_by_its_length() {
        let all = b"\x01\x01\x02\0\0\0\x01\x03\0\x01t\x08\0\x01r\x09\0\x01c\x0b\x81\x01\x11\0\0\0\x01\x12\0\x01i\x13\0\x1e\
                    \x15\0\x01m\x16\0\x01d\x17\x01\x18\0\0\0\x01\x19\x01\x1a\0\x01x\x1c\0\x01s\x1f\0\x03why\x21\0\x07\
                    \x22\0\x01\x23\0\x01\x24\x01\x25\x01\x26\0\x01k\0\x01v\x26\0\x01k\0\x01w\x27\0\0\0\x01\x28\x01\x29\x01\x2a\x01";
        let mut bytes = BytesMut::new();
        put_length(&mut bytes, all.len()).unwrap();
        bytes.put_slice(all);
        bytes.put_slice(b"rest");
        let mut bytes = bytes.freeze();
        let properties = take(&mut bytes).unwrap();
        assert_eq!(bytes, "rest");
        assert_eq!((properties.receive_maximum, properties.server_keep_alive_s), (Some(7), Some(30)));
        assert_eq!(properties.reason.as_deref(), Some("why"));
        let pair = |value: &str| ("k".to_owned(), value.to_owned());
        assert_eq!(properties.user, [pair("v"), pair("w")]);
    }

    #[test]
    fn broken_properties_are_errors() {
        for wrong in
            [b"".as_slice(), b"\x05\x01\x01", b"\x01\x13", b"\x03\x1f\0\x05", b"\x01\x7f", b"\xff\xff\xff\xff\x01"]
        {
            assert!(take(&mut Bytes::from_static(wrong)).is_err(), "{}", wrong.escape_ascii());
        }
    }
}
