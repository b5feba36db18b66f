//! Who a publish says it is, so that it is stored once however often it is sent (SPEC section 3, exactly-once publishing).
//!
//! Two ways, the same in all protocols (AMQP headers, MQTT user properties, NATS headers): a publisher that numbers its
//! messages (`x-publisher-id` and `x-publisher-seq`), or a name for one message (`Nats-Msg-Id`). Names are case-sensitive,
//! as `Nats-Msg-Id` is in nats-server. With both, the numbers count: they are known for longer.
//!
//! Never decides what is a duplicate. Invariant: names have 1 to [`crate::limits::IDENTITY_BYTES_MAX`] bytes.

use bytes::Bytes;

use crate::limits::IDENTITY_BYTES_MAX;

/// Header with the name of a publisher.
const PUBLISHER: &[u8] = b"x-publisher-id";

/// Header with the number that a publisher gave to a message.
const SEQUENCE: &[u8] = b"x-publisher-seq";

/// Header with the name of a message.
const TOKEN: &[u8] = b"Nats-Msg-Id";

/// What is the same when a message is published a second time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublisherIdentity {
    /// A publisher that numbers its messages. Numbers rise; gaps are allowed.
    Sequence {
        /// Its name.
        publisher: Bytes,
        /// The number of the message.
        sequence: u64,
    },
    /// A name for this message alone.
    Token(Bytes),
}

/// The publisher's fault: its identity makes no sense, so the publish is refused with this text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// A number without a name.
    #[error("x-publisher-seq without x-publisher-id")]
    PublisherMissing,
    /// A name without a number.
    #[error("x-publisher-id without x-publisher-seq")]
    SequenceMissing,
    /// One of the two comes twice.
    #[error("x-publisher-id or x-publisher-seq comes twice")]
    Twice,
    /// Not decimal digits, or beyond 64 bits.
    #[error("x-publisher-seq is not a number from 0 to 18446744073709551615")]
    NotANumber,
    /// A value of a type that is no text.
    #[error("x-publisher-id or Nats-Msg-Id is not a text")]
    NotAText,
    /// An empty name.
    #[error("x-publisher-id is empty")]
    Empty,
    /// A name of more than [`IDENTITY_BYTES_MAX`] bytes.
    #[error("x-publisher-id or Nats-Msg-Id is longer than 255 bytes")]
    TooLong,
}

impl PublisherIdentity {
    /// Whether a header block may have an identity in it: a quick look at its bytes, for most have none. Never misses one.
    #[inline]
    #[must_use]
    pub fn may_be_in(block: &[u8]) -> bool {
        memchr::memchr2_iter(b'x', b'N', block).any(|position| {
            block.get(position..).is_some_and(|rest| rest.starts_with(b"x-publisher-") || rest.starts_with(TOKEN))
        })
    }
}

/// What one header of an identity holds.
#[derive(Clone, Debug)]
pub enum IdentityValue {
    /// Text, or binary data.
    Text(Bytes),
    /// A number; `None` for a negative one.
    Number(Option<u64>),
    /// Anything else.
    Other,
}

/// Collects the headers of an identity.
#[derive(Clone, Debug, Default)]
pub struct IdentityHeaders {
    publisher: Option<Bytes>,
    sequence: Option<u64>,
    token: Option<Bytes>,
}

impl IdentityHeaders {
    /// Whether a header of this name belongs to an identity.
    #[must_use]
    pub fn has(name: &[u8]) -> bool {
        name == PUBLISHER || name == SEQUENCE || name == TOKEN
    }

    /// Takes one header; those of other names are none of it. The first `Nats-Msg-Id` counts, and an empty one is none, as in
    /// nats-server.
    ///
    /// # Errors
    /// Its value makes no sense, or `x-publisher-id` or `x-publisher-seq` came before.
    pub fn take(&mut self, name: &[u8], value: IdentityValue) -> Result<(), IdentityError> {
        match name {
            PUBLISHER if self.publisher.is_some() => return Err(IdentityError::Twice),
            PUBLISHER => self.publisher = Some(text(value).and_then(not_empty)?),
            SEQUENCE if self.sequence.is_some() => return Err(IdentityError::Twice),
            SEQUENCE => self.sequence = Some(number(&value).ok_or(IdentityError::NotANumber)?),
            TOKEN if self.token.is_none() => self.token = Some(text(value)?).filter(|token| !token.is_empty()),
            _ => {}
        }
        Ok(())
    }

    /// The identity, when all headers have been taken.
    ///
    /// # Errors
    /// One of `x-publisher-id` and `x-publisher-seq` is missing.
    pub fn finish(self) -> Result<Option<PublisherIdentity>, IdentityError> {
        match (self.publisher, self.sequence) {
            (Some(publisher), Some(sequence)) => Ok(Some(PublisherIdentity::Sequence { publisher, sequence })),
            (Some(_), None) => Err(IdentityError::SequenceMissing),
            (None, Some(_)) => Err(IdentityError::PublisherMissing),
            (None, None) => Ok(self.token.map(PublisherIdentity::Token)),
        }
    }
}

fn text(value: IdentityValue) -> Result<Bytes, IdentityError> {
    match value {
        IdentityValue::Text(text) if text.len() <= IDENTITY_BYTES_MAX => Ok(text),
        IdentityValue::Text(_) => Err(IdentityError::TooLong),
        IdentityValue::Number(_) | IdentityValue::Other => Err(IdentityError::NotAText),
    }
}

fn not_empty(text: Bytes) -> Result<Bytes, IdentityError> {
    if text.is_empty() { Err(IdentityError::Empty) } else { Ok(text) }
}

fn number(value: &IdentityValue) -> Option<u64> {
    match value {
        IdentityValue::Number(number) => *number,
        IdentityValue::Text(digits) if digits.iter().all(u8::is_ascii_digit) => {
            core::str::from_utf8(digits).ok()?.parse().ok()
        }
        IdentityValue::Text(_) | IdentityValue::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn identity(headers: &[(&str, &str)]) -> Result<Option<PublisherIdentity>, IdentityError> {
        let mut collected = IdentityHeaders::default();
        for (name, value) in headers {
            collected.take(name.as_bytes(), IdentityValue::Text(Bytes::copy_from_slice(value.as_bytes())))?;
        }
        collected.finish()
    }

    #[test]
    fn a_number_or_a_token() {
        let sequence = |sequence| PublisherIdentity::Sequence { publisher: Bytes::from_static(b"p"), sequence };
        let token = PublisherIdentity::Token(Bytes::from_static(b"t"));
        assert_eq!(identity(&[]), Ok(None));
        assert_eq!(identity(&[("a", "b"), ("nats-msg-id", "t"), ("X-Publisher-Id", "p")]), Ok(None));
        assert_eq!(identity(&[("x-publisher-seq", "0"), ("x-publisher-id", "p")]), Ok(Some(sequence(0))));
        let most = [("x-publisher-id", "p"), ("x-publisher-seq", "18446744073709551615")];
        assert_eq!(identity(&most), Ok(Some(sequence(u64::MAX))));
        assert_eq!(identity(&[("Nats-Msg-Id", "t"), ("Nats-Msg-Id", "u")]), Ok(Some(token.clone())));
        assert_eq!(identity(&[("Nats-Msg-Id", ""), ("Nats-Msg-Id", "t")]), Ok(Some(token)));
        assert_eq!(identity(&[("Nats-Msg-Id", "")]), Ok(None));
        let both = [("Nats-Msg-Id", "t"), ("x-publisher-id", "p"), ("x-publisher-seq", "7")];
        assert_eq!(identity(&both), Ok(Some(sequence(7))));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let long = "l".repeat(IDENTITY_BYTES_MAX + 1);
        let table: &[(&[(&str, &str)], IdentityError)] = &[
            (&[("x-publisher-id", "p")], IdentityError::SequenceMissing),
            (&[("x-publisher-seq", "1")], IdentityError::PublisherMissing),
            (&[("x-publisher-seq", "1"), ("Nats-Msg-Id", "t")], IdentityError::PublisherMissing),
            (&[("x-publisher-id", ""), ("x-publisher-seq", "1")], IdentityError::Empty),
            (&[("x-publisher-id", &long), ("x-publisher-seq", "1")], IdentityError::TooLong),
            (&[("Nats-Msg-Id", &long)], IdentityError::TooLong),
            (&[("x-publisher-id", "p"), ("x-publisher-id", "p")], IdentityError::Twice),
            (&[("x-publisher-seq", "1"), ("x-publisher-seq", "2")], IdentityError::Twice),
        ];
        for (headers, error) in table {
            assert_eq!(identity(headers), Err(*error), "{headers:?}");
        }
        for number in ["", "+1", "-1", " 1", "1.0", "0x1", "18446744073709551616", "one"] {
            assert_eq!(identity(&[("x-publisher-seq", number)]), Err(IdentityError::NotANumber), "{number}");
        }
        let longest = "l".repeat(IDENTITY_BYTES_MAX);
        assert_eq!(
            identity(&[("Nats-Msg-Id", &longest)]),
            Ok(Some(PublisherIdentity::Token(Bytes::copy_from_slice(longest.as_bytes()))))
        );
        let mut headers = IdentityHeaders::default();
        assert_eq!(headers.take(PUBLISHER, IdentityValue::Number(Some(1))), Err(IdentityError::NotAText));
        assert_eq!(headers.take(SEQUENCE, IdentityValue::Number(None)), Err(IdentityError::NotANumber));
        assert_eq!(headers.take(SEQUENCE, IdentityValue::Other), Err(IdentityError::NotANumber));
    }

    #[test]
    fn the_quick_look_never_misses_one() {
        for name in [PUBLISHER, SEQUENCE, TOKEN] {
            assert!(IdentityHeaders::has(name));
            for before in 0..70 {
                let mut block = vec![b'x'; before];
                block.extend_from_slice(name);
                assert!(PublisherIdentity::may_be_in(&block), "{before}");
                block.truncate(block.len() - name.len());
                assert!(!PublisherIdentity::may_be_in(&block));
            }
        }
        assert!(!PublisherIdentity::may_be_in(b"NATS/1.0\r\nnats-msg-id: 1\r\nx-publish: 2\r\n\r\n"));
    }
}
