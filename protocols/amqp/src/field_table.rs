//! Field tables (AMQP 0-9-1, 4.2.5.5) with the type letters of RabbitMQ's errata, section 3.
//!
//! ```text
//! t  boolean u8        I  i32              f  f32                     S  u32 length, octets (text)
//! b  i8                i  u32              d  f64                     x  u32 length, octets (binary)
//! B  u8                l  i64              D  u8 scale, i32 value     A  u32 length, values
//! s  i16               L  i64              T  u64 seconds             F  u32 length, names and values
//! u  u16                                   V  nothing
//! ```
//! Invariants: recursion is bounded by [`TABLE_DEPTH_MAX`], fields by [`TABLE_FIELDS_MAX`]; nothing is allocated by an
//! announced length; text and binary values are slices of the read buffer.

use alloc::vec::Vec;

use braid_types::{HeaderValue, Headers};
use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    DecodeError,
    limits::{TABLE_DEPTH_MAX, TABLE_FIELDS_MAX},
    writer::write_short_string,
};

/// Decodes the contents of a table (without its length), which lie within `batch`.
///
/// # Errors
/// They are malformed, nested too deeply, or too many.
pub fn decode(contents: &[u8], batch: &Bytes) -> Result<Headers, DecodeError> {
    let mut walk = Walk { rest: contents, fields: 0 };
    walk.table(batch, 0)
}

/// Checks the contents of a table without decoding them: no allocation.
///
/// # Errors
/// As [`decode`].
pub fn validate(contents: &[u8]) -> Result<(), DecodeError> {
    let mut walk = Walk { rest: contents, fields: 0 };
    while !walk.rest.is_empty() {
        walk.name()?;
        walk.skip_value(0)?;
    }
    Ok(())
}

/// Splits the first field off the contents of a table: its name, and all of its bytes, name included.
///
/// # Errors
/// It is malformed.
pub(crate) fn split_field<'a>(contents: &mut &'a [u8]) -> Result<(&'a [u8], &'a [u8]), DecodeError> {
    let mut walk = Walk { rest: contents, fields: 0 };
    let name = walk.name()?;
    walk.skip_value(0)?;
    let size_bytes = contents.len() - walk.rest.len();
    let (field, rest) = contents.split_at_checked(size_bytes).ok_or(DecodeError::Truncated)?;
    *contents = rest;
    Ok((name, field))
}

/// Appends a table with its length. Names are cut to 255 octets.
pub fn encode(headers: &Headers, out: &mut BytesMut) {
    with_length(out, |out| {
        for (name, value) in headers {
            write_short_string(out, name);
            encode_value(value, out);
        }
    });
}

/// Appends a value with its type letter. Integers are written as `l`, floats as `d`, whatever they were read from.
pub fn encode_value(value: &HeaderValue, out: &mut BytesMut) {
    match value {
        HeaderValue::Void => out.put_u8(b'V'),
        HeaderValue::Boolean(value) => out.extend_from_slice(&[b't', u8::from(*value)]),
        HeaderValue::Integer(value) => {
            out.put_u8(b'l');
            out.put_i64(*value);
        }
        HeaderValue::Float(value) => {
            out.put_u8(b'd');
            out.put_f64(*value);
        }
        HeaderValue::Decimal { scale, value } => {
            out.extend_from_slice(&[b'D', *scale]);
            out.put_i32(*value);
        }
        HeaderValue::Text(text) => encode_string(b'S', text, out),
        HeaderValue::Binary(octets) => encode_string(b'x', octets, out),
        HeaderValue::TimestampS(seconds) => {
            out.put_u8(b'T');
            out.put_u64(*seconds);
        }
        HeaderValue::List(values) => {
            out.put_u8(b'A');
            with_length(out, |out| values.iter().for_each(|value| encode_value(value, out)));
        }
        HeaderValue::Table(headers) => {
            out.put_u8(b'F');
            encode(headers, out);
        }
    }
}

fn encode_string(letter: u8, value: &[u8], out: &mut BytesMut) {
    out.put_u8(letter);
    out.put_u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(value);
}

/// Appends what `fill` writes, with its length before it.
pub(crate) fn with_length(out: &mut BytesMut, fill: impl FnOnce(&mut BytesMut)) {
    out.put_u32(0);
    let start = out.len();
    fill(out);
    let size_bytes = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    if let Some(length) = out.get_mut(start - 4..start) {
        length.copy_from_slice(&size_bytes.to_be_bytes());
    }
}

/// A position in a table, and the fields seen so far.
struct Walk<'a> {
    rest: &'a [u8],
    fields: usize,
}

impl<'a> Walk<'a> {
    fn table(&mut self, batch: &Bytes, depth: usize) -> Result<Headers, DecodeError> {
        let mut headers = Headers::new();
        while !self.rest.is_empty() {
            let name = batch.slice_ref(self.name()?);
            headers.push((name, self.value(batch, depth)?));
        }
        Ok(headers)
    }

    fn list(&mut self, batch: &Bytes, depth: usize) -> Result<Vec<HeaderValue>, DecodeError> {
        let mut values = Vec::new();
        while !self.rest.is_empty() {
            values.push(self.value(batch, depth)?);
        }
        Ok(values)
    }

    fn value(&mut self, batch: &Bytes, depth: usize) -> Result<HeaderValue, DecodeError> {
        let letter = self.letter()?;
        Ok(match letter {
            b'V' => HeaderValue::Void,
            b't' => HeaderValue::Boolean(u8::from_be_bytes(self.chunk()?) != 0),
            b'b' => HeaderValue::Integer(i8::from_be_bytes(self.chunk()?).into()),
            b'B' => HeaderValue::Integer(u8::from_be_bytes(self.chunk()?).into()),
            b's' => HeaderValue::Integer(i16::from_be_bytes(self.chunk()?).into()),
            b'u' => HeaderValue::Integer(u16::from_be_bytes(self.chunk()?).into()),
            b'I' => HeaderValue::Integer(i32::from_be_bytes(self.chunk()?).into()),
            b'i' => HeaderValue::Integer(u32::from_be_bytes(self.chunk()?).into()),
            b'l' | b'L' => HeaderValue::Integer(i64::from_be_bytes(self.chunk()?)),
            b'f' => HeaderValue::Float(f32::from_be_bytes(self.chunk()?).into()),
            b'd' => HeaderValue::Float(f64::from_be_bytes(self.chunk()?)),
            b'D' => {
                let [scale] = self.chunk()?;
                HeaderValue::Decimal { scale, value: i32::from_be_bytes(self.chunk()?) }
            }
            b'T' => HeaderValue::TimestampS(u64::from_be_bytes(self.chunk()?)),
            b'S' => HeaderValue::Text(batch.slice_ref(self.string()?)),
            b'x' => HeaderValue::Binary(batch.slice_ref(self.string()?)),
            b'A' => {
                let mut inner = self.inner(depth)?;
                let list = inner.list(batch, depth + 1)?;
                self.fields = inner.fields;
                HeaderValue::List(list)
            }
            b'F' => {
                let mut inner = self.inner(depth)?;
                let table = inner.table(batch, depth + 1)?;
                self.fields = inner.fields;
                HeaderValue::Table(table)
            }
            unknown => return Err(DecodeError::UnknownFieldType(unknown)),
        })
    }

    fn skip_value(&mut self, depth: usize) -> Result<(), DecodeError> {
        let letter = self.letter()?;
        let size_bytes = match letter {
            b'V' => 0,
            b't' | b'b' | b'B' => 1,
            b's' | b'u' => 2,
            b'I' | b'i' | b'f' => 4,
            b'D' => 5,
            b'l' | b'L' | b'd' | b'T' => 8,
            b'S' | b'x' => return self.string().map(|_| ()),
            b'A' | b'F' => {
                let mut inner = self.inner(depth)?;
                while !inner.rest.is_empty() {
                    if letter == b'F' {
                        inner.name()?;
                    }
                    inner.skip_value(depth + 1)?;
                }
                self.fields = inner.fields;
                return Ok(());
            }
            unknown => return Err(DecodeError::UnknownFieldType(unknown)),
        };
        self.take(size_bytes).map(|_| ())
    }

    /// The contents of a table or array that begins here, for a walk of their own.
    fn inner(&mut self, depth: usize) -> Result<Self, DecodeError> {
        if depth + 1 >= TABLE_DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        Ok(Self { rest: self.string()?, fields: self.fields })
    }

    fn letter(&mut self) -> Result<u8, DecodeError> {
        self.fields += 1;
        if self.fields > TABLE_FIELDS_MAX {
            return Err(DecodeError::TooManyFields);
        }
        let [letter] = self.chunk()?;
        Ok(letter)
    }

    fn name(&mut self) -> Result<&'a [u8], DecodeError> {
        let [size_bytes] = self.chunk()?;
        self.take(usize::from(size_bytes))
    }

    fn string(&mut self) -> Result<&'a [u8], DecodeError> {
        let size_bytes = u32::from_be_bytes(self.chunk()?);
        self.take(usize::try_from(size_bytes).map_err(|_| DecodeError::Truncated)?)
    }

    fn take(&mut self, size_bytes: usize) -> Result<&'a [u8], DecodeError> {
        let (value, rest) = self.rest.split_at_checked(size_bytes).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(value)
    }

    fn chunk<const SIZE_BYTES: usize>(&mut self) -> Result<[u8; SIZE_BYTES], DecodeError> {
        let (value, rest) = self.rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(*value)
    }
}
