//! The escape code of the notations that cannot hold every byte: which levels a notation can hold, the code itself, and
//! what a text with a `%` in it stands for.
//!
//! Pure functions over one level. Never sees a separator; never allocates for a level without a `%` that the notation
//! can hold.
//!
//! Write `g` for `escape`: `%` becomes `%25`, whatever the notation cannot hold becomes `%XX` (upper-case hex), an empty
//! level becomes `%`. Invariants: (1) `unescape(g(x)) == x` for every `x`; (2) `g(x)` can always be held. The mapping of
//! [`super::notation`] is built from `g` so that it is a bijection: the texts `g(x)`, `g(g(x))`, ... of a level `x` that
//! cannot be held ([`Standing::Escaped`]) are shifted by one, and every other text stays free.

use alloc::vec::Vec;

/// The two notations that cannot hold every byte. (AMQP keys hold them all.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escaping {
    /// MQTT topic levels: UTF-8 without control characters, non-characters, `+` and `#` (MQTT 1.5.4, 4.7.1).
    Mqtt {
        /// The level is the whole topic, so it cannot be empty (MQTT-4.7.3-1).
        alone: bool,
    },
    /// NATS subject tokens: not empty, no control characters or spaces, not `*` or `>` alone.
    Nats,
}

/// What a level that the notation can hold stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has no `%`: itself.
    Free,
    /// It is a repeated escape of a level that the notation cannot hold.
    Escaped,
    /// It has a `%` that no escape explains.
    Stray {
        /// How often all its `%` have been escaped (`%25`) already.
        depth: usize,
    },
}

impl Escaping {
    /// Whether the notation has this very level.
    pub(crate) fn can_hold(self, level: &[u8]) -> bool {
        match self {
            Self::Mqtt { alone } => {
                !(alone && level.is_empty())
                    && core::str::from_utf8(level).is_ok_and(|text| !text.chars().any(is_forbidden_in_mqtt))
            }
            Self::Nats => {
                !level.is_empty() && !is_nats_wildcard(level) && !level.iter().any(|byte| is_forbidden_in_nats(*byte))
            }
        }
    }

    /// What `level`, which the notation can hold, stands for. Linear in its length, also for repeated escapes.
    pub(crate) fn standing(self, level: &[u8]) -> Standing {
        if !level.contains(&b'%') {
            return Standing::Free;
        }
        let depth = escape_depth(level);
        let stripped = strip(level, depth);
        match self.unescape(&stripped) {
            Some(root) if !self.can_hold(&root) && self.escape(&root) == stripped => Standing::Escaped,
            _ => Standing::Stray { depth },
        }
    }

    /// The escape code `g`.
    pub(crate) fn escape(self, level: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if level.is_empty() {
            out.push(b'%');
            return out;
        }
        match self {
            Self::Nats => {
                let whole = is_nats_wildcard(level);
                for byte in level {
                    push_byte(&mut out, *byte, whole || *byte == b'%' || is_forbidden_in_nats(*byte));
                }
            }
            Self::Mqtt { .. } => {
                for chunk in level.utf8_chunks() {
                    for character in chunk.valid().chars() {
                        let escaped = character == '%' || is_forbidden_in_mqtt(character);
                        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                            push_byte(&mut out, byte, escaped);
                        }
                    }
                    for byte in chunk.invalid() {
                        push_byte(&mut out, *byte, true);
                    }
                }
            }
        }
        out
    }

    /// Undoes `g` once; `None` when a `%` is not followed by two upper-case hex digits.
    pub(crate) fn unescape(self, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        if text == b"%" && self != (Self::Mqtt { alone: false }) {
            return Some(out);
        }
        let mut rest = text;
        while let [first, tail @ ..] = rest {
            if *first != b'%' {
                out.push(*first);
                rest = tail;
                continue;
            }
            let [high, low, tail @ ..] = tail else { return None };
            out.push(hex_value(*high)? << 4 | hex_value(*low)?);
            rest = tail;
        }
        Some(out)
    }
}

/// Control characters and the space: what ends or spoils a protocol line.
pub(crate) const fn is_forbidden_in_nats(byte: u8) -> bool {
    (byte <= b' ') | (byte == 0x7F)
}

/// The wildcards, NUL (MQTT-1.5.4-2), and what a receiver may treat as malformed: control characters, non-characters.
const fn is_forbidden_in_mqtt(character: char) -> bool {
    let code = character as u32;
    matches!(character, '+' | '#') || code < 0x20 || (code >= 0x7F && code < 0xA0) || is_non_character(code)
}

const fn is_non_character(code: u32) -> bool {
    (code >= 0xFDD0 && code <= 0xFDEF) || code & 0xFFFE == 0xFFFE
}

fn is_nats_wildcard(level: &[u8]) -> bool {
    matches!(level, b"*" | b">")
}

fn push_byte(out: &mut Vec<u8>, byte: u8, escaped: bool) {
    if escaped {
        out.extend_from_slice(&[b'%', hex_digit(byte >> 4), hex_digit(byte & 0xF)]);
    } else {
        out.push(byte);
    }
}

const fn hex_digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'A' + value - 10 }
}

const fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// The least number of `25` that follow any `%`: so often `g` was applied on top.
fn escape_depth(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'%').skip(1).map(leading_25).min().unwrap_or(0)
}

fn leading_25(text: &[u8]) -> usize {
    text.chunks_exact(2).take_while(|pair| *pair == b"25").count()
}

/// Takes `depth` times `25` from behind each `%`; there are so many.
fn strip(text: &[u8], depth: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for (position, part) in text.split(|byte| *byte == b'%').enumerate() {
        if position == 0 {
            out.extend_from_slice(part);
        } else {
            out.push(b'%');
            out.extend_from_slice(part.get(2 * depth..).unwrap_or_default());
        }
    }
    out
}
