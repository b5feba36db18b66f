//! Text that fits into a header line: bytes that would end or change the line, or that clients cannot decode, are
//! written `%XX`.
//!
//! Invariant: `unescape(escape(x)) == x` for all bytes, when the percent sign is escaped too. No output of `escape`
//! holds a control character, so no value can forge a header line (CASES S9).

use bytes::{BufMut, Bytes, BytesMut};

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Whether the reader of the value will undo the escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Percent {
    /// No: a percent sign is left alone, so that texts keep their looks.
    Plain,
    /// Yes: one that looks like the start of an escape is escaped itself.
    Escaped,
}

/// Appends `value` so that it fits behind a header's colon.
pub(super) fn escape_value(value: &[u8], percent: Percent, out: &mut BytesMut) {
    let inner = value.trim_ascii();
    let leading = value.len() - value.trim_ascii_start().len();
    let mut position = 0;
    for chunk in value.utf8_chunks() {
        for byte in chunk.valid().bytes() {
            let at_edge = position < leading || position >= leading + inner.len();
            let is_escape =
                byte == b'%' && percent == Percent::Escaped && value.get(position..).and_then(escaped_byte).is_some();
            if byte.is_ascii_control() || is_escape || (byte == b' ' && at_edge) {
                push_escaped(byte, out);
            } else {
                out.put_u8(byte);
            }
            position += 1;
        }
        for byte in chunk.invalid() {
            push_escaped(*byte, out);
            position += 1;
        }
    }
}

/// Appends `name` so that it fits before a header's colon.
pub(super) fn escape_name(name: &[u8], out: &mut BytesMut) {
    for byte in name {
        if byte.is_ascii_graphic() && *byte != b':' && *byte != b'%' {
            out.put_u8(*byte);
        } else {
            push_escaped(*byte, out);
        }
    }
}

/// Undoes [`escape_value`] with [`Percent::Escaped`]. What is no escape stays.
pub(super) fn unescape(value: &Bytes) -> Bytes {
    if memchr::memchr(b'%', value).is_none() {
        return value.clone();
    }
    let mut out = BytesMut::with_capacity(value.len());
    let mut rest: &[u8] = value;
    while let Some((first, after)) = rest.split_first() {
        if let Some(byte) = escaped_byte(rest) {
            out.put_u8(byte);
            rest = rest.get(3..).unwrap_or_default();
        } else {
            out.put_u8(*first);
            rest = after;
        }
    }
    out.freeze()
}

/// The byte that an escape at the front of `text` stands for: one that is ever escaped, in upper case digits.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let [b'%', high, low] = *text.get(..3)? else { return None };
    let byte = digit(high)? << 4 | digit(low)?;
    (byte <= b' ' || byte == b'%' || byte >= 0x7f).then_some(byte)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'A'..=b'F' => Some(character - b'A' + 10),
        _ => None,
    }
}

fn push_escaped(byte: u8, out: &mut BytesMut) {
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
    out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(value: &[u8], percent: Percent) -> BytesMut {
        let mut out = BytesMut::new();
        escape_value(value, percent, &mut out);
        out
    }

    #[test]
    fn every_pair_and_triple_of_telling_bytes_comes_back() {
        let telling = [0, b'\r', b'\n', b'\t', b' ', b'%', b'0', b'2', b'5', b'D', b'a', 0x7f, 0x80, 0xc3, 0xa9, 0xff];
        for first in telling {
            for second in telling {
                for third in telling {
                    for fourth in telling {
                        let value = [first, second, third, fourth];
                        let line = escaped(&value, Percent::Escaped).freeze();
                        assert!(!line.iter().any(u8::is_ascii_control));
                        assert_eq!(line.trim_ascii(), line);
                        assert!(core::str::from_utf8(&line).is_ok());
                        assert_eq!(unescape(&line), &value[..]);
                    }
                }
            }
        }
    }

    #[test]
    fn texts_keep_their_looks() {
        assert_eq!(escaped("100% é %41 %0D".as_bytes(), Percent::Plain), "100% é %41 %0D");
        assert_eq!(escaped("100% é %41 %0D".as_bytes(), Percent::Escaped), "100% é %41 %250D");
        assert_eq!(escaped(b"a\r\nEvil: 1", Percent::Plain), "a%0D%0AEvil: 1");
        let mut name = BytesMut::new();
        escape_name(b"x:y z\r\n", &mut name);
        assert_eq!(name, "x%3Ay%20z%0D%0A");
    }
}
