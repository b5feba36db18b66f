//! Typed header values of other protocols as the text of a user property. Never fails: what is no text is left out by
//! the caller (`None`).

use alloc::string::String;
use core::fmt::Write;

use braid_types::HeaderValue;
use bytes::Bytes;

use crate::{limits, text};

/// The text of `value`; `None` when MQTT cannot hold it (binary that is not UTF-8, too long, nested too deep). A table or
/// list becomes JSON-like text, as there is nothing better.
pub(crate) fn header_text(value: &HeaderValue) -> Option<Bytes> {
    if let HeaderValue::Text(bytes) | HeaderValue::Binary(bytes) = value {
        return is_sendable(bytes).then(|| bytes.clone());
    }
    let mut out = String::new();
    write_value(&mut out, value, limits::HEADER_DEPTH_MAX)?;
    is_sendable(out.as_bytes()).then(|| Bytes::from(out.into_bytes()))
}

fn is_sendable(bytes: &[u8]) -> bool {
    bytes.len() <= limits::HEADER_TEXT_BYTES_MAX && text::is_text(bytes)
}

fn write_value(out: &mut String, value: &HeaderValue, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    if out.len() > limits::HEADER_TEXT_BYTES_MAX {
        return None;
    }
    match value {
        HeaderValue::Void => {
            if depth < limits::HEADER_DEPTH_MAX - 1 {
                out.push_str("null");
            }
            Some(())
        }
        HeaderValue::Boolean(value) => write!(out, "{value}").ok(),
        HeaderValue::Integer(value) => write!(out, "{value}").ok(),
        HeaderValue::Float(value) => write!(out, "{value}").ok(),
        HeaderValue::TimestampS(value) => write!(out, "{value}").ok(),
        HeaderValue::Decimal { scale, value } => write_decimal(out, *scale, *value),
        HeaderValue::Text(bytes) | HeaderValue::Binary(bytes) => write_quoted(out, bytes),
        HeaderValue::List(values) => {
            out.push('[');
            for (position, value) in values.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_value(out, value, depth)?;
            }
            out.push(']');
            Some(())
        }
        HeaderValue::Table(entries) => {
            out.push('{');
            for (position, (name, value)) in entries.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_quoted(out, name)?;
                out.push(':');
                write_value(out, value, depth)?;
            }
            out.push('}');
            Some(())
        }
    }
}

/// 12345 with scale 2 is 123.45; the sign goes first.
fn write_decimal(out: &mut String, scale: u8, value: i32) -> Option<()> {
    if value < 0 {
        out.push('-');
    }
    let digits = value.unsigned_abs();
    let mut text = String::new();
    write!(text, "{digits:0>width$}", width = usize::from(scale).saturating_add(1)).ok()?;
    let (whole, fraction) = text.split_at_checked(text.len().saturating_sub(usize::from(scale)))?;
    out.push_str(whole);
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    Some(())
}

fn write_quoted(out: &mut String, bytes: &[u8]) -> Option<()> {
    let text = core::str::from_utf8(bytes).ok()?;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)).ok()?,
            c => out.push(c),
        }
    }
    out.push('"');
    Some(())
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn text(value: &HeaderValue) -> Option<Bytes> {
        header_text(value)
    }

    #[test]
    fn scalars_are_written_as_people_write_them() {
        let table: &[(HeaderValue, &str)] = &[
            (HeaderValue::Void, ""),
            (HeaderValue::Boolean(true), "true"),
            (HeaderValue::Integer(i64::MIN), "-9223372036854775808"),
            (HeaderValue::Float(1.5), "1.5"),
            (HeaderValue::Decimal { scale: 2, value: -12_345 }, "-123.45"),
            (HeaderValue::Decimal { scale: 3, value: 5 }, "0.005"),
            (HeaderValue::TimestampS(7), "7"),
            (HeaderValue::Text(Bytes::from_static(b"a\"b")), "a\"b"),
        ];
        for (value, expected) in table {
            assert_eq!(text(value).as_deref(), Some(expected.as_bytes()), "{value:?}");
        }
    }

    #[test]
    fn nested_values_become_json_and_what_is_no_text_is_left_out() {
        let entry =
            (Bytes::from_static(b"k\n"), HeaderValue::List(vec![HeaderValue::Void, HeaderValue::Boolean(false)]));
        assert_eq!(text(&HeaderValue::Table(vec![entry])).as_deref(), Some(&b"{\"k\\u000a\":[null,false]}"[..]));
        assert_eq!(text(&HeaderValue::Binary(Bytes::from_static(&[0xFF]))), None);
        assert_eq!(text(&HeaderValue::Text(Bytes::from_static(b"\0"))), None);
        let mut deep = HeaderValue::Void;
        for _ in 0..limits::HEADER_DEPTH_MAX {
            deep = HeaderValue::List(vec![deep]);
        }
        assert_eq!(text(&deep), None);
    }
}
