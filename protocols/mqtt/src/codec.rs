//! The frame of every packet: one byte of type and flags, and the remaining length as a variable byte integer.
//!
//! ```text
//! +--------+--------+----------------+------------------- - -
//! | type 4 | flags 4|  length 1 to 4 bytes, 7 bits each     | length bytes ...
//! +--------+--------+----------------+------------------- - -
//! ```
//!
//! Invariant: nothing is reserved or allocated for a length that was only announced.
#![warn(clippy::arithmetic_side_effects)]

mod reader;

use bytes::{BufMut, BytesMut};

pub(crate) use reader::Reader;

use crate::Fault;

/// Most bytes of a variable byte integer (MQTT 5, 1.5.5).
pub(crate) const VARINT_BYTES_MAX: usize = 4;

/// Largest value of a variable byte integer.
pub(crate) const VARINT_MAX: u32 = 268_435_455;

const TOO_LONG: Fault = Fault::Unanswered("the remaining length has more than four bytes");

/// The first bytes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixedHeader {
    /// Type and flags.
    pub(crate) first: u8,
    /// Bytes of the header itself.
    pub(crate) header_bytes: usize,
    /// Bytes of header and packet.
    pub(crate) packet_bytes: usize,
}

impl FixedHeader {
    /// Reads the header at the start of `input`; `None`: more bytes are needed.
    pub(crate) fn decode(input: &[u8]) -> Result<Option<Self>, Fault> {
        let Some((first, rest)) = input.split_first() else { return Ok(None) };
        let mut remaining = 0_usize;
        let mut header_bytes = 1_usize;
        for (byte, shift) in rest.iter().zip([0, 7, 14, 21]) {
            remaining |= usize::from(byte & 0x7F) << shift;
            header_bytes = header_bytes.saturating_add(1);
            if byte & 0x80 == 0 {
                let packet_bytes = header_bytes.saturating_add(remaining);
                return Ok(Some(Self { first: *first, header_bytes, packet_bytes }));
            }
        }
        if rest.len() >= VARINT_BYTES_MAX { Err(TOO_LONG) } else { Ok(None) }
    }
}

/// Bytes that `value` takes as a variable byte integer.
pub(crate) const fn varint_bytes(value: usize) -> usize {
    match value {
        0..=0x7F => 1,
        0x80..=0x3FFF => 2,
        0x4000..=0x1F_FFFF => 3,
        _ => 4,
    }
}

/// Appends `value` as a variable byte integer. Values above [`VARINT_MAX`] are cut to it.
#[expect(clippy::cast_possible_truncation, reason = "the value is cut to seven bits before")]
pub(crate) fn put_varint(out: &mut BytesMut, value: usize) {
    let mut value = value.min(VARINT_MAX as usize);
    while value > 0x7F {
        out.put_u8((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

/// Appends `bytes` with their length in two bytes before; more than 65,535 are cut off.
#[expect(clippy::cast_possible_truncation, reason = "the length is cut to 16 bits before")]
pub(crate) fn put_binary(out: &mut BytesMut, bytes: &[u8]) {
    let cut = bytes.get(..usize::from(u16::MAX)).unwrap_or(bytes);
    out.put_u16(cut.len() as u16);
    out.put_slice(cut);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_at_their_borders() {
        for value in [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, VARINT_MAX as usize] {
            let mut out = BytesMut::new();
            put_varint(&mut out, value);
            assert_eq!(out.len(), varint_bytes(value));
            let mut reader = Reader::new(&out);
            assert_eq!(reader.varint().map(|v| v as usize), Ok(value));
            let mut framed = BytesMut::from(&[0x30_u8][..]);
            framed.extend_from_slice(&out);
            let header = FixedHeader::decode(&framed).ok().flatten().expect("complete");
            assert_eq!(header.packet_bytes, 1 + out.len() + value);
        }
    }

    #[test]
    fn a_fifth_length_byte_is_a_fault_and_fewer_are_incomplete() {
        assert_eq!(FixedHeader::decode(&[]), Ok(None));
        assert_eq!(FixedHeader::decode(&[0x30, 0x80, 0x80, 0x80]), Ok(None));
        assert_eq!(FixedHeader::decode(&[0x30, 0x80, 0x80, 0x80, 0x80]), Err(TOO_LONG));
    }
}
