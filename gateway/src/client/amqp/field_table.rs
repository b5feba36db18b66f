//! Field tables: header names with typed values. Written with texts only, read with every type that servers send.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde_json::Value;

use super::frame::{put_long, put_short_text, take_bytes, take_long, take_short, truncated};
use crate::client::{ClientError, limits};

/// A table of texts, without its length.
pub(super) fn encoded(headers: &[(String, String)]) -> Result<BytesMut, ClientError> {
    let mut table = BytesMut::new();
    for (name, value) in headers {
        put_short_text(&mut table, name)?;
        table.put_u8(b'S');
        put_long(&mut table, value.as_bytes())?;
    }
    Ok(table)
}

/// Takes a table with its length.
pub(super) fn decoded(from: &mut Bytes) -> Result<Vec<(String, Value)>, ClientError> {
    table(from, 0)
}

fn table(from: &mut Bytes, depth: usize) -> Result<Vec<(String, Value)>, ClientError> {
    let mut fields = take_long(from)?;
    let mut headers = Vec::new();
    while fields.has_remaining() {
        let name = String::from_utf8_lossy(&take_short(&mut fields)?).into_owned();
        headers.push((name, value(&mut fields, depth)?));
    }
    Ok(headers)
}

/// The types are those of RabbitMQ's errata, section 3.
fn value(from: &mut Bytes, depth: usize) -> Result<Value, ClientError> {
    if depth > limits::TABLE_DEPTH_MAX {
        return Err(ClientError::Protocol("the server sent a header that is nested too deep"));
    }
    Ok(match truncated(from.try_get_u8())? {
        b't' => Value::from(truncated(from.try_get_u8())? != 0),
        b'b' => Value::from(truncated(from.try_get_i8())?),
        b'B' => Value::from(truncated(from.try_get_u8())?),
        b's' => Value::from(truncated(from.try_get_i16())?),
        b'u' => Value::from(truncated(from.try_get_u16())?),
        b'I' => Value::from(truncated(from.try_get_i32())?),
        b'i' => Value::from(truncated(from.try_get_u32())?),
        b'l' | b'L' => Value::from(truncated(from.try_get_i64())?),
        b'T' => Value::from(truncated(from.try_get_u64())?),
        b'f' => Value::from(truncated(from.try_get_f32())?),
        b'd' => Value::from(truncated(from.try_get_f64())?),
        b'D' => decimal(from)?,
        b'S' | b'x' => Value::from(String::from_utf8_lossy(&take_long(from)?).into_owned()),
        b'V' => Value::Null,
        b'F' => Value::Object(table(from, depth + 1)?.into_iter().collect()),
        b'A' => {
            let mut elements = take_long(from)?;
            let mut values = Vec::new();
            while elements.has_remaining() {
                values.push(value(&mut elements, depth + 1)?);
            }
            Value::Array(values)
        }
        _ => return Err(ClientError::Protocol("the server sent a header of an unknown type")),
    })
}

/// Scale and unscaled value, as text so that nothing is rounded.
fn decimal(from: &mut Bytes) -> Result<Value, ClientError> {
    let scale = take_bytes(from, 1)?.first().copied().unwrap_or_default();
    let unscaled = truncated(from.try_get_i32())?;
    Ok(Value::from(format!("{unscaled}e-{scale}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read() {
        let mut fields = BytesMut::new();
        let values: [(&[u8], Value); 16] = [
            (b"t\x01", Value::from(true)),
            (b"b\xff", Value::from(-1)),
            (b"B\xff", Value::from(255)),
            (b"s\xff\xfe", Value::from(-2)),
            (b"u\xff\xfe", Value::from(65534)),
            (b"I\xff\xff\xff\xff", Value::from(-1)),
            (b"i\xff\xff\xff\xff", Value::from(u32::MAX)),
            (b"l\xff\xff\xff\xff\xff\xff\xff\xff", Value::from(-1)),
            (b"L\0\0\0\0\0\0\0\x07", Value::from(7)),
            (b"T\0\0\0\0\0\0\0\x07", Value::from(7)),
            (b"f\x3f\x80\0\0", Value::from(1.0)),
            (b"d\x3f\xf0\0\0\0\0\0\0", Value::from(1.0)),
            (b"D\x02\0\0\x01\x41", Value::from("321e-2")),
            (b"S\0\0\0\x02ab", Value::from("ab")),
            (b"V", Value::Null),
            (b"A\0\0\0\x04t\0t\x01", Value::from(vec![false, true])),
        ];
        for (bytes, _) in &values {
            fields.put_slice(b"\x01k");
            fields.put_slice(bytes);
        }
        fields.put_slice(b"\x01kF\0\0\0\x04\x01ab\x05");
        let mut table = BytesMut::new();
        put_long(&mut table, &fields).unwrap();
        let mut actual: Vec<Value> =
            decoded(&mut table.freeze()).unwrap().into_iter().map(|(_, value)| value).collect();
        assert_eq!(actual.pop().unwrap(), serde_json::json!({"a": 5}));
        assert_eq!(actual, values.map(|(_, value)| value));
    }

    #[test]
    fn broken_tables_are_errors() {
        let nested = (0..64).fold(Vec::new(), |inner: Vec<u8>, _| {
            let mut outer = b"A".to_vec();
            outer.extend_from_slice(&u32::try_from(inner.len()).unwrap().to_be_bytes());
            outer.extend_from_slice(&inner);
            outer
        });
        let mut deep = b"\x01k".to_vec();
        deep.extend_from_slice(&nested);
        for fields in [b"\x05k".as_slice(), b"\x01k", b"\x01kS\0\0\0\x09ab", b"\x01kZ", b"\x01kI\0", &deep] {
            let mut table = BytesMut::new();
            put_long(&mut table, fields).unwrap();
            assert!(decoded(&mut table.freeze()).is_err(), "{}", fields.escape_ascii());
        }
        assert!(decoded(&mut Bytes::from_static(b"\xff\xff\xff\xff")).is_err());
    }
}
