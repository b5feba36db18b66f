//! What members of other protocols see of an AMQP message (SPEC section 5).

use alloc::vec::Vec;

use braid_types::{Address, HeaderValue, Headers, Message, Properties, Protocol, ReplyAddress};
use bytes::Bytes;

use super::{REPLY_TOPIC_PREFIX, View, encode::CORRELATION_HEADER};
use crate::field_table;

/// The neutral view of an AMQP message's properties. A block that cannot be read (none is let in) has none.
///
/// `delivery-mode` and `cluster-id` have no neutral form. A `reply-to` that this crate wrote for a topic becomes that
/// topic again, and an `x-correlation-id` header stands in for a correlation id that did not fit.
#[must_use]
pub fn neutral(message: &Message) -> Properties {
    let block = &message.header;
    let view = View::parse(block).unwrap_or_default();
    let own = |part: Option<&[u8]>| part.map(|part| block.slice_ref(part));
    let mut headers = view.headers.and_then(|table| field_table::decode(table, block).ok()).unwrap_or_default();
    let correlation = own(view.correlation_id).or_else(|| take_correlation(&mut headers));
    Properties {
        content_type: own(view.content_type),
        content_encoding: own(view.content_encoding),
        correlation,
        reply: own(view.reply_to).and_then(reply_address),
        message_id: own(view.message_id),
        timestamp_s: view.timestamp_s,
        expires_at: message.expires_at,
        priority: view.priority,
        kind: own(view.kind),
        application: own(view.app_id),
        user: own(view.user_id),
        headers,
        is_text: false,
    }
}

fn reply_address(reply_to: Bytes) -> Option<ReplyAddress> {
    if reply_to.is_empty() {
        return None;
    }
    match reply_to.strip_prefix(REPLY_TOPIC_PREFIX) {
        Some(topic) => Address::from_notation(Protocol::Amqp, topic).ok().map(ReplyAddress::Topic),
        None => Some(ReplyAddress::Group(reply_to)),
    }
}

fn take_correlation(headers: &mut Headers) -> Option<Bytes> {
    let position = headers.iter().position(|(name, _)| name.as_ref() == CORRELATION_HEADER)?;
    match headers.get(position) {
        Some((_, HeaderValue::Binary(octets) | HeaderValue::Text(octets))) => {
            let correlation = octets.clone();
            let rest: Vec<_> = headers.split_off(position).into_iter().skip(1).collect();
            headers.extend(rest);
            Some(correlation)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use bytes::BytesMut;

    use super::*;

    #[test]
    fn properties_survive_the_way_into_amqp_and_back() {
        let properties = Properties {
            content_type: Some(Bytes::from_static(b"text/plain")),
            correlation: Some(Bytes::from_static(&[0xff, 0])),
            message_id: Some(Bytes::from_static(b"m1")),
            timestamp_s: Some(12),
            priority: Some(3),
            kind: Some(Bytes::from_static(b"k")),
            application: Some(Bytes::from_static(b"a")),
            user: Some(Bytes::from_static(b"u")),
            reply: Some(ReplyAddress::Topic(Address::from_notation(Protocol::Mqtt, b"x/y").unwrap())),
            headers: vec![(Bytes::from_static(b"h"), HeaderValue::Text(Bytes::from_static(b"v")))],
            ..Properties::default()
        };
        let mut out = BytesMut::new();
        super::super::encode(&properties, braid_types::Timestamp(0), &mut out).unwrap();
        let message = Message { header: out.freeze(), ..Message::empty(Protocol::Amqp) };
        assert_eq!(neutral(&message), properties);
    }

    #[test]
    fn an_empty_block_has_no_properties_and_a_queue_is_a_group() {
        let message = Message { header: Bytes::from_static(&[0, 0]), ..Message::empty(Protocol::Amqp) };
        assert_eq!(neutral(&message), Properties::default());
        let message = Message { header: Bytes::from_static(&[2, 0, 1, b'q']), ..Message::empty(Protocol::Amqp) };
        assert_eq!(neutral(&message).reply, Some(ReplyAddress::Group(Bytes::from_static(b"q"))));
    }
}
