//! Header blocks that the broker writes: for messages of other protocols, and with a delivery count.
//!
//! Absent stays absent. What a short string cannot hold goes into a header `x-<property>`. Headers of the same name,
//! which AMQP forbids (4.2.5.5), become one list in their order.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use braid_types::{HeaderValue, Headers, Properties, Protocol, ReplyAddress, Timestamp};
use bytes::{BufMut, Bytes, BytesMut};

use super::view::{
    APP_ID, CONTENT_ENCODING, CONTENT_TYPE, CORRELATION_ID, EXPIRATION, HEADERS, KIND, MESSAGE_ID, PRIORITY, REPLY_TO,
    TIMESTAMP, USER_ID, View,
};
use crate::{
    ConversionError, DecodeError,
    field_table::{encode as encode_table, encode_value, split_field, with_length},
    limits::SHORT_STRING_BYTES_MAX,
    writer::write_short_string,
};

/// A `reply-to` that begins with this names an address in the vhost's topic exchange: what a client publishes to the
/// default exchange with such a key goes to `amq.topic` with the rest of it. No queue can be declared under `amq.`.
pub const REPLY_TOPIC_PREFIX: &[u8] = b"amq.topic/";

/// Header that carries a correlation id which is not text of up to 255 bytes.
pub(super) const CORRELATION_HEADER: &[u8] = b"x-correlation-id";

/// Header with the number of failed tries.
const DELIVERY_COUNT_HEADER: &[u8] = b"x-delivery-count";

/// Appends the header block for `properties`; the expiration is what is left of it at `now`.
///
/// # Errors
/// A header's name is longer than AMQP can say.
pub fn encode(properties: &Properties, now: Timestamp, out: &mut BytesMut) -> Result<(), ConversionError> {
    let mut block = Block { flags: 0, extra: Vec::new() };
    let flags_at = out.len();
    out.put_u16(0);
    let content_type = block.fit(b"x-content-type", CONTENT_TYPE, properties.content_type.as_ref());
    let content_encoding = block.fit(b"x-content-encoding", CONTENT_ENCODING, properties.content_encoding.as_ref());
    let correlation = block.fit(CORRELATION_HEADER, CORRELATION_ID, properties.correlation.as_ref());
    let reply = reply_to(properties)?;
    let reply = block.fit(b"x-reply-to", REPLY_TO, reply.as_ref());
    let message_id = block.fit(b"x-message-id", MESSAGE_ID, properties.message_id.as_ref());
    let kind = block.fit(b"x-type", KIND, properties.kind.as_ref());
    let user = block.fit(b"x-user-id", USER_ID, properties.user.as_ref());
    let application = block.fit(b"x-app-id", APP_ID, properties.application.as_ref());

    put_short_string(out, content_type);
    put_short_string(out, content_encoding);
    block.put_headers(&properties.headers, out)?;
    if let Some(priority) = properties.priority {
        block.flags |= PRIORITY;
        out.put_u8(priority);
    }
    put_short_string(out, correlation);
    put_short_string(out, reply);
    if let Some(expires_at) = properties.expires_at {
        block.flags |= EXPIRATION;
        write_short_string(out, alloc::format!("{}", expires_at.since_ms(now)).as_bytes());
    }
    put_short_string(out, message_id);
    if let Some(seconds) = properties.timestamp_s {
        block.flags |= TIMESTAMP;
        out.put_u64(seconds);
    }
    put_short_string(out, kind);
    put_short_string(out, user);
    put_short_string(out, application);
    if let Some(flags) = out.get_mut(flags_at..flags_at + 2) {
        flags.copy_from_slice(&block.flags.to_be_bytes());
    }
    Ok(())
}

/// Appends `block` with the header `x-delivery-count` set to `count`; all else stays byte for byte.
///
/// # Errors
/// `block` cannot be read.
pub fn with_delivery_count(block: &[u8], count: u32, out: &mut BytesMut) -> Result<(), DecodeError> {
    let view = View::parse(block)?;
    let (before, after) = block.split_at_checked(view.headers_at).ok_or(DecodeError::Truncated)?;
    let table_bytes = view.headers.map_or(0, |contents| contents.len() + 4);
    let after = after.get(table_bytes..).ok_or(DecodeError::Truncated)?;
    let (flags, before) = before.split_first_chunk::<2>().ok_or(DecodeError::Truncated)?;
    out.put_u16(u16::from_be_bytes(*flags) | HEADERS);
    out.extend_from_slice(before);
    let mut result = Ok(());
    with_length(out, |out| {
        let mut contents = view.headers.unwrap_or_default();
        while !contents.is_empty() {
            match split_field(&mut contents) {
                Ok((name, _)) if name == DELIVERY_COUNT_HEADER => {}
                Ok((_, field)) => out.extend_from_slice(field),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        write_short_string(out, DELIVERY_COUNT_HEADER);
        encode_value(&HeaderValue::Integer(count.into()), out);
    });
    out.extend_from_slice(after);
    result
}

fn reply_to(properties: &Properties) -> Result<Option<Bytes>, ConversionError> {
    Ok(match &properties.reply {
        None => None,
        Some(ReplyAddress::Group(name)) => Some(name.clone()),
        Some(ReplyAddress::Topic(address)) => {
            let topic = address.to_notation(Protocol::Amqp).map_err(|_| ConversionError)?;
            let mut reply = BytesMut::with_capacity(REPLY_TOPIC_PREFIX.len() + topic.len());
            reply.extend_from_slice(REPLY_TOPIC_PREFIX);
            reply.extend_from_slice(&topic);
            Some(reply.freeze())
        }
    })
}

fn put_short_string(out: &mut BytesMut, value: Option<&Bytes>) {
    if let Some(value) = value {
        write_short_string(out, value);
    }
}

/// A block in the making: its flags, and headers for what did not fit elsewhere.
struct Block {
    flags: u16,
    extra: Headers,
}

impl Block {
    /// `value`, if it can be a short string that clients decode as text; otherwise it becomes a header.
    fn fit<'a>(&mut self, header: &'static [u8], flag: u16, value: Option<&'a Bytes>) -> Option<&'a Bytes> {
        let value = value?;
        if value.len() <= SHORT_STRING_BYTES_MAX && core::str::from_utf8(value).is_ok() {
            self.flags |= flag;
            return Some(value);
        }
        self.extra.push((Bytes::from_static(header), HeaderValue::Binary(value.clone())));
        None
    }

    fn put_headers(&mut self, headers: &Headers, out: &mut BytesMut) -> Result<(), ConversionError> {
        if headers.is_empty() && self.extra.is_empty() {
            return Ok(());
        }
        if headers.iter().any(|(name, _)| name.len() > SHORT_STRING_BYTES_MAX) {
            return Err(ConversionError);
        }
        self.flags |= HEADERS;
        if self.extra.is_empty() && !has_duplicates(headers) {
            encode_table(headers, out);
            return Ok(());
        }
        let mut merged = Headers::new();
        let mut seen = BTreeMap::new();
        for (name, value) in headers.iter().chain(&self.extra) {
            let position = *seen.entry(name.as_ref()).or_insert(merged.len());
            match merged.get_mut(position) {
                None => merged.push((name.clone(), value.clone())),
                Some((_, HeaderValue::List(values))) => values.push(value.clone()),
                Some((_, first)) => *first = HeaderValue::List(alloc::vec![first.clone(), value.clone()]),
            }
        }
        encode_table(&merged, out);
        Ok(())
    }
}

fn has_duplicates(headers: &Headers) -> bool {
    let mut seen = BTreeSet::new();
    !headers.iter().all(|(name, _)| seen.insert(name.as_ref()))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn text(value: &'static [u8]) -> HeaderValue {
        HeaderValue::Text(Bytes::from_static(value))
    }

    #[test]
    fn a_delivery_count_replaces_an_old_one_and_keeps_the_rest() {
        let headers = vec![
            (Bytes::from_static(DELIVERY_COUNT_HEADER), HeaderValue::Integer(9)),
            (Bytes::from_static(b"k"), HeaderValue::Boolean(true)),
        ];
        let mut block = BytesMut::new();
        let properties = Properties { headers, priority: Some(4), ..Properties::default() };
        encode(&properties, Timestamp(0), &mut block).unwrap();
        let mut out = BytesMut::new();
        with_delivery_count(&block, 2, &mut out).unwrap();
        let out = out.freeze();
        let view = View::parse(&out).unwrap();
        assert_eq!(view.priority, Some(4));
        let table = crate::field_table::decode(view.headers.unwrap(), &out).unwrap();
        let expected = vec![
            (Bytes::from_static(b"k"), HeaderValue::Boolean(true)),
            (Bytes::from_static(DELIVERY_COUNT_HEADER), HeaderValue::Integer(2)),
        ];
        assert_eq!(table, expected);
        let mut bare = BytesMut::new();
        with_delivery_count(&[0, 0], 1, &mut bare).unwrap();
        assert!(View::parse(&bare).unwrap().headers.is_some());
    }

    #[test]
    fn duplicates_become_lists_and_long_values_headers() {
        let properties = Properties {
            headers: vec![(Bytes::from_static(b"a"), text(b"1")), (Bytes::from_static(b"a"), text(b"2"))],
            correlation: Some(Bytes::from(vec![b'c'; 300])),
            expires_at: Some(Timestamp(1500)),
            ..Properties::default()
        };
        let mut out = BytesMut::new();
        encode(&properties, Timestamp(500), &mut out).unwrap();
        let out = out.freeze();
        let view = View::parse(&out).unwrap();
        assert_eq!((view.expiration, view.correlation_id), (Some(&b"1000"[..]), None));
        let table = crate::field_table::decode(view.headers.unwrap(), &out).unwrap();
        assert_eq!(table.first().unwrap().1, HeaderValue::List(vec![text(b"1"), text(b"2")]));
        assert_eq!(table.last().unwrap().0, CORRELATION_HEADER);
    }

    #[test]
    fn a_name_that_amqp_cannot_say_is_an_error() {
        let headers = vec![(Bytes::from(vec![b'n'; 256]), HeaderValue::Void)];
        let properties = Properties { headers, ..Properties::default() };
        assert_eq!(encode(&properties, Timestamp(0), &mut BytesMut::new()), Err(ConversionError));
    }
}
