//! Takes operations out of the read buffer, one at a time, resumable at any byte.
//!
//! It copies no payload and allocates nothing for a publish: when the payload is complete, the frame is split off the
//! buffer and its parts are slices of it. An incomplete frame stays in the buffer, and what was learnt of it (how far
//! it has no line end; the layout of a control line whose payload is under way) stays here, so that nothing is read
//! twice.
//!
//! Invariant: between two calls the caller only appends to the buffer. However the bytes are split, the same operations
//! and the same fault come out.

mod arguments;
mod verb;

use bytes::{Buf, Bytes, BytesMut};

use self::{
    arguments::{Arguments, Span, number},
    verb::{Verb, recognise},
};
use crate::{
    error::Fault,
    limits::CONTROL_LINE_BYTES_MAX,
    op::{Op, PublishOp, SubscribeOp, UnsubscribeOp},
};

/// What the connection allows at the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Largest payload, in bytes.
    pub payload_bytes_max: usize,
    /// `HPUB` is allowed.
    pub headers: bool,
}

/// The parser of one connection.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    state: State,
}

#[derive(Debug)]
enum State {
    /// At the start of an operation, or in its control line, which has no end in the first `scanned` bytes.
    Line { scanned: usize },
    /// Behind the name of an operation whose line does not matter: up to its end.
    Rest(Verb),
    /// In a payload.
    Payload(Frame),
}

impl Default for State {
    fn default() -> Self {
        Self::Line { scanned: 0 }
    }
}

/// The layout of a publish whose control line is read: offsets and sizes in the buffer.
#[derive(Clone, Copy, Debug)]
struct Frame {
    line_bytes: usize,
    subject: Span,
    reply: Option<Span>,
    header_bytes: usize,
    payload_bytes: usize,
}

impl Parser {
    /// No operation has been begun.
    pub(crate) fn is_between_operations(&self) -> bool {
        matches!(self.state, State::Line { scanned: 0 })
    }

    /// The next operation; `None` when it is not complete yet.
    #[inline]
    pub(crate) fn next(&mut self, input: &mut BytesMut, rules: Rules) -> Result<Option<Op>, Fault> {
        match self.state {
            State::Line { scanned } => self.line(input, scanned, rules),
            State::Payload(frame) => self.payload(input, frame),
            State::Rest(verb) => Ok(self.rest(input, verb)),
        }
    }

    /// Reads a control line, and what follows it as far as it is there.
    #[inline]
    fn line(&mut self, input: &mut BytesMut, scanned: usize, rules: Rules) -> Result<Option<Op>, Fault> {
        let Some((verb, start)) = recognise(input)? else { return Ok(None) };
        if matches!(verb, Verb::Ping | Verb::Pong | Verb::Okay) {
            input.advance(start);
            self.state = State::Rest(verb);
            return Ok(self.rest(input, verb));
        }
        let from = scanned.max(start).min(input.len());
        let Some(found) = input.get(from..).and_then(|unseen| memchr::memchr(b'\n', unseen)) else {
            self.state = State::Line { scanned: input.len() };
            return if is_too_long(input.get(start..).unwrap_or_default()) {
                Err(Fault::ControlLine)
            } else {
                Ok(None)
            };
        };
        let end = from + found;
        let line = input.get(start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > CONTROL_LINE_BYTES_MAX {
            return Err(Fault::ControlLine);
        }
        if !matches!(verb, Verb::Publish | Verb::PublishWithHeaders) {
            let op = line_operation(verb, line)?;
            input.advance(end + 1);
            self.state = State::default();
            return Ok(Some(op));
        }
        let with_headers = verb == Verb::PublishWithHeaders;
        if with_headers && !rules.headers {
            return Err(Fault::Arguments);
        }
        let Some(frame) = publish_line(input, line, start, end + 1, with_headers) else { return Err(Fault::Arguments) };
        if frame.payload_bytes > rules.payload_bytes_max {
            return Err(Fault::Payload);
        }
        self.payload(input, frame)
    }

    fn rest(&mut self, input: &mut BytesMut, verb: Verb) -> Option<Op> {
        let Some(end) = memchr::memchr(b'\n', input) else {
            input.clear();
            return None;
        };
        input.advance(end + 1);
        self.state = State::default();
        Some(match verb {
            Verb::Ping => Op::Ping,
            Verb::Pong => Op::Pong,
            Verb::Publish
            | Verb::PublishWithHeaders
            | Verb::Subscribe
            | Verb::Unsubscribe
            | Verb::Connect
            | Verb::Info
            | Verb::Okay
            | Verb::Error => Op::Nothing,
        })
    }

    #[inline]
    fn payload(&mut self, input: &mut BytesMut, frame: Frame) -> Result<Option<Op>, Fault> {
        let payload_end = frame.line_bytes + frame.payload_bytes;
        match (input.get(payload_end), input.get(payload_end + 1)) {
            (Some(b'\r'), Some(b'\n')) => {}
            (Some(b'\r') | None, None) => {
                self.state = State::Payload(frame);
                return Ok(None);
            }
            _ => return Err(Fault::UnknownOperation),
        }
        let mut payload = input.split_to(payload_end + 2).freeze();
        self.state = State::default();
        let subject = payload.slice(frame.subject.0..frame.subject.1);
        let reply = frame.reply.map_or_else(Bytes::new, |(start, end)| payload.slice(start..end));
        payload.advance(frame.line_bytes);
        payload.truncate(frame.payload_bytes);
        let header = if frame.header_bytes == 0 { Bytes::new() } else { payload.split_to(frame.header_bytes) };
        Ok(Some(Op::Publish(PublishOp { subject, reply, header, body: payload })))
    }
}

/// Whether the unfinished line will be too long whatever follows (a carriage return before its end does not count).
fn is_too_long(unfinished: &[u8]) -> bool {
    let spare = usize::from(unfinished.last() == Some(&b'\r'));
    unfinished.len() > CONTROL_LINE_BYTES_MAX + spare || unfinished.len() > CONTROL_LINE_BYTES_MAX + 1
}

/// `PUB subject [reply] size` and `HPUB subject [reply] header-size size`.
fn publish_line(buffer: &[u8], line: &[u8], start: usize, line_bytes: usize, with_headers: bool) -> Option<Frame> {
    let arguments = Arguments::split(line, start, false)?;
    let read = |span: Span| number(buffer.get(span.0..span.1)?);
    let (subject, reply, header_bytes, payload_bytes) = match (with_headers, arguments.spans()) {
        (false, [subject, size]) => (*subject, None, 0, read(*size)?),
        (false, [subject, reply, size]) => (*subject, Some(*reply), 0, read(*size)?),
        (true, [subject, header, size]) => (*subject, None, read(*header)?, read(*size)?),
        (true, [subject, reply, header, size]) => (*subject, Some(*reply), read(*header)?, read(*size)?),
        _ => return None,
    };
    (header_bytes <= payload_bytes).then_some(Frame { line_bytes, subject, reply, header_bytes, payload_bytes })
}

/// The operations that consist of their control line alone.
fn line_operation(verb: Verb, line: &[u8]) -> Result<Op, Fault> {
    match verb {
        Verb::Connect => Ok(Op::Connect(Bytes::copy_from_slice(line))),
        Verb::Info => match serde_json::from_slice::<serde::de::IgnoredAny>(line) {
            Ok(_) => Ok(Op::Nothing),
            Err(_) => Err(Fault::Arguments),
        },
        Verb::Subscribe => {
            let line = Bytes::copy_from_slice(line);
            let part = |span: &Span| line.slice(span.0..span.1);
            let arguments = Arguments::split(&line, 0, true).ok_or(Fault::Arguments)?;
            match arguments.spans() {
                [filter, sid] => Ok(Op::Subscribe(SubscribeOp { filter: part(filter), queue: None, sid: part(sid) })),
                [filter, queue, sid] => {
                    Ok(Op::Subscribe(SubscribeOp { filter: part(filter), queue: Some(part(queue)), sid: part(sid) }))
                }
                _ => Err(Fault::Arguments),
            }
        }
        Verb::Unsubscribe => {
            let arguments = Arguments::split(line, 0, true).ok_or(Fault::Arguments)?;
            let part = |span: &Span| line.get(span.0..span.1).unwrap_or_default();
            let (sid, messages_max) = match arguments.spans() {
                [sid] => (part(sid), 0),
                [sid, max] => (part(sid), number(part(max)).unwrap_or(0)),
                _ => return Err(Fault::Arguments),
            };
            let messages_max = u64::try_from(messages_max).unwrap_or(0);
            Ok(Op::Unsubscribe(UnsubscribeOp { sid: Bytes::copy_from_slice(sid), messages_max }))
        }
        Verb::Error => Err(Fault::PeerError),
        Verb::Publish | Verb::PublishWithHeaders | Verb::Ping | Verb::Pong | Verb::Okay => Ok(Op::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { payload_bytes_max: 1024 * 1024, headers: true };

    #[test]
    fn a_large_payload_is_a_slice_of_the_buffer() {
        let mut input = BytesMut::from(&b"PUB a.b r 5\r\nhello\r\nPI"[..]);
        let start = input.as_ptr() as usize;
        let mut parser = Parser::default();
        let Ok(Some(Op::Publish(publish))) = parser.next(&mut input, RULES) else { panic!("no publish") };
        assert_eq!(publish.body, "hello");
        assert_eq!(publish.body.as_ptr() as usize, start + 13);
        assert_eq!(publish.subject.as_ptr() as usize, start + 4);
        assert_eq!(&input[..], b"PI");
    }

    #[test]
    fn an_unfinished_payload_leaves_the_input_alone() {
        let mut input = BytesMut::from(&b"HPUB a 12 14\r\nNATS/1.0\r\n\r\nh"[..]);
        let mut parser = Parser::default();
        let before = input.clone();
        assert!(matches!(parser.next(&mut input, RULES), Ok(None)));
        assert_eq!(input, before);
        input.extend_from_slice(b"i\r\n");
        let Ok(Some(Op::Publish(publish))) = parser.next(&mut input, RULES) else { panic!("no publish") };
        assert_eq!((&publish.header[..], &publish.body[..]), (&b"NATS/1.0\r\n\r\n"[..], &b"hi"[..]));
        assert!(input.is_empty() && parser.is_between_operations());
    }

    #[test]
    fn a_line_without_meaning_is_not_kept() {
        let mut input = BytesMut::from(&b"PING"[..]);
        let mut parser = Parser::default();
        for _ in 0..100 {
            input.extend_from_slice(&[b'x'; 1000]);
            assert!(matches!(parser.next(&mut input, RULES), Ok(None)));
            assert!(input.is_empty());
        }
        input.extend_from_slice(b"\n");
        assert!(matches!(parser.next(&mut input, RULES), Ok(Some(Op::Ping))));
    }

    #[test]
    fn the_control_line_limit_is_exact_however_the_line_is_split() {
        for (size, ending, good) in [(4094, "\r\n", true), (4094, "\n", true), (4095, "\r\n", false)] {
            let mut text = alloc::vec![b'a'; size];
            text.extend_from_slice(b" 0");
            let line = [b"PUB ", &text[..], ending.as_bytes(), b"\r\n"].concat();
            for step in [1, 7, line.len()] {
                let mut parser = Parser::default();
                let mut input = BytesMut::new();
                let mut last = Ok(None);
                for piece in line.chunks(step) {
                    input.extend_from_slice(piece);
                    last = parser.next(&mut input, RULES);
                    if !matches!(last, Ok(None)) {
                        break;
                    }
                }
                assert_eq!(matches!(last, Ok(Some(Op::Publish(_)))), good, "{size} {step}");
                assert_eq!(matches!(last, Err(Fault::ControlLine)), !good, "{size} {step}");
            }
        }
    }
}
