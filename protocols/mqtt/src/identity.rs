//! Who an MQTT publish says it is: the user properties `x-publisher-id` and `x-publisher-seq`, or `Nats-Msg-Id` (SPEC
//! section 3). MQTT 3 has none.
//!
//! Runs for every publish. A block without these bytes costs one look at them.

use braid_types::{IdentityError, IdentityHeaders, IdentityValue, Message, PublisherIdentity};
use bytes::Bytes;

use crate::{
    codec::Reader,
    properties::{self, Value},
};

/// The identity of `message`, of MQTT origin; `None` when it has none.
///
/// # Errors
/// Its user properties make no sense: the publish is to be refused.
#[inline]
pub fn publish_identity(message: &Message) -> Result<Option<PublisherIdentity>, IdentityError> {
    if !PublisherIdentity::may_be_in(&message.header) {
        return Ok(None);
    }
    read(&message.header)
}

#[cold]
fn read(block: &Bytes) -> Result<Option<PublisherIdentity>, IdentityError> {
    let mut headers = IdentityHeaders::default();
    let mut reader = Reader::new(block);
    while !reader.is_empty() {
        // Blocks were checked at the way in.
        let Ok((_, value)) = properties::next(&mut reader) else { break };
        if let Value::Pair(name, text) = value {
            headers.take(name, IdentityValue::Text(block.slice_ref(text)))?;
        }
    }
    headers.finish()
}

#[cfg(test)]
mod tests {
    use braid_types::Protocol;

    use super::*;

    fn identity(header: &'static [u8]) -> Result<Option<PublisherIdentity>, IdentityError> {
        publish_identity(&Message { header: Bytes::from_static(header), ..Message::empty(Protocol::Mqtt) })
    }

    #[test]
    fn user_properties_say_it() {
        let sequence = PublisherIdentity::Sequence { publisher: Bytes::from_static(b"p"), sequence: 12 };
        let token = PublisherIdentity::Token(Bytes::from_static(b"t"));
        let block = b"\x01\x01\x26\0\x0fx-publisher-seq\0\x0212\x26\0\x0ex-publisher-id\0\x01p\x03\0\x01t";
        assert_eq!(identity(block), Ok(Some(sequence)));
        assert_eq!(identity(b"\x26\0\x0bNats-Msg-Id\0\x01t"), Ok(Some(token)));
        assert_eq!(identity(b"\x26\0\x0ex-publisher-id\0\x01p"), Err(IdentityError::SequenceMissing));
        assert_eq!(identity(b"\x26\0\x0fx-publisher-seq\0\x01x"), Err(IdentityError::NotANumber));
        // No user property, a value, a block that ends early.
        for none in
            [&b""[..], b"\x03\0\x0bNats-Msg-Id", b"\x26\0\x01k\0\x0fx-publisher-seq", b"\x26\0\x0bNats-Msg-Id\0\x02t"]
        {
            assert_eq!(identity(none), Ok(None));
        }
    }
}
