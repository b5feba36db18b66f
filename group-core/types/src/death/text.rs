//! A record as one line of text, for header blocks that hold nothing but texts:
//!
//! `queue=work;reason=rejected;count=2;time=1700000000;exchange=;routing-keys=a.b,c;original-expiration=60000`
//!
//! In values, `%XX` stands for each byte that is not printable ASCII, and for `%`, `;`, `=` and `,`. Invariant: what is
//! written is read back equal, and holds no byte that could end a header line or an MQTT string.

use alloc::{format, vec::Vec};

use bytes::Bytes;

use super::DeathRecord;
use crate::limits::DEATH_NAME_BYTES_MAX;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Text beyond which routing keys are left out: with it, a record fits into an MQTT string.
const TEXT_BYTES_WITH_KEYS_MAX: usize = 60_000 - 3 * DEATH_NAME_BYTES_MAX;

impl DeathRecord {
    /// The record as text. Routing keys that would make it longer than an MQTT string are left out.
    #[must_use]
    pub fn to_text(&self) -> Bytes {
        let mut out = Vec::with_capacity(128);
        out.extend_from_slice(b"queue=");
        escape(cut(&self.queue), &mut out);
        out.extend_from_slice(b";reason=");
        escape(cut(&self.reason), &mut out);
        out.extend_from_slice(format!(";count={};time={};exchange=", self.count, self.time_s).as_bytes());
        escape(cut(&self.exchange), &mut out);
        out.extend_from_slice(b";routing-keys=");
        for (position, key) in self.routing_keys.iter().enumerate() {
            if out.len() > TEXT_BYTES_WITH_KEYS_MAX {
                break;
            }
            if position > 0 {
                out.push(b',');
            }
            escape(cut(key), &mut out);
        }
        if let Some(milliseconds) = self.original_expiration_ms {
            out.extend_from_slice(format!(";original-expiration={milliseconds}").as_bytes());
        }
        Bytes::from(out)
    }

    /// Reads what [`DeathRecord::to_text`] wrote; fields that it does not know are left out. `None`: it is no such text.
    #[must_use]
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let mut record = Self::default();
        for field in text.split(|byte| *byte == b';') {
            let equals = field.iter().position(|byte| *byte == b'=')?;
            let (name, value) = field.split_at_checked(equals)?;
            let value = value.get(1..)?;
            match name {
                b"queue" => record.queue = unescape(value)?,
                b"reason" => record.reason = unescape(value)?,
                b"count" => record.count = number(value)?,
                b"time" => record.time_s = number(value)?,
                b"exchange" => record.exchange = unescape(value)?,
                b"routing-keys" if value.is_empty() => {}
                b"routing-keys" => {
                    record.routing_keys =
                        value.split(|byte| *byte == b',').map(unescape).collect::<Option<Vec<_>>>()?;
                }
                b"original-expiration" => record.original_expiration_ms = Some(number(value)?),
                _ => {}
            }
        }
        (!record.queue.is_empty() && !record.reason.is_empty()).then_some(record)
    }
}

/// `value` as people read it, where a header can hold nothing but text: as it is, or escaped as in a record's text when it is
/// not UTF-8, has control characters, or spaces at its edges. Doing it twice changes nothing.
#[must_use]
pub fn plain_text(value: &Bytes) -> Bytes {
    let is_plain = core::str::from_utf8(value).is_ok_and(|text| {
        !text.chars().any(char::is_control)
            && !text.starts_with(char::is_whitespace)
            && !text.ends_with(char::is_whitespace)
    });
    if is_plain {
        return value.clone();
    }
    let mut out = Vec::with_capacity(value.len() * 3);
    escape(value, &mut out);
    Bytes::from(out)
}

/// The first [`DEATH_NAME_BYTES_MAX`] bytes of a name, up to the end of a character.
pub(super) fn cut(name: &[u8]) -> &[u8] {
    let Some(cut) = name.get(..DEATH_NAME_BYTES_MAX).filter(|cut| cut.len() < name.len()) else { return name };
    // What is left of a character that the end goes through.
    let broken_bytes = cut.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    cut.get(..cut.len() - broken_bytes).unwrap_or(cut)
}

fn escape(value: &[u8], out: &mut Vec<u8>) {
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
    for byte in value {
        if byte.is_ascii_graphic() && !matches!(byte, b'%' | b';' | b'=' | b',') {
            out.push(*byte);
        } else {
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

fn unescape(text: &[u8]) -> Option<Bytes> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let (digits, after) = rest.split_first_chunk::<2>()?;
            let [high, low] = digits.map(|character| char::from(character).to_digit(16));
            out.push(u8::try_from(high? * 16 + low?).ok()?);
            rest = after;
        } else {
            out.push(*first);
        }
    }
    Some(Bytes::from(out))
}

/// Decimal digits, without a sign.
fn number(text: &[u8]) -> Option<u64> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    core::str::from_utf8(text).ok()?.parse().ok()
}
