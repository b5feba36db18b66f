//! The byte form of the values that commands and snapshots are made of. By hand: one form for each value, numbers little
//! endian, byte strings after their length (4 bytes), so equal values are equal bytes on every node and in every build.
//!
//! Reading never trusts a length or a depth: it fails, and allocates no more than there are bytes.

use alloc::{string::String, vec::Vec};

use braid_types::{ConnectionId, CorruptBytes, HeaderValue, Headers};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::limits::ARGUMENTS_DEPTH_MAX;

const CORRUPT: CorruptBytes = CorruptBytes { what: "catalog value" };

/// A count, for memory to be reserved: never more than a hostile count costs.
const RESERVED_MAX: usize = 64;

pub(crate) fn put_bool(out: &mut BytesMut, value: bool) {
    out.put_u8(u8::from(value));
}

/// Lengths fit: everything that is kept is bounded by `limits.rs`, far below 4 GiB.
pub(crate) fn put_count(out: &mut BytesMut, count: usize) {
    out.put_u32_le(u32::try_from(count).unwrap_or(u32::MAX));
}

pub(crate) fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.put_slice(bytes);
}

pub(crate) fn put_connection(out: &mut BytesMut, connection: Option<ConnectionId>) {
    put_bool(out, connection.is_some());
    if let Some(ConnectionId(number)) = connection {
        out.put_u64_le(number);
    }
}

pub(crate) fn put_headers(out: &mut BytesMut, headers: &Headers) {
    put_count(out, headers.len());
    for (name, value) in headers {
        put_bytes(out, name);
        put_value(out, value);
    }
}

pub(crate) fn put_value(out: &mut BytesMut, value: &HeaderValue) {
    match value {
        HeaderValue::Void => out.put_u8(0),
        HeaderValue::Boolean(flag) => {
            out.put_u8(1);
            put_bool(out, *flag);
        }
        HeaderValue::Integer(number) => {
            out.put_u8(2);
            out.put_i64_le(*number);
        }
        HeaderValue::Float(number) => {
            out.put_u8(3);
            out.put_u64_le(number.to_bits());
        }
        HeaderValue::Decimal { scale, value } => {
            out.put_u8(4);
            out.put_u8(*scale);
            out.put_i32_le(*value);
        }
        HeaderValue::Text(bytes) => {
            out.put_u8(5);
            put_bytes(out, bytes);
        }
        HeaderValue::Binary(bytes) => {
            out.put_u8(6);
            put_bytes(out, bytes);
        }
        HeaderValue::TimestampS(seconds) => {
            out.put_u8(7);
            out.put_u64_le(*seconds);
        }
        HeaderValue::List(values) => {
            out.put_u8(8);
            put_count(out, values.len());
            for value in values {
                put_value(out, value);
            }
        }
        HeaderValue::Table(headers) => {
            out.put_u8(9);
            put_headers(out, headers);
        }
    }
}

/// Levels of lists and tables in `headers`; 0: all values are plain.
pub(crate) fn headers_depth(headers: &Headers) -> usize {
    headers.iter().map(|(_, value)| value_depth(value)).max().unwrap_or(0)
}

pub(crate) fn get_u8(input: &mut Bytes) -> Result<u8, CorruptBytes> {
    input.try_get_u8().map_err(|_| CORRUPT)
}

pub(crate) fn get_u32(input: &mut Bytes) -> Result<u32, CorruptBytes> {
    input.try_get_u32_le().map_err(|_| CORRUPT)
}

pub(crate) fn get_u64(input: &mut Bytes) -> Result<u64, CorruptBytes> {
    input.try_get_u64_le().map_err(|_| CORRUPT)
}

pub(crate) fn get_bool(input: &mut Bytes) -> Result<bool, CorruptBytes> {
    match get_u8(input)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(CORRUPT),
    }
}

pub(crate) fn get_count(input: &mut Bytes) -> Result<usize, CorruptBytes> {
    usize::try_from(get_u32(input)?).map_err(|_| CORRUPT)
}

/// Copied out, so that a row does not pin the entry or snapshot that it came from.
pub(crate) fn get_bytes(input: &mut Bytes) -> Result<Bytes, CorruptBytes> {
    let length = get_count(input)?;
    if length > input.len() {
        return Err(CORRUPT);
    }
    Ok(Bytes::copy_from_slice(&input.split_to(length)))
}

pub(crate) fn get_string(input: &mut Bytes) -> Result<String, CorruptBytes> {
    String::from_utf8(get_bytes(input)?.to_vec()).map_err(|_| CORRUPT)
}

pub(crate) fn get_connection(input: &mut Bytes) -> Result<Option<ConnectionId>, CorruptBytes> {
    if get_bool(input)? { Ok(Some(ConnectionId(get_u64(input)?))) } else { Ok(None) }
}

/// A list: its count, then each element as `get` reads it.
pub(crate) fn get_list<T>(
    input: &mut Bytes,
    mut get: impl FnMut(&mut Bytes) -> Result<T, CorruptBytes>,
) -> Result<Vec<T>, CorruptBytes> {
    let count = get_count(input)?;
    let mut list = Vec::with_capacity(count.min(RESERVED_MAX));
    for _ in 0..count {
        list.push(get(input)?);
    }
    Ok(list)
}

pub(crate) fn get_headers(input: &mut Bytes) -> Result<Headers, CorruptBytes> {
    get_headers_within(input, ARGUMENTS_DEPTH_MAX)
}

fn get_headers_within(input: &mut Bytes, depth: usize) -> Result<Headers, CorruptBytes> {
    get_list(input, |input| Ok((get_bytes(input)?, get_value_within(input, depth)?)))
}

fn get_value_within(input: &mut Bytes, depth: usize) -> Result<HeaderValue, CorruptBytes> {
    Ok(match get_u8(input)? {
        0 => HeaderValue::Void,
        1 => HeaderValue::Boolean(get_bool(input)?),
        2 => HeaderValue::Integer(input.try_get_i64_le().map_err(|_| CORRUPT)?),
        3 => HeaderValue::Float(f64::from_bits(get_u64(input)?)),
        4 => HeaderValue::Decimal { scale: get_u8(input)?, value: input.try_get_i32_le().map_err(|_| CORRUPT)? },
        5 => HeaderValue::Text(get_bytes(input)?),
        6 => HeaderValue::Binary(get_bytes(input)?),
        7 => HeaderValue::TimestampS(get_u64(input)?),
        8 => {
            let inner = depth.checked_sub(1).ok_or(CORRUPT)?;
            HeaderValue::List(get_list(input, |input| get_value_within(input, inner))?)
        }
        9 => HeaderValue::Table(get_headers_within(input, depth.checked_sub(1).ok_or(CORRUPT)?)?),
        _ => return Err(CORRUPT),
    })
}

fn value_depth(value: &HeaderValue) -> usize {
    match value {
        HeaderValue::List(values) => 1 + values.iter().map(value_depth).max().unwrap_or(0),
        HeaderValue::Table(headers) => 1 + headers_depth(headers),
        HeaderValue::Void
        | HeaderValue::Boolean(_)
        | HeaderValue::Integer(_)
        | HeaderValue::Float(_)
        | HeaderValue::Decimal { .. }
        | HeaderValue::Text(_)
        | HeaderValue::Binary(_)
        | HeaderValue::TimestampS(_) => 0,
    }
}
