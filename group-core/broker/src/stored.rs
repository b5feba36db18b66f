//! The byte form of a message in the log: what is in front of the body. Reading it back copies nothing.
//!
//! ```text
//! version 1 | origin 1 | flags 1 | qos 1 | priority 1 | received_at 8 | expires_at 8, if it does | chunks 4
//!   | exchange length 2 | key length 4 | header length 4 | reply length 4 | exchange | key | header | reply | body
//! ```
//!
//! Numbers are little-endian. It never holds the publishing connection, whose number means nothing in a later run; only whether it was the broker itself. Length
//! and checksum are the log's.

use braid_types::{ConnectionId, CorruptBytes, Message, Protocol, Timestamp};
use bytes::{Buf, BufMut, Bytes, BytesMut};

const VERSION: u8 = 1;

const RETAIN: u8 = 1;
const EXPIRES: u8 = 2;
const FROM_BROKER: u8 = 4;

/// The publisher of a message that was read back: a client, nobody knows which.
const SOMEBODY: ConnectionId = ConnectionId(u64::MAX);

const CORRUPT: CorruptBytes = CorruptBytes { what: "stored message" };

/// What is stored of a message in one piece.
#[derive(Debug)]
pub(crate) struct Stored {
    /// The message, with the last part of its body.
    pub(crate) message: Message,
    /// Parts of its body that are stored before it.
    pub(crate) chunks: u32,
}

/// Appends what stands in front of the body of `message`, of which `chunks` parts are stored before it.
pub(crate) fn put_prefix(message: &Message, chunks: u32, out: &mut BytesMut) {
    out.put_u8(VERSION);
    out.put_u8(match message.origin {
        Protocol::Amqp => 0,
        Protocol::Mqtt => 1,
        Protocol::Nats => 2,
    });
    let expires = if message.expires_at.is_some() { EXPIRES } else { 0 };
    let from_broker = if message.publisher == ConnectionId::BROKER { FROM_BROKER } else { 0 };
    out.put_u8(expires | from_broker | if message.retain { RETAIN } else { 0 });
    out.put_u8(message.qos);
    out.put_u8(message.priority);
    out.put_u64_le(message.received_at.0);
    if let Some(expires_at) = message.expires_at {
        out.put_u64_le(expires_at.0);
    }
    out.put_u32_le(chunks);
    // An exchange's name has at most 255 bytes, the rest is far below 4 GiB: limits of the endpoints.
    out.put_u16_le(u16::try_from(message.exchange.len()).unwrap_or(u16::MAX));
    for piece in [&message.key, &message.header, &message.reply] {
        out.put_u32_le(u32::try_from(piece.len()).unwrap_or(u32::MAX));
    }
    for piece in [&message.exchange, &message.key, &message.header, &message.reply] {
        out.put_slice(piece);
    }
}

/// Reads a message back; all its pieces are slices of `bytes`.
///
/// # Errors
/// The bytes are not a stored message.
pub(crate) fn read(mut bytes: Bytes) -> Result<Stored, CorruptBytes> {
    const FIXED_BYTES: usize = 5 + 8 + 4 + 2 + 12;
    if bytes.len() < FIXED_BYTES || bytes.get_u8() != VERSION {
        return Err(CORRUPT);
    }
    let origin = match bytes.get_u8() {
        0 => Protocol::Amqp,
        1 => Protocol::Mqtt,
        2 => Protocol::Nats,
        _ => return Err(CORRUPT),
    };
    let (flags, qos, priority) = (bytes.get_u8(), bytes.get_u8(), bytes.get_u8());
    let received_at = Timestamp(bytes.get_u64_le());
    let expires_at = if flags & EXPIRES == 0 {
        None
    } else {
        let expires_at = bytes.try_get_u64_le().map_err(|_| CORRUPT)?;
        Some(Timestamp(expires_at))
    };
    let chunks = bytes.try_get_u32_le().map_err(|_| CORRUPT)?;
    let exchange = usize::from(bytes.try_get_u16_le().map_err(|_| CORRUPT)?);
    let mut lengths = [0; 3];
    for length in &mut lengths {
        let stored = bytes.try_get_u32_le().map_err(|_| CORRUPT)?;
        *length = usize::try_from(stored).map_err(|_| CORRUPT)?;
    }
    let [key, header, reply] = lengths;
    let mut take = |length: usize| (length <= bytes.len()).then(|| bytes.split_to(length)).ok_or(CORRUPT);
    let (exchange, key, header, reply) = (take(exchange)?, take(key)?, take(header)?, take(reply)?);
    let retain = flags & RETAIN != 0;
    let publisher = if flags & FROM_BROKER == 0 { SOMEBODY } else { ConnectionId::BROKER };
    let message = Message {
        exchange,
        key,
        header,
        reply,
        body: bytes,
        qos,
        retain,
        priority,
        expires_at,
        received_at,
        publisher,
        ..Message::empty(origin)
    };
    Ok(Stored { message, chunks })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stored(message: &Message, chunks: u32) -> Bytes {
        let mut bytes = BytesMut::new();
        put_prefix(message, chunks, &mut bytes);
        bytes.put_slice(&message.body);
        bytes.freeze()
    }

    fn piece() -> impl Strategy<Value = Bytes> {
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from)
    }

    prop_compose! {
        fn message()(
            origin in prop_oneof![Just(Protocol::Amqp), Just(Protocol::Mqtt), Just(Protocol::Nats)],
            pieces in (piece(), piece(), piece(), piece(), piece()),
            numbers in (0_u8..3, any::<u8>(), any::<bool>(), any::<u64>(), prop::option::of(any::<u64>())),
        ) -> Message {
            let (exchange, key, header, reply, body) = pieces;
            let (qos, priority, retain, received_at, expires_at) = numbers;
            let (received_at, expires_at) = (Timestamp(received_at), expires_at.map(Timestamp));
            Message {
                exchange, key, header, reply, body, qos, retain, priority, expires_at, received_at,
                ..Message::empty(origin)
            }
        }
    }

    proptest! {
        #[test]
        fn a_message_comes_back_as_it_was(message in message(), chunks in any::<u32>()) {
            let stored = read(stored(&message, chunks)).unwrap();
            prop_assert_eq!((stored.message, stored.chunks), (message, chunks));
        }

        #[test]
        fn cut_bytes_are_refused_or_lack_some_of_the_body(message in message(), keep in 0_usize..200) {
            let bytes = stored(&message, 0);
            let prefix = bytes.len() - message.body.len();
            let kept = keep.min(bytes.len());
            prop_assert_eq!(read(bytes.slice(..kept)).is_ok(), kept >= prefix);
        }
    }
}
