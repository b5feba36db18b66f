//! Who a NATS publish says it is: the headers `x-publisher-id` and `x-publisher-seq`, or `Nats-Msg-Id` (SPEC section 3).
//!
//! Headers are found as nats-server finds `Nats-Msg-Id`: by the exact name, right after CR LF and right before a colon; the
//! value is what follows up to the next CR LF, without the spaces before it; of `Nats-Msg-Id` the first one counts.
//!
//! Runs for every publish. A block without these bytes costs one look at them.

use braid_types::{IdentityError, IdentityHeaders, IdentityValue, Message, PublisherIdentity};
use bytes::Bytes;

/// Bytes at the start of a block that are the same in all: `NATS/1.0`.
const VERSION_BYTES: usize = 8;

/// The identity of `message`, of NATS origin; `None` when it has none.
///
/// # Errors
/// Its headers make no sense: the publish is to be refused.
#[inline]
pub fn publish_identity(message: &Message) -> Result<Option<PublisherIdentity>, IdentityError> {
    match message.header.get(VERSION_BYTES..) {
        Some(rest) if PublisherIdentity::may_be_in(rest) => read(&message.header),
        Some(_) | None => Ok(None),
    }
}

#[cold]
fn read(block: &Bytes) -> Result<Option<PublisherIdentity>, IdentityError> {
    let mut headers = IdentityHeaders::default();
    let mut rest: &[u8] = block;
    while let Some(end) = memchr::memmem::find(rest, b"\r\n") {
        rest = rest.get(end + 2..).unwrap_or_default();
        let line = rest.get(..memchr::memmem::find(rest, b"\r\n").unwrap_or(rest.len())).unwrap_or_default();
        let Some((name, value)) = memchr::memchr(b':', line).and_then(|colon| line.split_at_checked(colon)) else {
            continue;
        };
        let value = value.get(1..).unwrap_or_default();
        let spaces = value.iter().take_while(|byte| **byte == b' ').count();
        let value = block.slice_ref(value.get(spaces..).unwrap_or_default());
        headers.take(name, IdentityValue::Text(value))?;
    }
    headers.finish()
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use braid_types::Protocol;

    use super::*;

    fn identity(lines: &str) -> Result<Option<PublisherIdentity>, IdentityError> {
        let header = Bytes::from(format!("NATS/1.0\r\n{lines}\r\n\r\n"));
        publish_identity(&Message { header, ..Message::empty(Protocol::Nats) })
    }

    fn token(token: &'static str) -> Result<Option<PublisherIdentity>, IdentityError> {
        Ok(Some(PublisherIdentity::Token(Bytes::from_static(token.as_bytes()))))
    }

    #[test]
    fn headers_are_found_as_nats_server_finds_them() {
        assert_eq!(identity("Nats-Msg-Id:t"), token("t"));
        assert_eq!(identity("A: x\r\nNats-Msg-Id:   t:1 \r\nNats-Msg-Id: u"), token("t:1 "));
        assert_eq!(identity("Nats-Msg-Id: a\nb"), token("a\nb"));
        let none = [
            "",
            "nats-msg-id: t",
            "Nats-Msg-Id : t",
            " Nats-Msg-Id: t",
            "A: Nats-Msg-Id: t",
            "A: b\nNats-Msg-Id: t",
            "Nats-Msg-Id",
            "Nats-Msg-Id: ",
            "XNats-Msg-Id: t",
            "Nats-Msg-Idx: t",
            "xNx-publisher-id: p",
        ];
        for none in none {
            assert_eq!(identity(none), Ok(None), "{none:?}");
        }
        for block in ["", "NATS/1.0", "Nats-Msg-Id: t\r\n\r\n"] {
            let header = Bytes::from_static(block.as_bytes());
            assert_eq!(publish_identity(&Message { header, ..Message::empty(Protocol::Nats) }), Ok(None), "{block}");
        }
    }

    #[test]
    fn publishers_number_their_messages() {
        let sequence = PublisherIdentity::Sequence { publisher: Bytes::from_static(b"p"), sequence: 5 };
        assert_eq!(identity("x-publisher-id: p\r\nNats-Msg-Id: t\r\nx-publisher-seq: 5"), Ok(Some(sequence)));
        assert_eq!(identity("x-publisher-id: p"), Err(IdentityError::SequenceMissing));
        assert_eq!(identity("x-publisher-seq: 5"), Err(IdentityError::PublisherMissing));
        assert_eq!(identity("x-publisher-id:\r\nx-publisher-seq: 5"), Err(IdentityError::Empty));
        assert_eq!(identity("x-publisher-id: p\r\nx-publisher-seq: 5 "), Err(IdentityError::NotANumber));
    }
}
