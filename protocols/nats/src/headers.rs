//! NATS header blocks, to and from the neutral properties (SPEC section 5).
//!
//! A block is `NATS/1.0`, optionally a status, then `Name: value` lines and an empty line. It is kept verbatim and read
//! only when a message crosses to another protocol; a block that is none (nats-server takes any bytes) has no headers.
//!
//! | property | header |
//! |---|---|
//! | content type, content encoding | `Content-Type`, `Content-Encoding` |
//! | correlation data | `Correlation-Id`, bytes that a line cannot hold as `%XX` (undone on the way back) |
//! | message id | `Nats-Msg-Id` |
//! | timestamp (s), expiry (wall clock, ms), priority | `Braid-Timestamp`, `Braid-Expires-At`, `Braid-Priority` |
//! | type, application, user | `Braid-Type`, `Braid-App-Id`, `Braid-User-Id` |
//! | body is text | `Braid-Payload-Format: utf-8` |
//! | delivery count, when not 0 | `Braid-Delivery-Count` (to NATS only) |
//! | headers | by their own names, in order, duplicates kept |
//!
//! On the way in the first header of a name in the table becomes the property; further ones, and those whose value does
//! not fit, stay headers.

mod escape;
mod write;

use braid_types::{HeaderValue, Message, Properties, Timestamp};
use bytes::Bytes;

use self::escape::unescape;
pub(crate) use self::write::write;
use crate::{limits::HEADER_LINES_MAX, reply};

const VERSION_LINE: &[u8] = b"NATS/1.0";
const CONTENT_TYPE: &str = "Content-Type";
const CONTENT_ENCODING: &str = "Content-Encoding";
const CORRELATION: &str = "Correlation-Id";
const MESSAGE_ID: &str = "Nats-Msg-Id";
const TIMESTAMP: &str = "Braid-Timestamp";
const EXPIRES_AT: &str = "Braid-Expires-At";
const PRIORITY: &str = "Braid-Priority";
const KIND: &str = "Braid-Type";
const APPLICATION: &str = "Braid-App-Id";
const USER: &str = "Braid-User-Id";
const PAYLOAD_FORMAT: &str = "Braid-Payload-Format";
const DELIVERY_COUNT: &str = "Braid-Delivery-Count";
const TEXT_FORMAT: &[u8] = b"utf-8";

/// The neutral properties of a message that a NATS client published. At most [`HEADER_LINES_MAX`] header lines are
/// looked at.
#[must_use]
pub fn neutral(message: &Message) -> Properties {
    let mut properties = Properties { reply: reply::from_subject(&message.reply), ..Properties::default() };
    let mut rest = message.header.clone();
    let Some(status) = take_line(&mut rest).and_then(|line| status_of(&line)) else { return properties };
    if !status.is_empty() {
        properties.headers.push((Bytes::from_static(b"Status"), HeaderValue::Text(status)));
    }
    for _ in 0..HEADER_LINES_MAX {
        let Some(line) = take_line(&mut rest).filter(|line| !line.is_empty()) else { break };
        let Some(colon) = memchr::memchr(b':', &line) else { continue };
        let name = line.slice(..colon);
        let value = trimmed(&line.slice(colon + 1..));
        if name.is_empty() || name.starts_with(b" ") || name.starts_with(b"\t") {
            continue;
        }
        if lift(&mut properties, &name, &value).is_none() {
            properties.headers.push((name, HeaderValue::Text(value)));
        }
    }
    properties
}

/// Turns a header of the table into its property. `None`: it stays a header.
fn lift(properties: &mut Properties, name: &[u8], value: &Bytes) -> Option<()> {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    if is(CONTENT_TYPE) {
        fill(&mut properties.content_type, value.clone())
    } else if is(CONTENT_ENCODING) {
        fill(&mut properties.content_encoding, value.clone())
    } else if is(CORRELATION) {
        fill(&mut properties.correlation, unescape(value))
    } else if is(MESSAGE_ID) {
        fill(&mut properties.message_id, value.clone())
    } else if is(TIMESTAMP) {
        fill(&mut properties.timestamp_s, number(value)?)
    } else if is(EXPIRES_AT) {
        fill(&mut properties.expires_at, Timestamp(number(value)?))
    } else if is(PRIORITY) {
        fill(&mut properties.priority, u8::try_from(number(value)?).ok()?)
    } else if is(KIND) {
        fill(&mut properties.kind, value.clone())
    } else if is(APPLICATION) {
        fill(&mut properties.application, value.clone())
    } else if is(USER) {
        fill(&mut properties.user, value.clone())
    } else if is(PAYLOAD_FORMAT) && value.as_ref() == TEXT_FORMAT && !properties.is_text {
        properties.is_text = true;
        Some(())
    } else {
        None
    }
}

fn fill<T>(property: &mut Option<T>, value: T) -> Option<()> {
    if property.is_some() {
        return None;
    }
    *property = Some(value);
    Some(())
}

fn number(text: &[u8]) -> Option<u64> {
    if !text.first()?.is_ascii_digit() {
        return None;
    }
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// The next line without its end; `None` at the end of the block.
fn take_line(rest: &mut Bytes) -> Option<Bytes> {
    if rest.is_empty() {
        return None;
    }
    let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    let mut line = rest.split_to(end);
    let kept = line.strip_suffix(b"\n").unwrap_or(&line);
    let kept = kept.strip_suffix(b"\r").unwrap_or(kept).len();
    line.truncate(kept);
    Some(line)
}

/// What follows the version in the first line; `None` when it is no NATS header block.
fn status_of(line: &Bytes) -> Option<Bytes> {
    let rest = line.strip_prefix(VERSION_LINE)?;
    if !rest.is_empty() && !rest.starts_with(b" ") && !rest.starts_with(b"\t") {
        return None;
    }
    Some(trimmed(&line.slice(VERSION_LINE.len()..)))
}

fn trimmed(text: &Bytes) -> Bytes {
    text.slice_ref(text.trim_ascii())
}

#[cfg(test)]
mod tests {
    use braid_types::{Protocol, ReplyAddress};

    use super::*;

    fn properties(header: &'static str) -> Properties {
        neutral(&Message { header: Bytes::from_static(header.as_bytes()), ..Message::empty(Protocol::Nats) })
    }

    fn text(text: &'static str) -> HeaderValue {
        HeaderValue::Text(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn headers_keep_order_and_duplicates() {
        let block = "NATS/1.0\r\nA: 1\r\nB:2 \r\nno colon\r\n folded: x\r\na:\r\nA: 3\r\n: y\r\n\r\nZ: not ours\r\n";
        let names: alloc::vec::Vec<_> = properties(block).headers;
        let name = |name: &'static str| Bytes::from_static(name.as_bytes());
        let expected = [(name("A"), text("1")), (name("B"), text("2")), (name("a"), text("")), (name("A"), text("3"))];
        assert_eq!(names, expected);
    }

    #[test]
    fn known_names_become_properties_once() {
        let found = properties(
            "NATS/1.0\r\ncontent-type: a/b\r\nContent-Type: c/d\r\nCorrelation-Id: a%0Db%25\r\nNats-Msg-Id: m\r\n\
             Braid-Priority: 256\r\nBraid-Priority: 7\r\nBraid-Timestamp: 5\r\nBraid-Payload-Format: utf-8\r\n\r\n",
        );
        assert_eq!(found.content_type.unwrap(), "a/b");
        assert_eq!(found.correlation.unwrap(), "a\rb%");
        assert_eq!(found.message_id.unwrap(), "m");
        assert_eq!((found.priority, found.timestamp_s, found.is_text), (Some(7), Some(5), true));
        let left: alloc::vec::Vec<_> = found.headers.iter().map(|(name, _)| name.as_ref()).collect();
        assert_eq!(left, [&b"Content-Type"[..], b"Braid-Priority"]);
    }

    #[test]
    fn what_is_no_block_has_no_headers() {
        for block in ["", "abc", "NATS/1.0418\r\nA: 1\r\n\r\n", "XATS/1.0\r\nA: 1\r\n\r\n", "NATS/1.0"] {
            assert_eq!(properties(block), Properties::default(), "{block}");
        }
        let status = properties("NATS/1.0 503 nobody\r\n\r\n").headers;
        assert_eq!(status, [(Bytes::from_static(b"Status"), text("503 nobody"))]);
    }

    #[test]
    fn the_reply_subject_is_an_address() {
        let message = Message { reply: Bytes::from_static(b"_INBOX.a.b"), ..Message::empty(Protocol::Nats) };
        let Some(ReplyAddress::Topic(address)) = neutral(&message).reply else { panic!("no topic") };
        assert_eq!(address.levels().count(), 3);
    }
}
