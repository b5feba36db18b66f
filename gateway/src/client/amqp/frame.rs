//! Frames of AMQP 0-9-1, as a client needs them.
//!
//! ```text
//! kind u8 | channel u16 | payload bytes u32 | payload | 0xCE
//! method payload:  class u16 | method u16 | arguments
//! header payload:  class u16 | 0 u16 | body bytes u64 | flags u16 | properties
//! ```

use bytes::{Buf, BufMut, Bytes, BytesMut, TryGetError};

use super::field_table;
use crate::client::{ClientError, Outgoing, Receipt, Received};

/// Bytes of a frame before the two sides have agreed: the protocol's least would do, servers send a little more.
pub(super) const FRAME_BYTES_BEFORE_TUNE: usize = 128 * 1024;

/// A frame that only says that the sender lives.
pub(super) const HEARTBEAT: [u8; 8] = [8, 0, 0, 0, 0, 0, 0, FRAME_END];

const FRAME_END: u8 = 0xCE;
const FRAME_OVERHEAD_BYTES: usize = 8;
const BASIC_CLASS: u16 = 60;

/// Flag of the property `headers`, and of those that stand before it.
const FLAG_CONTENT_TYPE: u16 = 1 << 15;
const FLAG_CONTENT_ENCODING: u16 = 1 << 14;
const FLAG_HEADERS: u16 = 1 << 13;
const FLAG_DELIVERY_MODE: u16 = 1 << 12;

/// Delivery mode of a message that is to survive a restart.
const PERSISTENT: u8 = 2;

/// Number of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Method {
    pub(super) class: u16,
    pub(super) method: u16,
}

/// The methods that are used here.
pub(super) mod method {
    use super::Method;

    macro_rules! methods {
        ($($name:ident = $class:literal, $method:literal;)*) => {
            $(pub(in super::super) const $name: Method = Method { class: $class, method: $method };)*
        };
    }

    methods! {
        CONNECTION_START = 10, 10;
        CONNECTION_START_OK = 10, 11;
        CONNECTION_TUNE = 10, 30;
        CONNECTION_TUNE_OK = 10, 31;
        CONNECTION_OPEN = 10, 40;
        CONNECTION_OPEN_OK = 10, 41;
        CONNECTION_CLOSE = 10, 50;
        CONNECTION_CLOSE_OK = 10, 51;
        CHANNEL_OPEN = 20, 10;
        CHANNEL_OPEN_OK = 20, 11;
        CHANNEL_CLOSE = 20, 40;
        CHANNEL_CLOSE_OK = 20, 41;
        QUEUE_DECLARE = 50, 10;
        QUEUE_DECLARE_OK = 50, 11;
        QUEUE_BIND = 50, 20;
        QUEUE_BIND_OK = 50, 21;
        BASIC_QOS = 60, 10;
        BASIC_QOS_OK = 60, 11;
        BASIC_CONSUME = 60, 20;
        BASIC_CONSUME_OK = 60, 21;
        BASIC_CANCEL = 60, 30;
        BASIC_CANCEL_OK = 60, 31;
        BASIC_PUBLISH = 60, 40;
        BASIC_RETURN = 60, 50;
        BASIC_DELIVER = 60, 60;
        BASIC_ACK = 60, 80;
        BASIC_NACK = 60, 120;
        CONFIRM_SELECT = 85, 10;
        CONFIRM_SELECT_OK = 85, 11;
    }
}

/// A frame from the server.
#[derive(Debug)]
pub(super) enum Frame {
    Method(Method, Bytes),
    Header(Content),
    Body(Bytes),
    Heartbeat,
}

/// What a header frame says.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) body_bytes: u64,
    pub(super) headers: Vec<(String, serde_json::Value)>,
}

/// Takes a frame out of `input`; `None`: it is not complete.
pub(super) fn take(input: &mut BytesMut, frame_bytes_max: usize) -> Result<Option<Frame>, ClientError> {
    let Some(&[kind, _, _, a, b, c, d]) = input.first_chunk() else { return Ok(None) };
    let payload_bytes = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if !matches!(kind, 1 | 2 | 3 | 8) || payload_bytes.saturating_add(FRAME_OVERHEAD_BYTES) > frame_bytes_max {
        return Err(ClientError::Protocol("the server does not speak AMQP"));
    }
    if input.len() < payload_bytes + FRAME_OVERHEAD_BYTES {
        return Ok(None);
    }
    let mut frame = input.split_to(payload_bytes + FRAME_OVERHEAD_BYTES).freeze();
    if frame.last() != Some(&FRAME_END) {
        return Err(ClientError::Protocol("the server sent a frame without its end"));
    }
    frame.truncate(frame.len() - 1);
    frame.advance(FRAME_OVERHEAD_BYTES - 1);
    Ok(Some(match kind {
        1 => {
            let class = truncated(frame.try_get_u16())?;
            let method = truncated(frame.try_get_u16())?;
            Frame::Method(Method { class, method }, frame)
        }
        2 => Frame::Header(content(frame)?),
        3 => Frame::Body(frame),
        _ => Frame::Heartbeat,
    }))
}

/// Appends a method frame.
pub(super) fn method_frame(
    out: &mut BytesMut,
    channel: u16,
    id: Method,
    arguments: impl FnOnce(&mut BytesMut) -> Result<(), ClientError>,
) -> Result<(), ClientError> {
    let mut payload = BytesMut::new();
    payload.put_u16(id.class);
    payload.put_u16(id.method);
    arguments(&mut payload)?;
    put_frame(out, 1, channel, &payload);
    Ok(())
}

/// Appends a whole persistent, mandatory message: method, header, body frames.
pub(super) fn publish(
    out: &mut BytesMut,
    channel: u16,
    frame_bytes_max: usize,
    exchange: &str,
    message: &Outgoing,
) -> Result<(), ClientError> {
    const MANDATORY: u8 = 1;
    method_frame(out, channel, method::BASIC_PUBLISH, |out| {
        out.put_u16(0);
        put_short_text(out, exchange)?;
        put_short_text(out, &message.address)?;
        out.put_u8(MANDATORY);
        Ok(())
    })?;
    let mut header = BytesMut::new();
    header.put_u16(BASIC_CLASS);
    header.put_u16(0);
    header.put_u64(message.body.len() as u64);
    let with_headers = if message.headers.is_empty() { 0 } else { FLAG_HEADERS };
    header.put_u16(with_headers | FLAG_DELIVERY_MODE);
    if !message.headers.is_empty() {
        put_long(&mut header, &field_table::encoded(&message.headers)?)?;
    }
    header.put_u8(PERSISTENT);
    if header.len() + FRAME_OVERHEAD_BYTES > frame_bytes_max {
        return Err(ClientError::Input("the headers do not fit into a frame".to_owned()));
    }
    put_frame(out, 2, channel, &header);
    for part in message.body.chunks(frame_bytes_max.saturating_sub(FRAME_OVERHEAD_BYTES).max(1)) {
        put_frame(out, 3, channel, part);
    }
    Ok(())
}

/// Reads the arguments of `basic.deliver`; the body is still to come.
pub(super) fn deliver(mut arguments: Bytes) -> Result<Received, ClientError> {
    take_short(&mut arguments)?;
    let tag = truncated(arguments.try_get_u64())?;
    let redelivered = truncated(arguments.try_get_u8())? & 1 == 1;
    take_short(&mut arguments)?;
    let key = take_short(&mut arguments)?;
    Ok(Received {
        address: String::from_utf8_lossy(&key).into_owned(),
        headers: Vec::new(),
        body: Bytes::new(),
        redelivered,
        receipt: Receipt::Tag(tag),
    })
}

/// Reads the arguments of `connection.close` or `channel.close`.
pub(super) fn refusal(mut arguments: Bytes) -> ClientError {
    let Ok(code) = arguments.try_get_u16() else {
        return ClientError::Protocol("the server closed without a code");
    };
    let text = take_short(&mut arguments).unwrap_or_default();
    ClientError::Refused { code: Some(code), reason: format!("{code} {}", String::from_utf8_lossy(&text)) }
}

/// Appends a text of at most 255 bytes.
pub(super) fn put_short_text(out: &mut BytesMut, text: &str) -> Result<(), ClientError> {
    let length = u8::try_from(text.len())
        .map_err(|_| ClientError::Input(format!("AMQP takes at most 255 bytes here, not {}", text.len())))?;
    out.put_u8(length);
    out.put_slice(text.as_bytes());
    Ok(())
}

/// Appends a length of four bytes, and the bytes.
pub(super) fn put_long(out: &mut BytesMut, bytes: &[u8]) -> Result<(), ClientError> {
    let length = u32::try_from(bytes.len()).map_err(|_| ClientError::Input("too long for AMQP".to_owned()))?;
    out.put_u32(length);
    out.put_slice(bytes);
    Ok(())
}

/// Takes a length of one byte and as many bytes.
pub(super) fn take_short(from: &mut Bytes) -> Result<Bytes, ClientError> {
    let length = usize::from(truncated(from.try_get_u8())?);
    take_bytes(from, length)
}

/// Takes a length of four bytes and as many bytes.
pub(super) fn take_long(from: &mut Bytes) -> Result<Bytes, ClientError> {
    let length = usize::try_from(truncated(from.try_get_u32())?).unwrap_or(usize::MAX);
    take_bytes(from, length)
}

/// Takes `count` bytes.
pub(super) fn take_bytes(from: &mut Bytes, count: usize) -> Result<Bytes, ClientError> {
    if from.len() < count { Err(TRUNCATED) } else { Ok(from.split_to(count)) }
}

/// A value that must be there.
pub(super) fn truncated<T>(value: Result<T, TryGetError>) -> Result<T, ClientError> {
    value.map_err(|_| TRUNCATED)
}

const TRUNCATED: ClientError = ClientError::Protocol("the server sent a frame that ends too early");

fn put_frame(out: &mut BytesMut, kind: u8, channel: u16, payload: &[u8]) {
    out.put_u8(kind);
    out.put_u16(channel);
    // Payloads are built within the frame size, which is a u32.
    out.put_u32(u32::try_from(payload.len()).unwrap_or(u32::MAX));
    out.put_slice(payload);
    out.put_u8(FRAME_END);
}

fn content(mut payload: Bytes) -> Result<Content, ClientError> {
    truncated(payload.try_get_u32())?;
    let body_bytes = truncated(payload.try_get_u64())?;
    let flags = truncated(payload.try_get_u16())?;
    for flag in [FLAG_CONTENT_TYPE, FLAG_CONTENT_ENCODING] {
        if flags & flag != 0 {
            take_short(&mut payload)?;
        }
    }
    let headers = if flags & FLAG_HEADERS == 0 { Vec::new() } else { field_table::decoded(&mut payload)? };
    Ok(Content { body_bytes, headers })
}
