//! Canonical filters: addresses with wildcards, in the three dialects `* #` (AMQP), `+ #` (MQTT) and `* >` (NATS).
//!
//! | matches | AMQP | MQTT | NATS |
//! |---|---|---|---|
//! | one level | `*` | `+` | `*` |
//! | zero or more | `#`, anywhere | `#`, last | `#` after a space, for display only |
//! | one or more | `*.#` | `+/#` | `>`, last |
//!
//! A wildcard is alone in its level. In AMQP and NATS `a*` is a literal; MQTT forbids it (4.7.1). Literals are the tokens of
//! [`crate::Address`], so a filter without wildcards is the text of the one address that it matches.
//!
//! **Normal form.** A run of wildcards says only "at least n levels" or "exactly n". So a run is written as n times `One`,
//! or, unbounded, as `ZeroOrMore` (n = 0) or n - 1 times `One` and `OneOrMore`: `#.#`, `#` are equal, and so are
//! `#.*`, `*.#`, `+/#` and `>`.
//!
//! **Reserved first levels** (`$...` and `_INBOX`; SPEC section 4, MQTT-4.7.2-1). A filter whose first level is a wildcard
//! matches such an address only within its own protocol, by that protocol's rule: to their own patterns, NATS subjects
//! and AMQP keys are not special (nats-server, RabbitMQ); to MQTT's, `$` is. So a filter remembers its dialect; equality,
//! order and hash do not look at it, so that a group is found by an equal filter of any protocol.
//!
//! Invariant: 1 to [`crate::limits::ADDRESS_LEVELS_MAX`] levels, in normal form; unless it is `ZeroOrMore` alone, no two
//! neighbours are unbounded.

mod form;
mod matching;

use alloc::{sync::Arc, vec::Vec};

use bytes::Bytes;

use crate::{AddressError, Level, Protocol, address::notation, limits::ADDRESS_LEVELS_MAX};

/// One level of a filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FilterLevel {
    /// This level, literally.
    Literal(Arc<Level>),
    /// Any one level (`*`, `+`, `*`).
    One,
    /// Zero or more levels (AMQP `#` anywhere, MQTT `#` at the end).
    ZeroOrMore,
    /// One or more levels (NATS `>` at the end).
    OneOrMore,
}

/// A canonical filter. Equal filters are equal in all notations: MQTT `a/+` is NATS `a.*`; NATS `a.>` is not MQTT `a/#`.
#[derive(Clone, Debug)]
pub struct Filter {
    levels: Arc<[FilterLevel]>,
    dialect: Protocol,
}

impl Filter {
    /// Reads the notation of `protocol`.
    ///
    /// # Errors
    /// The bytes are not a filter there.
    pub fn from_notation(protocol: Protocol, text: &[u8]) -> Result<Self, AddressError> {
        if text.len() > notation::text_bytes_max(protocol) {
            return Err(AddressError::TooLong);
        }
        let (tokens, alone) = notation::tokens(protocol, text);
        let mut tokens = tokens.peekable();
        let mut form = form::NormalForm::default();
        let mut buffer = Vec::new();
        let mut count = 0;
        while let Some(token) = tokens.next() {
            count += 1;
            if count > ADDRESS_LEVELS_MAX {
                return Err(AddressError::TooManyLevels);
            }
            let is_last = tokens.peek().is_none();
            match (wildcard(protocol, token), protocol) {
                (Some(FilterLevel::ZeroOrMore | FilterLevel::OneOrMore), Protocol::Mqtt | Protocol::Nats)
                    if !is_last =>
                {
                    return Err(AddressError::Malformed);
                }
                (Some(level), _) => form.push(level),
                (None, _) => {
                    buffer.clear();
                    notation::read_level(protocol, token, alone, &mut buffer)?;
                    form.push(FilterLevel::Literal(Arc::from(buffer.as_slice())));
                }
            }
        }
        Ok(Self { levels: form.finish(), dialect: protocol })
    }

    /// Writes it in the notation of `protocol`. Three things have no text there that its clients could use, and get one for
    /// display that its own filters cannot have: `ZeroOrMore` in NATS (`#` after a space), an unbounded wildcard before
    /// the last level in MQTT and NATS. And one has a text that means something else: the literals `*` and `#` in AMQP
    /// (`%2A`, `%23`).
    ///
    /// # Errors
    /// It is longer, or has more levels, than the notation can hold.
    pub fn to_notation(&self, protocol: Protocol) -> Result<Bytes, AddressError> {
        let mut out = Vec::new();
        let mut count = self.levels.len();
        for (position, level) in self.levels.iter().enumerate() {
            if position > 0 {
                out.push(notation::separator(protocol));
            }
            let word: &[u8] = match (level, protocol) {
                (FilterLevel::Literal(literal), _) => {
                    write_literal(protocol, literal, self.levels.len() == 1, &mut out);
                    continue;
                }
                (FilterLevel::One, Protocol::Amqp | Protocol::Nats) => b"*",
                (FilterLevel::One, Protocol::Mqtt) => b"+",
                (FilterLevel::ZeroOrMore, Protocol::Amqp | Protocol::Mqtt) => b"#",
                (FilterLevel::ZeroOrMore, Protocol::Nats) => b" #",
                (FilterLevel::OneOrMore, Protocol::Amqp) => b"*.#",
                (FilterLevel::OneOrMore, Protocol::Mqtt) => b"+/#",
                (FilterLevel::OneOrMore, Protocol::Nats) => b">",
            };
            count += usize::from(*level == FilterLevel::OneOrMore && protocol != Protocol::Nats);
            out.extend_from_slice(word);
        }
        if count > ADDRESS_LEVELS_MAX {
            return Err(AddressError::TooManyLevels);
        }
        if out.len() > notation::text_bytes_max(protocol) {
            return Err(AddressError::TooLong);
        }
        Ok(Bytes::from(out))
    }

    /// Its levels, in order.
    #[must_use]
    pub fn levels(&self) -> &[FilterLevel] {
        &self.levels
    }

    /// The protocol in whose notation it was written. Not part of its identity.
    #[must_use]
    pub fn dialect(&self) -> Protocol {
        self.dialect
    }

    /// Its first level is a wildcard, so the rule of reserved first levels applies to it.
    #[must_use]
    pub fn begins_with_wildcard(&self) -> bool {
        !matches!(self.levels.first(), Some(FilterLevel::Literal(_)))
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.levels == other.levels
    }
}

impl Eq for Filter {}

impl PartialOrd for Filter {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Filter {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.levels.cmp(&other.levels)
    }
}

impl core::hash::Hash for Filter {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.levels.hash(state);
    }
}

fn wildcard(protocol: Protocol, token: &[u8]) -> Option<FilterLevel> {
    match (protocol, token) {
        (Protocol::Amqp | Protocol::Nats, b"*") | (Protocol::Mqtt, b"+") => Some(FilterLevel::One),
        (Protocol::Amqp | Protocol::Mqtt, b"#") => Some(FilterLevel::ZeroOrMore),
        (Protocol::Nats, b">") => Some(FilterLevel::OneOrMore),
        _ => None,
    }
}

fn write_literal(protocol: Protocol, literal: &Level, alone: bool, out: &mut Vec<u8>) {
    match (protocol, literal) {
        (Protocol::Amqp, b"*") => out.extend_from_slice(b"%2A"),
        (Protocol::Amqp, b"#") => out.extend_from_slice(b"%23"),
        _ => notation::write_level(protocol, literal, alone, out),
    }
}
