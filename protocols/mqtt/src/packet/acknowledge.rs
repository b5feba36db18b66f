//! PUBACK, PUBREC, PUBREL and PUBCOMP: a packet identifier, and in MQTT 5 a reason code and properties.
//!
//! ```text
//! | kind, flags | length | packet identifier (2) | [reason code (1) | [properties]] |
//! ```

use bytes::{BufMut, BytesMut};

use super::kind;
use crate::{
    Fault, ReasonCode, Version,
    codec::Reader,
    properties::{self, Carrier},
};

/// One of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledge {
    /// Never 0.
    pub(crate) packet_id: u16,
    /// Success in MQTT 3 and when it is left out.
    pub(crate) reason: ReasonCode,
}

impl Acknowledge {
    /// Reads what follows the fixed header of packet type `kind`.
    pub(crate) fn decode(body: &[u8], packet_kind: u8, version: Version) -> Result<Self, Fault> {
        let mut reader = Reader::new(body);
        let packet_id = reader.two()?;
        if !version.is_5() {
            reader.end()?;
        }
        if packet_id == 0 {
            return Err(Fault::Protocol("packet identifier 0"));
        }
        let mut reason = ReasonCode::SUCCESS;
        if !reader.is_empty() {
            reason = ReasonCode(reader.byte()?);
            if !reader.is_empty() {
                let block = properties::block(&mut reader)?;
                properties::walk(block, Carrier::Acknowledge, |_, _, _| {})?;
                reader.end()?;
            }
        }
        let is_known = match packet_kind {
            kind::PUBACK | kind::PUBREC => reason.is_publish_answer(),
            _ => reason.is_release_answer(),
        };
        if is_known { Ok(Self { packet_id, reason }) } else { Err(Fault::Protocol("a reason code of another packet")) }
    }
}

/// Appends one of the four. The reason code is only written where it says something.
pub(crate) fn put(out: &mut BytesMut, packet_kind: u8, packet_id: u16, reason: ReasonCode, version: Version) {
    let flags = if packet_kind == kind::PUBREL { 0b0010 } else { 0 };
    out.put_u8(packet_kind << 4 | flags);
    if version.is_5() && reason != ReasonCode::SUCCESS {
        out.put_u8(3);
        out.put_u16(packet_id);
        out.put_u8(reason.0);
    } else {
        out.put_u8(2);
        out.put_u16(packet_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_an_acknowledgement() {
        let decode = |body: &[u8]| Acknowledge::decode(body, kind::PUBACK, Version::V5);
        assert_eq!(decode(&[0, 7]), Ok(Acknowledge { packet_id: 7, reason: ReasonCode::SUCCESS }));
        assert_eq!(decode(&[0, 7, 0x80]), Ok(Acknowledge { packet_id: 7, reason: ReasonCode::UNSPECIFIED }));
        assert!(decode(&[0, 7, 0, 0]).is_ok());
        assert!(matches!(decode(&[0, 7, 0, 0, 0]), Err(Fault::Malformed(_))));
        assert!(matches!(decode(&[0, 0]), Err(Fault::Protocol(_))));
        assert!(matches!(decode(&[0, 7, 0xFF]), Err(Fault::Protocol(_))));
        assert!(Acknowledge::decode(&[0, 7, 0], kind::PUBACK, Version::V311).is_err());
        let mut out = BytesMut::new();
        put(&mut out, kind::PUBREL, 7, ReasonCode::SUCCESS, Version::V311);
        put(&mut out, kind::PUBACK, 7, ReasonCode::NO_MATCHING_SUBSCRIBERS, Version::V5);
        assert_eq!(&out[..], &[0x62, 2, 0, 7, 0x40, 3, 0, 7, 0x10]);
    }
}
