//! MQTT 5 properties for a message of another protocol, made from its neutral properties (SPEC section 5).
//!
//! What MQTT has no property for becomes a user property under AMQP's name, before the headers. A value that MQTT
//! cannot hold is left out: it never costs the subscriber its connection (CASES S10, 47).

use alloc::format;

use braid_types::{Properties, Protocol, ReplyAddress, Timestamp};
use bytes::{BufMut, Bytes, BytesMut};

use super::{header_text::header_text, id, publish::remaining_s};
use crate::{codec, text, topic};

/// Appends the property block (without its length) for `properties`.
pub(crate) fn put(
    out: &mut BytesMut,
    properties: &Properties,
    expires_at: Option<Timestamp>,
    delivery_count: u32,
    now: Timestamp,
) {
    if properties.is_text {
        out.put_slice(&[id::PAYLOAD_FORMAT, 1]);
    }
    if let Some(expires_at) = expires_at.or(properties.expires_at) {
        out.put_u8(id::MESSAGE_EXPIRY);
        out.put_u32(remaining_s(expires_at, now));
    }
    put_text(out, id::CONTENT_TYPE, properties.content_type.as_deref());
    if let Some(topic) = properties.reply.as_ref().and_then(reply_topic) {
        put_text(out, id::RESPONSE_TOPIC, Some(&topic));
    }
    if let Some(correlation) = properties.correlation.as_deref()
        && u16::try_from(correlation.len()).is_ok()
    {
        out.put_u8(id::CORRELATION_DATA);
        codec::put_binary(out, correlation);
    }
    put_user(out, b"content-encoding", properties.content_encoding.as_deref());
    put_user(out, b"message-id", properties.message_id.as_deref());
    put_user(out, b"type", properties.kind.as_deref());
    put_user(out, b"app-id", properties.application.as_deref());
    put_user(out, b"user-id", properties.user.as_deref());
    if let Some(timestamp_s) = properties.timestamp_s {
        put_user(out, b"timestamp", Some(format!("{timestamp_s}").as_bytes()));
    }
    if let Some(priority) = properties.priority {
        put_user(out, b"priority", Some(format!("{priority}").as_bytes()));
    }
    if delivery_count > 0 {
        put_user(out, b"x-delivery-count", Some(format!("{delivery_count}").as_bytes()));
    }
    for (name, value) in &properties.headers {
        put_user(out, name, header_text(value).as_deref());
    }
}

/// The topic to which an MQTT client publishes its reply.
fn reply_topic(reply: &ReplyAddress) -> Option<Bytes> {
    let topic = match reply {
        ReplyAddress::Topic(address) => address.to_notation(Protocol::Mqtt).ok()?,
        ReplyAddress::Group(name) => [topic::QUEUE_PREFIX, name].concat().into(),
    };
    topic::is_name(&topic).then_some(topic)
}

fn put_text(out: &mut BytesMut, identifier: u8, value: Option<&[u8]>) {
    if let Some(value) = value.filter(|value| is_sendable(value)) {
        out.put_u8(identifier);
        codec::put_binary(out, value);
    }
}

fn put_user(out: &mut BytesMut, name: &[u8], value: Option<&[u8]>) {
    if let Some(value) = value.filter(|value| is_sendable(value) && is_sendable(name)) {
        out.put_u8(id::USER_PROPERTY);
        codec::put_binary(out, name);
        codec::put_binary(out, value);
    }
}

fn is_sendable(value: &[u8]) -> bool {
    u16::try_from(value.len()).is_ok() && text::is_text(value)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use braid_types::HeaderValue;

    use super::*;
    use crate::properties::{Carrier, walk};

    #[test]
    fn the_block_is_valid_and_what_does_not_fit_is_left_out() {
        let properties = Properties {
            content_type: Some(Bytes::from_static(b"text/plain")),
            correlation: Some(Bytes::from(vec![0xFF; 300])),
            reply: Some(ReplyAddress::Group(Bytes::from_static(b"jobs"))),
            priority: Some(3),
            kind: Some(Bytes::from_static(&[0xFF])),
            headers: vec![
                (Bytes::from_static(b"k"), HeaderValue::Integer(1)),
                (Bytes::from_static(b"k"), HeaderValue::Binary(Bytes::from_static(&[0xFF]))),
            ],
            is_text: true,
            ..Properties::default()
        };
        let mut out = BytesMut::new();
        put(&mut out, &properties, Some(Timestamp(1_500)), 2, Timestamp(0));
        let mut seen = vec![];
        walk(&out, Carrier::Publish, |identifier, _, _| seen.push(identifier)).expect("valid");
        assert_eq!(seen, [0x01, 0x02, 0x03, 0x08, 0x09, 0x26, 0x26, 0x26]);
        assert!(out.windows(11).any(|bytes| bytes == b"$queue/jobs"));
        assert!(out.windows(5).any(|bytes| bytes == [0x02, 0, 0, 0, 2]));
    }

    #[test]
    fn a_reply_group_that_is_no_topic_is_left_out() {
        let properties =
            Properties { reply: Some(ReplyAddress::Group(Bytes::from_static(b"a#b"))), ..Properties::default() };
        let mut out = BytesMut::new();
        put(&mut out, &properties, None, 0, Timestamp(0));
        assert!(out.is_empty());
    }
}
