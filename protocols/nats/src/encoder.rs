//! Writes what the server sends: `MSG` and `HMSG` straight into the outgoing stream, and texts inside `-ERR`.

use alloc::string::String;
use core::fmt::Write;

use braid_types::Transmit;
use bytes::{Bytes, BytesMut};

/// A message for one subscription, in NATS form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    /// Where it was published.
    pub subject: &'a [u8],
    /// The client's name for the subscription.
    pub sid: &'a [u8],
    /// Where an answer goes; empty: nowhere.
    pub reply: &'a [u8],
    /// The header block; empty: none.
    pub header: &'a [u8],
    /// The body.
    pub body: &'a Bytes,
}

/// What a `MSG` or `HMSG` adds at most to its parts: names, blanks, two numbers and two line ends.
const FRAME_BYTES_MAX: usize = 5 + 4 + 2 * 20 + 4;

impl Envelope<'_> {
    /// Writes it, as `HMSG` when it has headers.
    pub(crate) fn write(&self, transmit: &mut Transmit) {
        let buffer = transmit.buffer();
        let line_bytes = self.subject.len() + self.sid.len() + self.reply.len() + self.header.len();
        buffer.reserve(line_bytes + FRAME_BYTES_MAX);
        buffer.extend_from_slice(if self.header.is_empty() { b"MSG " } else { b"HMSG " });
        buffer.extend_from_slice(self.subject);
        buffer.extend_from_slice(b" ");
        buffer.extend_from_slice(self.sid);
        buffer.extend_from_slice(b" ");
        if !self.reply.is_empty() {
            buffer.extend_from_slice(self.reply);
            buffer.extend_from_slice(b" ");
        }
        if !self.header.is_empty() {
            write_number(buffer, self.header.len());
            buffer.extend_from_slice(b" ");
        }
        write_number(buffer, self.header.len() + self.body.len());
        buffer.extend_from_slice(b"\r\n");
        buffer.extend_from_slice(self.header);
        transmit.push_body(self.body);
        transmit.buffer().extend_from_slice(b"\r\n");
    }
}

/// The notice that nobody is there to answer a request: a bodiless `HMSG` on its reply subject.
pub(crate) fn no_responders(subject: &[u8], reply: &[u8], sid: &[u8]) -> Bytes {
    let mut header = BytesMut::with_capacity(32 + subject.len());
    header.extend_from_slice(b"NATS/1.0 503\r\nNats-Subject: ");
    header.extend_from_slice(subject);
    header.extend_from_slice(b"\r\n\r\n");
    let mut transmit = Transmit::new();
    Envelope { subject: reply, sid, reply: b"", header: &header, body: &Bytes::new() }.write(&mut transmit);
    transmit.take()
}

fn write_number(buffer: &mut BytesMut, number: usize) {
    buffer.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Bytes as a quoted text on one line, escaped as nats-server (Go's `%q`) does.
pub(crate) fn quoted(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\u{7}' => out.push_str("\\a"),
                '\u{8}' => out.push_str("\\b"),
                '\u{b}' => out.push_str("\\v"),
                '\u{c}' => out.push_str("\\f"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                other if other.is_ascii_control() => escape(&mut out, "\\x", 2, u32::from(other)),
                other if other.is_control() => escape(&mut out, "\\u", 4, u32::from(other)),
                other => out.push(other),
            }
        }
        for byte in chunk.invalid() {
            escape(&mut out, "\\x", 2, u32::from(*byte));
        }
    }
    out.push('"');
    out
}

fn escape(out: &mut String, prefix: &str, width: usize, value: u32) {
    // Writing to a string cannot fail.
    let _written: Result<(), core::fmt::Error> = write!(out, "{prefix}{value:0width$x}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_wire_form() {
        let mut transmit = Transmit::new();
        let body = Bytes::from_static(b"hi");
        let plain = Envelope { subject: b"a.b", sid: b"9", reply: b"", header: b"", body: &body };
        plain.write(&mut transmit);
        Envelope { reply: b"r", ..plain }.write(&mut transmit);
        Envelope { reply: b"r", header: b"NATS/1.0\r\n\r\n", ..plain }.write(&mut transmit);
        Envelope { body: &Bytes::new(), ..plain }.write(&mut transmit);
        let expected = "MSG a.b 9 2\r\nhi\r\nMSG a.b 9 r 2\r\nhi\r\nHMSG a.b 9 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n\
                        MSG a.b 9 0\r\n\r\n";
        assert_eq!(transmit.take(), expected);
    }

    #[test]
    fn the_notice_is_that_of_nats_server() {
        let expected = "HMSG inbox.1 7 36 36\r\nNATS/1.0 503\r\nNats-Subject: none\r\n\r\n\r\n";
        assert_eq!(no_responders(b"none", b"inbox.1", b"7"), expected);
    }
}
