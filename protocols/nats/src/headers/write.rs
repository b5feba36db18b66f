//! Writes neutral properties as a NATS header block, for messages of the other protocols.
//!
//! Never fails: what a header cannot hold is written another way (escaped, or a table as JSON). Depth is bounded.

use alloc::format;
use core::fmt::{self, Write};

use braid_types::{HeaderValue, Headers, Properties};
use bytes::{BufMut, BytesMut};

use super::{
    APPLICATION, CONTENT_ENCODING, CONTENT_TYPE, CORRELATION, DELIVERY_COUNT, EXPIRES_AT, KIND, MESSAGE_ID,
    PAYLOAD_FORMAT, PRIORITY, TEXT_FORMAT, TIMESTAMP, USER, VERSION_LINE,
    escape::{Percent, escape_name, escape_value},
};
use crate::limits::HEADER_DEPTH_MAX;

/// Appends the block to `out`, which is empty; leaves it empty when there is nothing to say.
pub(crate) fn write(properties: &Properties, delivery_count: u32, out: &mut BytesMut) {
    out.extend_from_slice(VERSION_LINE);
    out.extend_from_slice(b"\r\n");
    let without_headers = out.len();
    let texts = [
        (CONTENT_TYPE, &properties.content_type),
        (CONTENT_ENCODING, &properties.content_encoding),
        (MESSAGE_ID, &properties.message_id),
        (KIND, &properties.kind),
        (APPLICATION, &properties.application),
        (USER, &properties.user),
    ];
    for (name, value) in texts {
        if let Some(value) = value {
            line(name.as_bytes(), value, Percent::Plain, out);
        }
    }
    if let Some(value) = &properties.correlation {
        line(CORRELATION.as_bytes(), value, Percent::Escaped, out);
    }
    let numbers = [
        (TIMESTAMP, properties.timestamp_s),
        (EXPIRES_AT, properties.expires_at.map(|time| time.0)),
        (PRIORITY, properties.priority.map(u64::from)),
        (DELIVERY_COUNT, (delivery_count > 0).then_some(u64::from(delivery_count))),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            line(name.as_bytes(), itoa::Buffer::new().format(value).as_bytes(), Percent::Plain, out);
        }
    }
    if properties.is_text {
        line(PAYLOAD_FORMAT.as_bytes(), TEXT_FORMAT, Percent::Plain, out);
    }
    for (name, value) in properties.headers.iter().filter(|(name, _)| !name.is_empty()) {
        header(name, value, out);
    }
    if out.len() == without_headers {
        out.clear();
    } else {
        out.extend_from_slice(b"\r\n");
    }
}

fn line(name: &[u8], value: &[u8], percent: Percent, out: &mut BytesMut) {
    escape_name(name, out);
    out.extend_from_slice(b": ");
    escape_value(value, percent, out);
    out.extend_from_slice(b"\r\n");
}

fn header(name: &[u8], value: &HeaderValue, out: &mut BytesMut) {
    match value {
        HeaderValue::Text(text) | HeaderValue::Binary(text) => line(name, text, Percent::Plain, out),
        HeaderValue::Void
        | HeaderValue::Boolean(_)
        | HeaderValue::Integer(_)
        | HeaderValue::Float(_)
        | HeaderValue::Decimal { .. }
        | HeaderValue::TimestampS(_) => line(name, format!("{}", Scalar(value)).as_bytes(), Percent::Plain, out),
        HeaderValue::List(_) | HeaderValue::Table(_) => {
            escape_name(name, out);
            out.extend_from_slice(b": ");
            json(value, 0, out);
            out.extend_from_slice(b"\r\n");
        }
    }
}

/// A value without parts, as text; nothing for the others.
struct Scalar<'a>(&'a HeaderValue);

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            HeaderValue::Boolean(value) => write!(f, "{value}"),
            HeaderValue::Integer(value) => write!(f, "{value}"),
            HeaderValue::Float(value) => write!(f, "{value}"),
            HeaderValue::TimestampS(value) => write!(f, "{value}"),
            HeaderValue::Decimal { scale, value } => {
                let sign = if *value < 0 { "-" } else { "" };
                let places = usize::from(*scale);
                let digits = format!("{:0>width$}", value.unsigned_abs(), width = places + 1);
                let (whole, fraction) = digits.split_at_checked(digits.len() - places).unwrap_or((&digits, ""));
                let point = if fraction.is_empty() { "" } else { "." };
                write!(f, "{sign}{whole}{point}{fraction}")
            }
            HeaderValue::Void
            | HeaderValue::Text(_)
            | HeaderValue::Binary(_)
            | HeaderValue::List(_)
            | HeaderValue::Table(_) => Ok(()),
        }
    }
}

/// Tables and lists on one line of JSON; below the depth limit `null`.
fn json(value: &HeaderValue, depth: usize, out: &mut BytesMut) {
    match value {
        HeaderValue::List(_) | HeaderValue::Table(_) if depth >= HEADER_DEPTH_MAX => out.extend_from_slice(b"null"),
        HeaderValue::List(values) => {
            out.put_u8(b'[');
            for (position, value) in values.iter().enumerate() {
                if position > 0 {
                    out.put_u8(b',');
                }
                json(value, depth + 1, out);
            }
            out.put_u8(b']');
        }
        HeaderValue::Table(fields) => table(fields, depth, out),
        HeaderValue::Text(text) | HeaderValue::Binary(text) => json_text(text, out),
        HeaderValue::Void => out.extend_from_slice(b"null"),
        HeaderValue::Float(number) if !number.is_finite() => out.extend_from_slice(b"null"),
        HeaderValue::Boolean(_)
        | HeaderValue::Integer(_)
        | HeaderValue::Float(_)
        | HeaderValue::Decimal { .. }
        | HeaderValue::TimestampS(_) => {
            // Writing to a growing buffer cannot fail.
            let _written: fmt::Result = write!(out, "{}", Scalar(value));
        }
    }
}

fn table(fields: &Headers, depth: usize, out: &mut BytesMut) {
    out.put_u8(b'{');
    for (position, (name, value)) in fields.iter().enumerate() {
        if position > 0 {
            out.put_u8(b',');
        }
        json_text(name, out);
        out.put_u8(b':');
        json(value, depth + 1, out);
    }
    out.put_u8(b'}');
}

fn json_text(text: &[u8], out: &mut BytesMut) {
    let text = alloc::string::String::from_utf8_lossy(text);
    out.extend_from_slice(serde_json::to_string(&text).unwrap_or_default().replace('\u{7f}', "\\u007f").as_bytes());
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use braid_types::Timestamp;
    use bytes::Bytes;

    use super::*;

    fn block(properties: &Properties) -> BytesMut {
        let mut out = BytesMut::new();
        write(properties, 0, &mut out);
        out
    }

    fn bytes(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn each_row_of_the_table() {
        let properties = Properties {
            content_type: Some(bytes("a/b")),
            content_encoding: Some(bytes("gzip")),
            correlation: Some(Bytes::from_static(b"\x00\r1")),
            message_id: Some(bytes("m")),
            timestamp_s: Some(5),
            expires_at: Some(Timestamp(9)),
            priority: Some(4),
            kind: Some(bytes("k")),
            application: Some(bytes("app")),
            user: Some(bytes("u")),
            is_text: true,
            ..Properties::default()
        };
        let mut out = BytesMut::new();
        write(&properties, 2, &mut out);
        let expected = "NATS/1.0\r\nContent-Type: a/b\r\nContent-Encoding: gzip\r\nNats-Msg-Id: m\r\nBraid-Type: k\r\n\
                        Braid-App-Id: app\r\nBraid-User-Id: u\r\nCorrelation-Id: %00%0D1\r\nBraid-Timestamp: 5\r\n\
                        Braid-Expires-At: 9\r\nBraid-Priority: 4\r\nBraid-Delivery-Count: 2\r\n\
                        Braid-Payload-Format: utf-8\r\n\r\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn headers_of_every_type() {
        let nested = HeaderValue::Table(vec![
            (bytes("a\"\n"), HeaderValue::List(vec![HeaderValue::Integer(-1), HeaderValue::Void])),
            (bytes("f"), HeaderValue::Float(f64::NAN)),
        ]);
        let headers = vec![
            (bytes("Text"), HeaderValue::Text(bytes("x\r\nEvil: 1"))),
            (bytes("Text"), HeaderValue::Boolean(true)),
            (bytes("a b"), HeaderValue::Decimal { scale: 2, value: -105 }),
            (bytes("d"), HeaderValue::Decimal { scale: 3, value: 5 }),
            (bytes("v"), HeaderValue::Void),
            (bytes(""), HeaderValue::Integer(1)),
            (bytes("n"), nested),
        ];
        let expected = "NATS/1.0\r\nText: x%0D%0AEvil: 1\r\nText: true\r\na%20b: -1.05\r\nd: 0.005\r\nv: \r\n\
                        n: {\"a\\\"\\n\":[-1,null],\"f\":null}\r\n\r\n";
        assert_eq!(block(&Properties { headers, ..Properties::default() }), expected);
        assert!(block(&Properties::default()).is_empty());
    }

    #[test]
    fn deep_tables_end() {
        let mut value = HeaderValue::Integer(1);
        for _ in 0..200 {
            value = HeaderValue::List(vec![value]);
        }
        let out = block(&Properties { headers: vec![(bytes("x"), value)], ..Properties::default() });
        assert!(out.ends_with(b"null]]]]]]]]]]]]]]]]\r\n\r\n"));
    }
}
