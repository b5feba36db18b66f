//! Canonical addresses (SPEC section 4): a list of levels that AMQP topic keys, MQTT topics and NATS subjects are three
//! notations of. Never a joined string.
//!
//! A level is a byte string without `.`. Its text in each notation (its *token*) is given by one rule:
//!
//! | level | AMQP | MQTT | NATS | |
//! |---|---|---|---|---|
//! | `abc` | `abc` | `abc` | `abc` | most levels are the same everywhere |
//! | `a/b` | `a/b` | `a.b` | `a/b` | `/` and `.` change places in the slashed notation |
//! | `a b` | `a b` | `a b` | `a%20b` | bytes that a notation cannot hold are `%XX` there, in upper case |
//! | `a+b`, `#` | the same | `a%2Bb`, `%23` | the same | MQTT: no `+` and `#` anywhere, no control or non-characters, UTF-8 |
//! | `FF` (one byte) | the same | `%FF` | the same | MQTT: each byte that is not part of a character that it can hold |
//! | `*`, `>` | the same | the same | `%2A`, `%3E` | NATS: not alone in a token; `a*` and `>>` are plain text |
//! | empty | empty | empty | `%` | MQTT too where it is the only level (a topic is not empty) |
//! | `%20` | `%20` | `%20` | `%2520` | a `%` that would be read as an escape is one itself: `%25` |
//! | `%2B` | `%2B` | `%252B` | `%252B` | |
//! | `100%` | `100%` | `100%` | `100%25` | a `%` that is no escape: AMQP and MQTT hold it, NATS writes `%25` |
//! | `100%25` | `100%25` | `100%25` | `100%` | ... and so a NATS `100%` is `100%25` for the two others |
//! | `a %` | `a %` | `a %` | `a%20%25` | a token with an escape has no bare `%` |
//!
//! Which tokens a notation has: AMQP all; MQTT (4.7.1, 4.7.3, 1.5.4) UTF-8 without NUL, control characters,
//! non-characters, `+`, `#`, and not the empty topic; NATS not empty, not `*` or `>` alone, no control characters or spaces.
//! The rule maps levels to the tokens of each notation **one to one and onto**: every token of every protocol is some
//! level's, so that a publisher's own text always comes back byte for byte, and no two texts of one protocol meet in
//! another. (A bare `%` cannot be `%25` between *all three*: if AMQP's and MQTT's `100%` were both NATS's `100%25`, they
//! would be one address, and equal in AMQP and MQTT. So those two share it, and NATS differs.)
//!
//! Invariants: an address has 1 to [`crate::limits::ADDRESS_LEVELS_MAX`] levels, of at most
//! [`crate::limits::ADDRESS_BYTES_MAX`] bytes with one between each two; equal lists of levels are equal bytes.

mod encoding;
mod escape;
pub(crate) mod notation;

use alloc::{sync::Arc, vec::Vec};
use core::iter::FusedIterator;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::{
    CorruptBytes, Protocol, Wire,
    limits::{ADDRESS_BYTES_MAX, ADDRESS_LEVELS_MAX},
};

/// The bytes of one level in canonical form.
pub type Level = [u8];

/// A canonical address. Cheap to clone; equal addresses are equal byte for byte, so it hashes and orders.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// See [`encoding`].
    encoded: Arc<[u8]>,
}

/// Why bytes are not an address or filter, or cannot be written in a notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// More levels than [`crate::limits::ADDRESS_LEVELS_MAX`].
    #[error("too many levels")]
    TooManyLevels,
    /// Longer than the notation can hold.
    #[error("too long")]
    TooLong,
    /// Not allowed in the notation (a wildcard in a topic name, an empty NATS token, a wildcard that is not alone).
    #[error("malformed")]
    Malformed,
}

impl Address {
    /// Reads the notation of `protocol`.
    ///
    /// # Errors
    /// The bytes are not an address there.
    pub fn from_notation(protocol: Protocol, text: &[u8]) -> Result<Self, AddressError> {
        if text.len() > notation::text_bytes_max(protocol) {
            return Err(AddressError::TooLong);
        }
        if let Some(address) = Self::from_plain_text(protocol, text) {
            return Ok(address);
        }
        let (tokens, alone) = notation::tokens(protocol, text);
        let mut encoded = Vec::with_capacity(text.len() + 16);
        let mut level = Vec::new();
        let mut count = 0;
        let mut size_bytes = 0;
        for token in tokens {
            level.clear();
            notation::read_level(protocol, token, alone, &mut level)?;
            encoding::put_level(&mut encoded, &level)?;
            size_bytes += level.len() + usize::from(count > 0);
            count += 1;
            if count > ADDRESS_LEVELS_MAX {
                return Err(AddressError::TooManyLevels);
            }
        }
        if size_bytes > ADDRESS_BYTES_MAX {
            return Err(AddressError::TooLong);
        }
        Ok(Self { encoded: Arc::from(encoded) })
    }

    /// Writes it in the notation of `protocol`.
    ///
    /// # Errors
    /// It is longer than the notation can hold (AMQP: 255 bytes).
    pub fn to_notation(&self, protocol: Protocol) -> Result<Bytes, AddressError> {
        let mut out = Vec::with_capacity(self.encoded.len());
        let mut levels = self.levels();
        if let Some(first) = levels.next() {
            notation::write_level(protocol, first, levels.clone().next().is_none(), &mut out);
        }
        for level in levels {
            out.push(notation::separator(protocol));
            notation::write_level(protocol, level, false, &mut out);
        }
        if out.len() > notation::text_bytes_max(protocol) {
            return Err(AddressError::TooLong);
        }
        Ok(Bytes::from(out))
    }

    /// Its levels, in order. There is at least one.
    #[must_use]
    pub fn levels(&self) -> Levels<'_> {
        Levels { encoded: &self.encoded }
    }

    /// Its first level is reserved: patterns of other protocols match it only by naming that level (SPEC section 4).
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.levels().next().is_some_and(Self::is_reserved_level)
    }

    /// Whether a first level is one of the reserved ones: `_INBOX`, and those that begin with `$`.
    #[must_use]
    pub fn is_reserved_level(level: &Level) -> bool {
        level.first() == Some(&b'$') || level == b"_INBOX"
    }

    /// The quick way for a short text whose bytes are the same in both forms: one copy, then the length of each level is
    /// written over the separator before it. `None`: it is not such a text.
    fn from_plain_text(protocol: Protocol, text: &[u8]) -> Option<Self> {
        const ROOM: usize = encoding::SHORT_LEVEL_BYTES_MAX + 1;
        let mut encoded = [0; ROOM];
        let separator = notation::separator(protocol);
        let needs_levels = protocol == Protocol::Nats;
        if text.is_empty() || !notation::is_plain(protocol, text) {
            return None;
        }
        encoded.get_mut(1..=text.len())?.copy_from_slice(text);
        let mut start = 0;
        let mut count = 1;
        for (position, byte) in text.iter().enumerate() {
            if *byte == separator {
                let length = position - start;
                if needs_levels && length == 0 {
                    return None;
                }
                // Where a level begins in the text is where its length stands in the encoding.
                *encoded.get_mut(start)? = u8::try_from(length).ok()?;
                start = position + 1;
                count += 1;
            }
        }
        let length = text.len() - start;
        if (needs_levels && length == 0) || count > ADDRESS_LEVELS_MAX {
            return None;
        }
        *encoded.get_mut(start)? = u8::try_from(length).ok()?;
        Some(Self { encoded: Arc::from(encoded.get(..=text.len())?) })
    }
}

impl core::fmt::Debug for Address {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Address(")?;
        for (position, level) in self.levels().enumerate() {
            write!(f, "{}{}", if position > 0 { " " } else { "" }, level.escape_ascii())?;
        }
        f.write_str(")")
    }
}

/// The byte form is the length of what follows (4 bytes, little endian), then the levels as they are kept.
impl Wire for Address {
    fn encode(&self, out: &mut BytesMut) {
        let length = u32::try_from(self.encoded.len()).unwrap_or(u32::MAX);
        out.put_u32_le(length);
        out.extend_from_slice(&self.encoded);
    }

    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        const CORRUPT: CorruptBytes = CorruptBytes { what: "address" };
        let length = input.try_get_u32_le().map_err(|_| CORRUPT)? as usize;
        if length > input.len() {
            return Err(CORRUPT);
        }
        let encoded = input.split_to(length);
        if !encoding::is_valid(&encoded) {
            return Err(CORRUPT);
        }
        Ok(Self { encoded: Arc::from(&*encoded) })
    }
}

/// Iterates over the levels of an [`Address`]. A clone remembers the place, for matching with backtracking.
#[derive(Clone, Debug)]
pub struct Levels<'a> {
    encoded: &'a [u8],
}

impl<'a> Iterator for Levels<'a> {
    type Item = &'a Level;

    #[inline]
    fn next(&mut self) -> Option<&'a Level> {
        let (level, rest) = encoding::split_level(self.encoded)?;
        self.encoded = rest;
        Some(level)
    }
}

impl FusedIterator for Levels<'_> {}
