//! Reads fields from a packet's bytes. Never reads beyond them, never copies.
#![warn(clippy::arithmetic_side_effects)]

use crate::{Fault, text};

/// A position in a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

const SHORT: Fault = Fault::Malformed("the packet ends early");

impl<'a> Reader<'a> {
    /// At the start of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Everything was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// A fault unless everything was read.
    pub(crate) fn end(&self) -> Result<(), Fault> {
        if self.is_empty() { Ok(()) } else { Err(Fault::Malformed("the packet is too long")) }
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> Result<u8, Fault> {
        let (byte, rest) = self.rest.split_first().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*byte)
    }

    /// A two byte integer.
    pub(crate) fn two(&mut self) -> Result<u16, Fault> {
        let (bytes, rest) = self.rest.split_first_chunk::<2>().ok_or(SHORT)?;
        self.rest = rest;
        Ok(u16::from_be_bytes(*bytes))
    }

    /// A four byte integer.
    pub(crate) fn four(&mut self) -> Result<u32, Fault> {
        let (bytes, rest) = self.rest.split_first_chunk::<4>().ok_or(SHORT)?;
        self.rest = rest;
        Ok(u32::from_be_bytes(*bytes))
    }

    /// A variable byte integer in its shortest form (MQTT-1.5.5-1).
    pub(crate) fn varint(&mut self) -> Result<u32, Fault> {
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    return Err(Fault::Malformed("a variable byte integer is longer than needed"));
                }
                return Ok(value);
            }
        }
        Err(Fault::Malformed("a variable byte integer has more than four bytes"))
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Bytes with their length in two bytes before.
    pub(crate) fn binary(&mut self) -> Result<&'a [u8], Fault> {
        let count = self.two()?;
        self.take(usize::from(count))
    }

    /// A UTF-8 string.
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Fault> {
        let bytes = self.binary()?;
        if text::is_text(bytes) { Ok(bytes) } else { Err(Fault::Malformed("a string is not UTF-8, or holds U+0000")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_where_the_packet_ends() {
        let mut reader = Reader::new(&[0, 2, b'a', b'b', 0, 9, b'c']);
        assert_eq!(reader.text(), Ok(&b"ab"[..]));
        assert_eq!(reader.binary(), Err(SHORT));
        assert_eq!(Reader::new(&[0]).two(), Err(SHORT));
        assert_eq!(
            Reader::new(&[0x80, 0x00]).varint(),
            Err(Fault::Malformed("a variable byte integer is longer than needed"))
        );
        assert!(Reader::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F]).varint().is_err());
    }
}
