//! Writes messages to a client: `basic.deliver`, `basic.get-ok` and `basic.return` with header and body frames.
//!
//! Invariants: what came from an AMQP publisher goes out byte for byte (a delivery count above zero adds its header);
//! bodies are split to the negotiated frame size and, when large, passed on without a copy.

use braid_types::{Address, Delivery, Message, Protocol, Timestamp, Transmit};
use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    ConversionError,
    codec::{payload_bytes_max, put_frame_head},
    frame::{FRAME_END, FrameKind},
    limits::SHORT_STRING_BYTES_MAX,
    method::{Method, MethodId, basic},
    properties,
};

/// A message in AMQP's form: what is the same in deliver, get-ok and return.
pub(crate) struct Outgoing<'a> {
    exchange: &'a [u8],
    key: Bytes,
    header: &'a [u8],
    body: &'a Bytes,
    redelivered: bool,
}

/// What stands before exchange and key in the method's arguments.
pub(crate) enum Envelope<'a> {
    /// `basic.deliver`.
    Deliver {
        /// To this consumer.
        consumer_tag: &'a [u8],
        /// As this delivery.
        delivery_tag: u64,
    },
    /// `basic.get-ok`.
    GetOk {
        /// As this delivery.
        delivery_tag: u64,
        /// Messages still ready.
        message_count: u32,
    },
    /// `basic.return`.
    Return {
        /// Why.
        reply_code: u16,
        /// Why, for people.
        reply_text: &'a [u8],
    },
}

impl<'a> Outgoing<'a> {
    /// The message of `delivery`. A header block that has to be written is written to `scratch`.
    pub(crate) fn of_delivery(
        delivery: &'a Delivery,
        now: Timestamp,
        scratch: &'a mut BytesMut,
    ) -> Result<Self, ConversionError> {
        let message = delivery.message.as_ref();
        if message.origin == Protocol::Amqp && delivery.delivery_count == 0 {
            return Ok(Self { redelivered: delivery.redelivered, ..Self::of_message(message) });
        }
        scratch.clear();
        let (exchange, key): (&[u8], _) = if message.origin == Protocol::Amqp {
            properties::with_delivery_count(&message.header, delivery.delivery_count, scratch)
                .map_err(|_| ConversionError)?;
            (&message.exchange, message.key.clone())
        } else {
            write_foreign_header(delivery, now, scratch)?;
            (&message.exchange, foreign_key(message)?)
        };
        if key.len() > SHORT_STRING_BYTES_MAX {
            return Err(ConversionError);
        }
        Ok(Self { exchange, key, header: scratch, body: &message.body, redelivered: delivery.redelivered })
    }

    /// A message that an AMQP client published, as it came.
    pub(crate) fn of_message(message: &'a Message) -> Self {
        Self {
            exchange: &message.exchange,
            key: message.key.clone(),
            header: if message.header.len() < 2 { &[0, 0] } else { &message.header },
            body: &message.body,
            redelivered: false,
        }
    }

    /// Writes all frames.
    pub(crate) fn write(&self, envelope: &Envelope<'_>, channel: u16, frame_bytes_max: u32, transmit: &mut Transmit) {
        let out = transmit.buffer();
        let strings_bytes = self.exchange.len() + self.key.len() + 2;
        match *envelope {
            Envelope::Deliver { consumer_tag, delivery_tag } => {
                let arguments_bytes = consumer_tag.len() + 1 + 9 + strings_bytes;
                out.reserve(arguments_bytes + self.header.len() + 64);
                put_method(out, channel, basic::Deliver::ID, arguments_bytes);
                put_short(out, consumer_tag);
                out.put_u64(delivery_tag);
                out.put_u8(self.redelivered.into());
            }
            Envelope::GetOk { delivery_tag, .. } => {
                put_method(out, channel, basic::GetOk::ID, 9 + strings_bytes + 4);
                out.put_u64(delivery_tag);
                out.put_u8(self.redelivered.into());
            }
            Envelope::Return { reply_code, reply_text } => {
                put_method(out, channel, basic::Return::ID, 2 + reply_text.len() + 1 + strings_bytes);
                out.put_u16(reply_code);
                put_short(out, reply_text);
            }
        }
        put_short(out, self.exchange);
        put_short(out, &self.key);
        if let Envelope::GetOk { message_count, .. } = *envelope {
            out.put_u32(message_count);
        }
        out.put_u8(FRAME_END);
        self.write_content(channel, frame_bytes_max, transmit);
    }

    fn write_content(&self, channel: u16, frame_bytes_max: u32, transmit: &mut Transmit) {
        let out = transmit.buffer();
        put_frame_head(out, FrameKind::Header, channel, size_u32(12 + self.header.len()));
        let mut fixed = [0; 12];
        if let ([c1, c0, _, _], size) = fixed.split_at_mut(4) {
            [*c1, *c0] = basic::Deliver::ID.class.to_be_bytes();
            size.copy_from_slice(&(self.body.len() as u64).to_be_bytes());
        }
        out.extend_from_slice(&fixed);
        out.extend_from_slice(self.header);
        out.put_u8(FRAME_END);
        let piece_bytes = payload_bytes_max(frame_bytes_max).max(1);
        if self.body.len() <= piece_bytes {
            if !self.body.is_empty() {
                write_body(channel, self.body, transmit);
            }
            return;
        }
        let mut rest = self.body.clone();
        while !rest.is_empty() {
            write_body(channel, &rest.split_to(piece_bytes.min(rest.len())), transmit);
        }
    }
}

/// The routing key of a message of another protocol. With the default exchange it is a group's name, in every notation.
fn foreign_key(message: &Message) -> Result<Bytes, ConversionError> {
    if message.exchange.is_empty() {
        return Ok(message.key.clone());
    }
    let address = Address::from_notation(message.origin, &message.key).map_err(|_| ConversionError)?;
    address.to_notation(Protocol::Amqp).map_err(|_| ConversionError)
}

fn write_foreign_header(delivery: &Delivery, now: Timestamp, out: &mut BytesMut) -> Result<(), ConversionError> {
    match delivery.properties.as_deref() {
        Some(properties) => properties::encode(properties, now, out)?,
        None => out.put_u16(0),
    }
    if delivery.delivery_count > 0 {
        let bare = out.split();
        properties::with_delivery_count(&bare, delivery.delivery_count, out).map_err(|_| ConversionError)?;
    }
    Ok(())
}

fn write_body(channel: u16, piece: &Bytes, transmit: &mut Transmit) {
    put_frame_head(transmit.buffer(), FrameKind::Body, channel, size_u32(piece.len()));
    transmit.push_body(piece);
    transmit.buffer().put_u8(FRAME_END);
}

fn put_method(out: &mut BytesMut, channel: u16, method: MethodId, arguments_bytes: usize) {
    put_frame_head(out, FrameKind::Method, channel, size_u32(4 + arguments_bytes));
    out.put_u16(method.class);
    out.put_u16(method.method);
}

/// A short string that is known to fit: the announced size of the frame depends on it.
fn put_short(out: &mut BytesMut, value: &[u8]) {
    out.put_u8(u8::try_from(value.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(value);
}

fn size_u32(size_bytes: usize) -> u32 {
    u32::try_from(size_bytes).unwrap_or(u32::MAX)
}
