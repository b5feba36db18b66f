//! Packets of MQTT 5.0, as a client needs them.
//!
//! ```text
//! kind and flags u8 | remaining length, 1 to 4 bytes of 7 bits each | remaining bytes
//! ```

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::properties;
use crate::client::{ClientError, Login, Outgoing};

/// First bytes of packets.
pub(super) mod kind {
    pub(in super::super) const CONNACK: u8 = 0x20;
    pub(in super::super) const PUBLISH: u8 = 0x30;
    pub(in super::super) const PUBACK: u8 = 0x40;
    pub(in super::super) const PUBREC: u8 = 0x50;
    pub(in super::super) const PUBREL: u8 = 0x62;
    pub(in super::super) const PUBREL_WITHOUT_FLAGS: u8 = 0x60;
    pub(in super::super) const PUBCOMP: u8 = 0x70;
    pub(in super::super) const SUBACK: u8 = 0x90;
    pub(in super::super) const PINGRESP: u8 = 0xD0;
    pub(in super::super) const DISCONNECT: u8 = 0xE0;
}

pub(super) const PINGREQ: [u8; 2] = [0xC0, 0];
pub(super) const DISCONNECT: [u8; 2] = [kind::DISCONNECT, 0];

const CONNECT: u8 = 0x10;
const SUBSCRIBE: u8 = 0x82;

/// A packet from the server.
#[derive(Debug)]
pub(super) struct Packet {
    /// Kind and flags.
    pub(super) first: u8,
    /// All after the length.
    pub(super) body: Bytes,
}

/// Takes a packet out of `input`; `None`: it is not complete.
pub(super) fn take(input: &mut BytesMut) -> Result<Option<Packet>, ClientError> {
    const LENGTH_BYTES_MAX: usize = 4;
    let Some(&first) = input.first() else { return Ok(None) };
    let mut length = 0_usize;
    for (position, byte) in input.iter().skip(1).take(LENGTH_BYTES_MAX).enumerate() {
        length |= usize::from(byte & 0x7F) << (7 * position);
        if byte & 0x80 == 0 {
            let head_bytes = position + 2;
            if input.len() < head_bytes + length {
                return Ok(None);
            }
            input.advance(head_bytes);
            return Ok(Some(Packet { first, body: input.split_to(length).freeze() }));
        }
    }
    if input.len() > LENGTH_BYTES_MAX { Err(ClientError::Protocol("the server does not speak MQTT")) } else { Ok(None) }
}

/// CONNECT with a clean start and no name.
pub(super) fn connect(login: &Login, keepalive_s: u16, receive_maximum: u16) -> Result<BytesMut, ClientError> {
    const CLEAN_START: u8 = 0b0000_0010;
    const PASSWORD: u8 = 0b0100_0000;
    const USER: u8 = 0b1000_0000;
    let mut flags = CLEAN_START;
    let mut body = BytesMut::new();
    put_short(&mut body, b"MQTT")?;
    body.put_u8(5);
    flags |= if login.user.is_some() { USER } else { 0 };
    flags |= if login.password.is_some() { PASSWORD } else { 0 };
    body.put_u8(flags);
    body.put_u16(keepalive_s);
    properties::put_receive_maximum(&mut body, receive_maximum);
    put_short(&mut body, b"")?;
    for text in [&login.user, &login.password].into_iter().flatten() {
        put_short(&mut body, text.as_bytes())?;
    }
    packet(CONNECT, &body)
}

/// PUBLISH; `id` counts with `QoS` 1 and 2 only.
pub(super) fn publish(message: &Outgoing, qos: u8, retain: bool, id: u16) -> Result<BytesMut, ClientError> {
    let mut body = BytesMut::with_capacity(message.address.len() + message.body.len() + 16);
    put_short(&mut body, message.address.as_bytes())?;
    if qos > 0 {
        body.put_u16(id);
    }
    properties::put_user(&mut body, &message.headers)?;
    body.put_slice(&message.body);
    packet(kind::PUBLISH | qos << 1 | u8::from(retain), &body)
}

/// SUBSCRIBE to one filter.
pub(super) fn subscribe(filter: &str, qos: u8, id: u16) -> Result<BytesMut, ClientError> {
    let mut body = BytesMut::new();
    body.put_u16(id);
    body.put_u8(0);
    put_short(&mut body, filter.as_bytes())?;
    body.put_u8(qos);
    packet(SUBSCRIBE, &body)
}

/// PUBACK, PUBREC, PUBREL or PUBCOMP: success.
pub(super) fn acknowledgement(first: u8, id: u16) -> [u8; 4] {
    let [high, low] = id.to_be_bytes();
    [first, 2, high, low]
}

/// Appends a length of two bytes, and the bytes.
pub(super) fn put_short(out: &mut BytesMut, bytes: &[u8]) -> Result<(), ClientError> {
    let length = u16::try_from(bytes.len())
        .map_err(|_| ClientError::Input(format!("MQTT takes at most 65535 bytes here, not {}", bytes.len())))?;
    out.put_u16(length);
    out.put_slice(bytes);
    Ok(())
}

/// Takes a length of two bytes and as many bytes.
pub(super) fn take_short(from: &mut Bytes) -> Result<Bytes, ClientError> {
    let length = usize::from(take_u16(from)?);
    if from.len() < length { Err(TRUNCATED) } else { Ok(from.split_to(length)) }
}

/// Takes two bytes.
pub(super) fn take_u16(from: &mut Bytes) -> Result<u16, ClientError> {
    from.try_get_u16().map_err(|_| TRUNCATED)
}

/// Takes one byte.
pub(super) fn take_u8(from: &mut Bytes) -> Result<u8, ClientError> {
    from.try_get_u8().map_err(|_| TRUNCATED)
}

/// What a reason code means (MQTT 5.0, section 2.4); only those that these clients can meet.
pub(super) fn reason(code: u8) -> &'static str {
    match code {
        0x00 => "disconnected",
        0x80 => "unspecified error",
        0x81 => "malformed packet",
        0x82 => "protocol error",
        0x83 => "implementation specific error",
        0x84 => "unsupported protocol version",
        0x85 => "client identifier not valid",
        0x86 => "bad user name or password",
        0x87 => "not authorized",
        0x88 => "server unavailable",
        0x89 => "server busy",
        0x8B => "server shutting down",
        0x8D => "keep alive timeout",
        0x8E => "session taken over",
        0x8F => "topic filter invalid",
        0x90 => "topic name invalid",
        0x93 => "receive maximum exceeded",
        0x95 => "packet too large",
        0x96 => "message rate too high",
        0x97 => "quota exceeded",
        0x98 => "administrative action",
        0x99 => "payload format invalid",
        0x9A => "retain not supported",
        0x9B => "QoS not supported",
        0x9E => "shared subscriptions not supported",
        0xA2 => "wildcard subscriptions not supported",
        _ => "no reason given",
    }
}

pub(super) const TRUNCATED: ClientError = ClientError::Protocol("the server sent a packet that ends too early");

/// Head and body.
fn packet(first: u8, body: &[u8]) -> Result<BytesMut, ClientError> {
    let mut out = BytesMut::with_capacity(body.len() + 5);
    out.put_u8(first);
    put_length(&mut out, body.len())?;
    out.put_slice(body);
    Ok(out)
}

/// Appends a length in bytes of 7 bits, lowest first.
pub(super) fn put_length(out: &mut BytesMut, length: usize) -> Result<(), ClientError> {
    const LENGTH_MAX: usize = 268_435_455;
    if length > LENGTH_MAX {
        return Err(ClientError::Input(format!("MQTT takes at most {LENGTH_MAX} bytes, not {length}")));
    }
    let mut rest = length;
    loop {
        let low = u8::try_from(rest & 0x7F).unwrap_or_default();
        rest >>= 7;
        out.put_u8(if rest > 0 { low | 0x80 } else { low });
        if rest == 0 {
            return Ok(());
        }
    }
}
