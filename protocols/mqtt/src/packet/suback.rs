//! SUBACK and UNSUBACK (MQTT 5, 3.9 and 3.11): a packet identifier and one code per filter.

use bytes::{BufMut, BytesMut};

use super::kind;
use crate::{Version, codec, properties::id, text};

/// Appends a SUBACK or UNSUBACK (`packet_kind`), with a reason string if there is one and it fits; `false` when even
/// without it the packet is larger than `packet_bytes_max`. MQTT 3's UNSUBACK has no codes.
pub(crate) fn put(
    out: &mut BytesMut,
    packet_kind: u8,
    packet_id: u16,
    codes: &[u8],
    reason_string: Option<&str>,
    version: Version,
    packet_bytes_max: usize,
) -> bool {
    let codes = if packet_kind == kind::UNSUBACK && !version.is_5() { &[] } else { codes };
    let mut reason = text::reason_string(reason_string.unwrap_or_default()).as_bytes();
    let remaining = |reason: &[u8]| {
        let block = if reason.is_empty() { 0 } else { reason.len().saturating_add(3) };
        let properties = if version.is_5() { codec::varint_bytes(block).saturating_add(block) } else { 0 };
        2_usize.saturating_add(properties).saturating_add(codes.len())
    };
    let packet_bytes = |reason: &[u8]| {
        let remaining = remaining(reason);
        remaining.saturating_add(1).saturating_add(codec::varint_bytes(remaining))
    };
    if packet_bytes(reason) > packet_bytes_max {
        reason = &[];
    }
    if packet_bytes(reason) > packet_bytes_max {
        return false;
    }
    out.put_u8(packet_kind << 4);
    codec::put_varint(out, remaining(reason));
    out.put_u16(packet_id);
    if version.is_5() {
        if reason.is_empty() {
            out.put_u8(0);
        } else {
            codec::put_varint(out, reason.len().saturating_add(3));
            out.put_u8(id::REASON_STRING);
            codec::put_binary(out, reason);
        }
    }
    out.put_slice(codes);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_suback_and_unsuback() {
        let mut out = BytesMut::new();
        assert!(put(&mut out, kind::SUBACK, 7, &[1, 0x80], None, Version::V311, 100));
        assert!(put(&mut out, kind::UNSUBACK, 7, &[0], None, Version::V311, 100));
        assert!(put(&mut out, kind::UNSUBACK, 7, &[0x11], None, Version::V5, 100));
        assert_eq!(&out[..], b"\x90\x04\x00\x07\x01\x80\xB0\x02\x00\x07\xB0\x04\x00\x07\x00\x11");
        out.clear();
        assert!(put(&mut out, kind::SUBACK, 7, &[0x80], Some("no"), Version::V5, 11));
        assert_eq!(&out[..], b"\x90\x09\x00\x07\x05\x1F\x00\x02no\x80");
        out.clear();
        assert!(put(&mut out, kind::SUBACK, 7, &[0x80], Some("no"), Version::V5, 10));
        assert_eq!(&out[..], b"\x90\x04\x00\x07\x00\x80");
        assert!(!put(&mut out, kind::SUBACK, 7, &[0x80], None, Version::V5, 5));
    }
}
