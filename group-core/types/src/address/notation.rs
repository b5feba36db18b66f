//! How one level is written in each of the three notations. The one place that knows it; addresses and filters share it.
//!
//! Never looks at more than one level; the caller splits and joins.

use alloc::vec::Vec;

use crate::{
    AddressError, Protocol,
    address::escape::{Escaping, Standing, is_forbidden_in_nats},
    limits::{ADDRESS_BYTES_MAX, AMQP_SHORT_STRING_BYTES_MAX},
};

/// What stands between two levels.
pub(crate) const fn separator(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Mqtt => b'/',
        Protocol::Amqp | Protocol::Nats => b'.',
    }
}

/// The longest text of the notation, in bytes.
pub(crate) const fn text_bytes_max(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Amqp => AMQP_SHORT_STRING_BYTES_MAX,
        Protocol::Mqtt | Protocol::Nats => ADDRESS_BYTES_MAX,
    }
}

/// Splits a text into its tokens, and says whether there is only one.
pub(crate) fn tokens(protocol: Protocol, text: &[u8]) -> (impl Iterator<Item = &[u8]>, bool) {
    let separator = separator(protocol);
    (text.split(move |byte| *byte == separator), !text.contains(&separator))
}

/// Reads one token; `alone` when it is the whole text.
///
/// # Errors
/// `Malformed`: the notation has no such token (a wildcard in it, an empty NATS token, invalid UTF-8 in MQTT).
pub(crate) fn read_level(protocol: Protocol, token: &[u8], alone: bool, out: &mut Vec<u8>) -> Result<(), AddressError> {
    let Some(escaping) = escaping(protocol, token, alone) else {
        out.extend_from_slice(token);
        return Ok(());
    };
    if !escaping.can_hold(token) {
        return Err(AddressError::Malformed);
    }
    let level = match (escaping.standing(token), escaping) {
        (Standing::Escaped, _) => escaping.unescape(token),
        (Standing::Stray { depth }, Escaping::Nats) => exchange_stray(escaping, token, depth),
        (Standing::Free | Standing::Stray { .. }, _) => None,
    };
    extend_swapped(protocol, level.as_deref().unwrap_or(token), out);
    Ok(())
}

/// Writes one level; `alone` when it is the whole address. Undoes [`read_level`].
pub(crate) fn write_level(protocol: Protocol, level: &[u8], alone: bool, out: &mut Vec<u8>) {
    let Some(escaping) = escaping(protocol, level, alone) else {
        out.extend_from_slice(level);
        return;
    };
    let token = if escaping.can_hold(level) {
        match (escaping.standing(level), escaping) {
            (Standing::Escaped, _) => Some(escaping.escape(level)),
            (Standing::Stray { depth }, Escaping::Nats) => exchange_stray(escaping, level, depth),
            (Standing::Free | Standing::Stray { .. }, _) => None,
        }
    } else {
        Some(escaping.escape(level))
    };
    extend_swapped(protocol, token.as_deref().unwrap_or(level), out);
}

/// A stray `%` is written `%25` in a foreign notation: the texts with an even number of such escapes on top change places
/// with those that have one more. Its own inverse.
fn exchange_stray(escaping: Escaping, text: &[u8], depth: usize) -> Option<Vec<u8>> {
    if depth.is_multiple_of(2) { Some(escaping.escape(text)) } else { escaping.unescape(text) }
}

/// The notation holds each byte of `text` as it is, so that only empty levels need a look. Has no early exit: that way it
/// runs over many bytes at once.
pub(crate) fn is_plain(protocol: Protocol, text: &[u8]) -> bool {
    match protocol {
        Protocol::Amqp => true,
        Protocol::Mqtt => !text.iter().fold(false, |found, byte| found | is_special_in_mqtt(*byte)),
        Protocol::Nats => !text.iter().fold(false, |found, byte| found | is_special_in_nats(*byte)),
    }
}

/// `None` when there is nothing to do: the same bytes in both forms.
fn escaping(protocol: Protocol, text: &[u8], alone: bool) -> Option<Escaping> {
    let (escaping, may_be_empty) = match protocol {
        Protocol::Amqp => return None,
        Protocol::Mqtt => (Escaping::Mqtt { alone }, !alone),
        Protocol::Nats => (Escaping::Nats, false),
    };
    let is_swapped = protocol == Protocol::Mqtt && text.contains(&b'/');
    let is_same = if text.is_empty() { may_be_empty } else { is_plain(protocol, text) && !is_swapped };
    (!is_same).then_some(escaping)
}

const fn is_special_in_mqtt(byte: u8) -> bool {
    (byte == b'+') | (byte == b'#') | (byte == b'%') | (byte == b'.') | (byte < b' ') | (byte >= 0x7F)
}

const fn is_special_in_nats(byte: u8) -> bool {
    (byte == b'*') | (byte == b'>') | (byte == b'%') | is_forbidden_in_nats(byte)
}

/// `/` and `.` change places between the slashed notation and the canonical form.
fn extend_swapped(protocol: Protocol, text: &[u8], out: &mut Vec<u8>) {
    if protocol == Protocol::Mqtt {
        out.extend(text.iter().map(|byte| match byte {
            b'.' => b'/',
            b'/' => b'.',
            other => *other,
        }));
    } else {
        out.extend_from_slice(text);
    }
}
