//! Reads the values of AMQP 0-9-1 (4.2.5) off a payload. Strings become slices of the read buffer, never copies.
//!
//! Invariant: no value is ever allocated by its announced length; what is not there is [`DecodeError::Truncated`].

use braid_types::Headers;
use bytes::Bytes;

use crate::{DecodeError, field_table};

/// A position in a payload.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    batch: &'a Bytes,
    bits: u8,
    bits_taken: u8,
}

impl<'a> Reader<'a> {
    /// Reads `payload`, which lies within `batch`.
    #[must_use]
    pub const fn new(payload: &'a [u8], batch: &'a Bytes) -> Self {
        Self { rest: payload, batch, bits: 0, bits_taken: 0 }
    }

    /// One octet.
    ///
    /// # Errors
    /// Nothing is left.
    pub fn octet(&mut self) -> Result<u8, DecodeError> {
        let [octet] = *self.chunk::<1>()?;
        Ok(octet)
    }

    /// Two octets.
    ///
    /// # Errors
    /// Less is left.
    pub fn short(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(*self.chunk()?))
    }

    /// Four octets.
    ///
    /// # Errors
    /// Less is left.
    pub fn long(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(*self.chunk()?))
    }

    /// Eight octets.
    ///
    /// # Errors
    /// Less is left.
    pub fn long_long(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_be_bytes(*self.chunk()?))
    }

    /// A bit; bits that follow each other share an octet, lowest first (4.2.5.2).
    ///
    /// # Errors
    /// Nothing is left.
    pub fn bit(&mut self) -> Result<bool, DecodeError> {
        if self.bits_taken == 0 || self.bits_taken == 8 {
            self.bits = self.octet()?;
        }
        let bit = self.bits >> self.bits_taken & 1 == 1;
        self.bits_taken += 1;
        Ok(bit)
    }

    /// A string of up to 255 octets.
    ///
    /// # Errors
    /// It is not all there.
    pub fn short_string(&mut self) -> Result<Bytes, DecodeError> {
        let size_bytes = usize::from(self.octet()?);
        Ok(self.batch.slice_ref(self.take(size_bytes)?))
    }

    /// A string of up to 2^32 - 1 octets.
    ///
    /// # Errors
    /// It is not all there.
    pub fn long_string(&mut self) -> Result<Bytes, DecodeError> {
        Ok(self.batch.slice_ref(self.long_slice()?))
    }

    /// A field table, decoded.
    ///
    /// # Errors
    /// It is not all there, or malformed inside.
    pub fn table(&mut self) -> Result<Headers, DecodeError> {
        let contents = self.long_slice()?;
        field_table::decode(contents, self.batch)
    }

    /// The end: nothing may be left.
    ///
    /// # Errors
    /// Something is.
    pub const fn finish(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeError::TrailingBytes) }
    }

    fn long_slice(&mut self) -> Result<&'a [u8], DecodeError> {
        let size_bytes = usize::try_from(self.long()?).map_err(|_| DecodeError::Truncated)?;
        self.take(size_bytes)
    }

    fn take(&mut self, size_bytes: usize) -> Result<&'a [u8], DecodeError> {
        self.bits_taken = 0;
        let (value, rest) = self.rest.split_at_checked(size_bytes).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(value)
    }

    fn chunk<const SIZE_BYTES: usize>(&mut self) -> Result<&'a [u8; SIZE_BYTES], DecodeError> {
        self.bits_taken = 0;
        let (value, rest) = self.rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_share_octets_and_strings_are_slices() {
        let batch = Bytes::from_static(&[0b101, 3, b'a', b'b', b'c', 1]);
        let mut reader = Reader::new(&batch, &batch);
        assert_eq!((reader.bit(), reader.bit(), reader.bit()), (Ok(true), Ok(false), Ok(true)));
        let text = reader.short_string().unwrap();
        assert_eq!(text.as_ptr(), batch.slice(2..).as_ptr());
        assert_eq!(reader.bit(), Ok(true));
        assert_eq!(reader.finish(), Ok(()));
        assert_eq!(reader.octet(), Err(DecodeError::Truncated));
    }
}
