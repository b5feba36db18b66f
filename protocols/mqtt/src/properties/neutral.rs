//! The neutral view of an MQTT message, for members of other protocols (SPEC section 5). Absent stays absent.

use braid_types::{Address, HeaderValue, Message, Properties, Protocol, ReplyAddress};
use bytes::Bytes;

use super::{Value, id};
use crate::{codec::Reader, topic::QUEUE_PREFIX};

/// The neutral properties of `message`, which must be of MQTT origin. Its user properties become headers in their
/// order, with duplicates; a response topic `$queue/NAME` becomes the group NAME, any other one an address.
#[must_use]
pub fn neutral(message: &Message) -> Properties {
    let mut properties = Properties { expires_at: message.expires_at, ..Properties::default() };
    let mut reader = Reader::new(&message.header);
    while !reader.is_empty() {
        // The block was validated when the message came in.
        let Ok((identifier, value)) = super::next(&mut reader) else { break };
        let bytes = |value: Value<'_>| message.header.slice_ref(value.bytes());
        match identifier {
            id::CONTENT_TYPE => properties.content_type = Some(bytes(value)),
            id::CORRELATION_DATA => properties.correlation = Some(bytes(value)),
            id::RESPONSE_TOPIC => properties.reply = reply(&bytes(value)),
            id::PAYLOAD_FORMAT => properties.is_text = value.number() == 1,
            id::USER_PROPERTY => {
                if let Value::Pair(name, text) = value {
                    let text = HeaderValue::Text(message.header.slice_ref(text));
                    properties.headers.push((message.header.slice_ref(name), text));
                }
            }
            _ => {}
        }
    }
    properties
}

fn reply(topic: &Bytes) -> Option<ReplyAddress> {
    if let Some(name) = topic.strip_prefix(QUEUE_PREFIX) {
        return Some(ReplyAddress::Group(topic.slice_ref(name)));
    }
    Address::from_notation(Protocol::Mqtt, topic).ok().map(ReplyAddress::Topic)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn all_properties_cross_in_order() {
        let header =
            b"\x01\x01\x03\x00\x01t\x08\x00\x08$queue/q\x09\x00\x02\x00\xFF\x26\x00\x01k\x00\x01a\x26\x00\x01k\x00\x00";
        let message = Message { header: Bytes::from_static(header), ..Message::empty(Protocol::Mqtt) };
        let text = |text: &'static [u8]| HeaderValue::Text(Bytes::from_static(text));
        let expected = Properties {
            content_type: Some(Bytes::from_static(b"t")),
            correlation: Some(Bytes::from_static(b"\x00\xFF")),
            reply: Some(ReplyAddress::Group(Bytes::from_static(b"q"))),
            headers: vec![(Bytes::from_static(b"k"), text(b"a")), (Bytes::from_static(b"k"), text(b""))],
            is_text: true,
            ..Properties::default()
        };
        assert_eq!(neutral(&message), expected);
        assert_eq!(neutral(&Message::empty(Protocol::Mqtt)), Properties::default());
    }
}
