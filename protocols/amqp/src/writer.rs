//! Writes the values of AMQP 0-9-1 (4.2.5). The counterpart of [`crate::Reader`].
//!
//! Invariant: what is written is well formed; a short string is cut to 255 octets rather than written wrongly.

use braid_types::Headers;
use bytes::{BufMut, Bytes, BytesMut};

use crate::{field_table, limits::SHORT_STRING_BYTES_MAX};

/// Appends values to a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut BytesMut,
    bits_written: u8,
}

impl<'a> Writer<'a> {
    /// Appends to `out`.
    pub const fn new(out: &'a mut BytesMut) -> Self {
        Self { out, bits_written: 0 }
    }

    /// One octet.
    pub fn octet(&mut self, value: &u8) {
        self.bits_written = 0;
        self.out.put_u8(*value);
    }

    /// Two octets.
    pub fn short(&mut self, value: &u16) {
        self.bits_written = 0;
        self.out.put_u16(*value);
    }

    /// Four octets.
    pub fn long(&mut self, value: &u32) {
        self.bits_written = 0;
        self.out.put_u32(*value);
    }

    /// Eight octets.
    pub fn long_long(&mut self, value: &u64) {
        self.bits_written = 0;
        self.out.put_u64(*value);
    }

    /// A bit, packed with the bits before it.
    pub fn bit(&mut self, value: &bool) {
        if self.bits_written == 0 || self.bits_written == 8 {
            self.bits_written = 0;
            self.out.put_u8(0);
        }
        if let Some(octet) = self.out.last_mut() {
            *octet |= u8::from(*value) << self.bits_written;
        }
        self.bits_written += 1;
    }

    /// A string of up to 255 octets.
    pub fn short_string(&mut self, value: &Bytes) {
        self.bits_written = 0;
        write_short_string(self.out, value);
    }

    /// A long string.
    pub fn long_string(&mut self, value: &Bytes) {
        self.bits_written = 0;
        self.out.put_u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
        self.out.extend_from_slice(value);
    }

    /// A field table.
    pub fn table(&mut self, value: &Headers) {
        self.bits_written = 0;
        field_table::encode(value, self.out);
    }
}

/// Appends a short string, cut to 255 octets.
pub(crate) fn write_short_string(out: &mut BytesMut, value: &[u8]) {
    let cut = value.get(..SHORT_STRING_BYTES_MAX).unwrap_or(value);
    out.put_u8(u8::try_from(cut.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(cut);
}
