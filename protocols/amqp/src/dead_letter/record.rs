//! One death as a table of the header `x-death`, with RabbitMQ 4.3's fields in its order: `original-expiration` (text, when
//! there was one), `count` (64 bits), `reason`, `queue`, `time` (timestamp), `exchange`, `routing-keys` (array of texts).

use alloc::{format, vec::Vec};

use braid_types::{DeathRecord, HeaderValue, Headers};
use bytes::Bytes;

/// The table of a record.
pub(super) fn write(record: &DeathRecord) -> HeaderValue {
    let text = |value: &Bytes| HeaderValue::Text(value.clone());
    let mut fields = Headers::with_capacity(7);
    let mut push = |name: &'static str, value| fields.push((Bytes::from_static(name.as_bytes()), value));
    if let Some(milliseconds) = record.original_expiration_ms {
        push("original-expiration", HeaderValue::Text(Bytes::from(format!("{milliseconds}"))));
    }
    push("count", HeaderValue::Integer(i64::try_from(record.count).unwrap_or(i64::MAX)));
    push("reason", text(&record.reason));
    push("queue", text(&record.queue));
    push("time", HeaderValue::TimestampS(record.time_s));
    push("exchange", text(&record.exchange));
    push("routing-keys", HeaderValue::List(record.routing_keys.iter().map(text).collect()));
    HeaderValue::Table(fields)
}

/// The record of a table; `None`: it is no table.
pub(super) fn read(value: &HeaderValue) -> Option<DeathRecord> {
    let HeaderValue::Table(fields) = value else { return None };
    let mut record = DeathRecord::default();
    for (name, value) in fields {
        match (name.as_ref(), value) {
            (b"original-expiration", HeaderValue::Text(digits)) => record.original_expiration_ms = number(digits),
            (b"count", HeaderValue::Integer(count)) => record.count = u64::try_from(*count).unwrap_or(0),
            (b"reason", HeaderValue::Text(text)) => record.reason = text.clone(),
            (b"queue", HeaderValue::Text(text)) => record.queue = text.clone(),
            (b"time", HeaderValue::TimestampS(seconds)) => record.time_s = *seconds,
            (b"exchange", HeaderValue::Text(text)) => record.exchange = text.clone(),
            (b"routing-keys", HeaderValue::List(keys)) => record.routing_keys = texts(keys),
            _ => {}
        }
    }
    Some(record)
}

/// Decimal digits, without a sign.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    core::str::from_utf8(digits).ok()?.parse().ok()
}

fn texts(values: &[HeaderValue]) -> Vec<Bytes> {
    let text = |value: &HeaderValue| if let HeaderValue::Text(text) = value { Some(text.clone()) } else { None };
    values.iter().filter_map(text).collect()
}
