//! Who an AMQP publish says it is: the headers `x-publisher-id` and `x-publisher-seq`, or `Nats-Msg-Id` (SPEC section 3).
//!
//! Runs for every publish. A block without these bytes costs one look at them, and one without headers not even that.

use braid_types::{HeaderValue, IdentityError, IdentityHeaders, IdentityValue, Message, PublisherIdentity};
use bytes::Bytes;

use crate::{
    field_table::{self, split_field},
    properties::View,
};

/// Bit of `headers` in the first octet of the property flags.
const HEADERS: u8 = 1 << 5;

/// The identity of `message`, of AMQP origin; `None` when it has none. The number is an integer of any type, or decimal text.
///
/// # Errors
/// Its headers make no sense: the publish is to be refused.
#[inline]
pub fn publish_identity(message: &Message) -> Result<Option<PublisherIdentity>, IdentityError> {
    let has_headers = message.header.first().is_some_and(|flags| flags & HEADERS != 0);
    if !has_headers || !PublisherIdentity::may_be_in(&message.header) {
        return Ok(None);
    }
    read(&message.header)
}

#[cold]
fn read(block: &Bytes) -> Result<Option<PublisherIdentity>, IdentityError> {
    let mut table = View::parse(block).ok().and_then(|view| view.headers).unwrap_or_default();
    let mut headers = IdentityHeaders::default();
    while !table.is_empty() {
        // Tables were checked at the way in.
        let Ok((name, field)) = split_field(&mut table) else { break };
        if IdentityHeaders::has(name) {
            let value = field_table::decode(field, block).ok().and_then(|mut headers| headers.pop());
            headers.take(name, value.map_or(IdentityValue::Other, |(_, value)| kind(value)))?;
        }
    }
    headers.finish()
}

fn kind(value: HeaderValue) -> IdentityValue {
    match value {
        HeaderValue::Text(text) | HeaderValue::Binary(text) => IdentityValue::Text(text),
        HeaderValue::Integer(number) => IdentityValue::Number(u64::try_from(number).ok()),
        HeaderValue::Void
        | HeaderValue::Boolean(_)
        | HeaderValue::Float(_)
        | HeaderValue::Decimal { .. }
        | HeaderValue::TimestampS(_)
        | HeaderValue::List(_)
        | HeaderValue::Table(_) => IdentityValue::Other,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use braid_types::{Protocol, limits::IDENTITY_BYTES_MAX};

    use super::*;

    /// A block with these fields, written out: name, then type letter and value.
    fn identity(fields: &[(&str, &[u8])]) -> Result<Option<PublisherIdentity>, IdentityError> {
        let mut table = Vec::new();
        for (name, value) in fields {
            table.push(u8::try_from(name.len()).unwrap());
            table.extend_from_slice(name.as_bytes());
            table.extend_from_slice(value);
        }
        let mut block = [&[0x20, 0][..], &u32::try_from(table.len()).unwrap().to_be_bytes(), &table].concat();
        let message = Message { header: Bytes::from(block.clone()), ..Message::empty(Protocol::Amqp) };
        let found = publish_identity(&message);
        // Among other properties it is the same.
        block[..2].copy_from_slice(&[0xa0, 0x80]);
        block.splice(2..2, *b"\x0atext/plain");
        block.extend_from_slice(b"\x05x-N-x");
        let message = Message { header: Bytes::from(block), ..message };
        assert_eq!(publish_identity(&message), found);
        found
    }

    fn sequence(sequence: u64) -> Result<Option<PublisherIdentity>, IdentityError> {
        Ok(Some(PublisherIdentity::Sequence { publisher: Bytes::from_static(b"p1"), sequence }))
    }

    #[test]
    fn integers_of_all_types_and_decimal_text_are_numbers() {
        let publisher = ("x-publisher-id", &b"S\0\0\0\x02p1"[..]);
        let table: &[(&[u8], u64)] = &[
            (b"b\x07", 7),
            (b"B\xff", 255),
            (b"s\x01\x00", 256),
            (b"u\xff\xff", 65_535),
            (b"I\0\0\x01\0", 256),
            (b"i\xff\xff\xff\xff", 4_294_967_295),
            (b"l\0\0\0\x01\0\0\0\0", 4_294_967_296),
            (b"L\0\0\0\0\0\0\0\0", 0),
            (b"S\0\0\0\x0218", 18),
            (b"x\0\0\0\x0218", 18),
        ];
        for (value, expected) in table {
            assert_eq!(identity(&[publisher, ("x-publisher-seq", value)]), sequence(*expected), "{value:?}");
        }
        for bad in [&b"b\xff"[..], b"t\x01", b"V", b"d\0\0\0\0\0\0\0\0", b"T\0\0\0\0\0\0\0\x01", b"S\0\0\0\x02-1"] {
            let found = identity(&[publisher, ("x-publisher-seq", bad)]);
            assert_eq!(found, Err(IdentityError::NotANumber), "{bad:?}");
        }
        assert_eq!(identity(&[publisher]), Err(IdentityError::SequenceMissing));
        assert_eq!(identity(&[("x-publisher-id", b"V"), publisher]), Err(IdentityError::NotAText));
    }

    #[test]
    fn tokens_and_blocks_without_an_identity() {
        let token = PublisherIdentity::Token(Bytes::from_static(b"t"));
        assert_eq!(identity(&[("a", b"V"), ("Nats-Msg-Id", b"S\0\0\0\x01t")]), Ok(Some(token)));
        // The name as a value, or in an inner table, is no header.
        assert_eq!(identity(&[("a", b"S\0\0\0\x0bNats-Msg-Id")]), Ok(None));
        assert_eq!(identity(&[("a", b"F\0\0\0\x11\x0fx-publisher-seqV")]), Ok(None));
        let long = [&b"S\0\0\x01\0"[..], &[b'x'; IDENTITY_BYTES_MAX + 1]].concat();
        assert_eq!(identity(&[("Nats-Msg-Id", &long)]), Err(IdentityError::TooLong));
        for header in [&b""[..], b"\0", b"\0\0", b"\x20", b"\x20\0\0\0\0\x20\x0bNats-Msg-Id"] {
            let message = Message { header: Bytes::from_static(header), ..Message::empty(Protocol::Amqp) };
            assert_eq!(publish_identity(&message), Ok(None), "{header:?}");
        }
    }
}
