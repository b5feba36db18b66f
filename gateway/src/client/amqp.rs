//! AMQP 0-9-1: publishes with confirms, or consumes one queue with acknowledgements, on one channel.

mod consume;
mod field_table;
mod frame;
mod handshake;

use std::{collections::BTreeSet, time::Duration};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{ClientError, Login, Outgoing, Published, Receipt, limits, wire::Wire};
pub(crate) use consume::Consume;

use consume::Partial;
use frame::{Frame, Method, method};

/// The only channel.
const CHANNEL: u16 = 1;

/// A connection with one open channel.
#[derive(Debug)]
pub(crate) struct AmqpClient<S> {
    wire: Wire<S>,
    frame_bytes_max: usize,
    heartbeat: Duration,
    /// A delivery whose body is not complete.
    partial: Option<Partial>,
    /// Greatest delivery tag that was seen.
    last_tag: u64,
}

impl<S: AsyncRead + AsyncWrite + Unpin> AmqpClient<S> {
    /// Opens connection and channel.
    ///
    /// # Errors
    /// The server refuses the login or the vhost, or speaks something else.
    pub(crate) async fn connect(stream: S, login: &Login, vhost: &str) -> Result<Self, ClientError> {
        let mut client = Self {
            wire: Wire::new(stream),
            frame_bytes_max: frame::FRAME_BYTES_BEFORE_TUNE,
            heartbeat: Duration::from_millis(limits::KEEPALIVE_MS),
            partial: None,
            last_tag: 0,
        };
        super::in_time("AMQP handshake", limits::CONNECT_TIMEOUT_MS, client.shake_hands(login, vhost)).await?;
        Ok(client)
    }

    /// Publishes `message` `count` times to `exchange` and waits for the confirms.
    ///
    /// # Errors
    /// There is no such exchange, a message was refused, or the connection broke.
    pub(crate) async fn publish(
        &mut self,
        exchange: &str,
        message: &Outgoing,
        count: u64,
    ) -> Result<Published, ClientError> {
        self.call(method::CONFIRM_SELECT, method::CONFIRM_SELECT_OK, |out| {
            out.put_u8(0);
            Ok(())
        })
        .await?;
        let mut encoded = BytesMut::new();
        frame::publish(&mut encoded, CHANNEL, self.frame_bytes_max, exchange, message)?;
        let ahead = limits::unconfirmed_messages(message.body.len());
        let mut outstanding = BTreeSet::new();
        let mut published = Published::default();
        let mut refused = 0;
        let mut sent = 0;
        let mut out = BytesMut::new();
        while sent < count || !outstanding.is_empty() {
            while sent < count && outstanding.len() < ahead {
                out.extend_from_slice(&encoded);
                sent += 1;
                outstanding.insert(sent);
            }
            if !out.is_empty() {
                self.wire.write(&out.split()).await?;
            }
            let (id, mut arguments) =
                super::in_time("publisher confirm", limits::ANSWER_TIMEOUT_MS, self.next_method()).await?;
            match id {
                method::BASIC_RETURN => published.unmatched += 1,
                method::BASIC_ACK | method::BASIC_NACK => {
                    let tag = frame::truncated(arguments.try_get_u64())?;
                    let multiple = frame::truncated(arguments.try_get_u8())? & 1 == 1;
                    let before = outstanding.len();
                    if multiple {
                        outstanding = outstanding.split_off(&tag.saturating_add(1));
                    } else {
                        outstanding.remove(&tag);
                    }
                    let settled = (before - outstanding.len()) as u64;
                    *(if id == method::BASIC_ACK { &mut published.taken } else { &mut refused }) += settled;
                }
                _ => {}
            }
        }
        if refused > 0 {
            return Err(ClientError::refused(format!("{refused} of {count} messages were not taken (basic.nack)")));
        }
        Ok(published)
    }

    /// Closes channel and connection.
    ///
    /// # Errors
    /// The connection broke first.
    pub(crate) async fn close(mut self) -> Result<(), ClientError> {
        let closing = self.call(method::CONNECTION_CLOSE, method::CONNECTION_CLOSE_OK, |out| {
            out.put_u16(200);
            frame::put_short_text(out, "done")?;
            out.put_u32(0);
            Ok(())
        });
        closing.await?;
        self.wire.close().await;
        Ok(())
    }

    async fn open_channel(&mut self) -> Result<(), ClientError> {
        let arguments = |out: &mut BytesMut| {
            out.put_u8(0);
            Ok(())
        };
        self.call(method::CHANNEL_OPEN, method::CHANNEL_OPEN_OK, arguments).await.map(drop)
    }

    /// Sends a method and waits for its answer. Deliveries that come before it are passed over; their tags are kept.
    async fn call(
        &mut self,
        id: Method,
        answer: Method,
        arguments: impl FnOnce(&mut BytesMut) -> Result<(), ClientError>,
    ) -> Result<Bytes, ClientError> {
        self.send(id, arguments).await?;
        super::in_time("AMQP method", limits::ANSWER_TIMEOUT_MS, async {
            loop {
                let (id, arguments) = self.next_method().await?;
                if id == answer {
                    return Ok(arguments);
                }
            }
        })
        .await
    }

    async fn send(
        &mut self,
        id: Method,
        arguments: impl FnOnce(&mut BytesMut) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        let channel = if id.class == method::CONNECTION_CLOSE.class { 0 } else { CHANNEL };
        let mut out = BytesMut::new();
        frame::method_frame(&mut out, channel, id, arguments)?;
        self.wire.write(&out).await
    }

    /// The next method; content is passed over.
    async fn next_method(&mut self) -> Result<(Method, Bytes), ClientError> {
        loop {
            if let Frame::Method(id, arguments) = self.next_frame().await? {
                return Ok((id, arguments));
            }
        }
    }

    /// The next frame that is not about the connection itself. A close becomes an error.
    async fn next_frame(&mut self) -> Result<Frame, ClientError> {
        loop {
            let frame = loop {
                if let Some(frame) = frame::take(&mut self.wire.input, self.frame_bytes_max)? {
                    break frame;
                }
                self.wire.fill_alive(&frame::HEARTBEAT, self.heartbeat).await?;
            };
            match frame {
                Frame::Heartbeat => {}
                Frame::Method(method::CONNECTION_CLOSE, arguments) => {
                    self.send(method::CONNECTION_CLOSE_OK, |_| Ok(())).await?;
                    return Err(frame::refusal(arguments));
                }
                Frame::Method(method::CHANNEL_CLOSE, arguments) => {
                    self.send(method::CHANNEL_CLOSE_OK, |_| Ok(())).await?;
                    return Err(frame::refusal(arguments));
                }
                Frame::Method(method::BASIC_CANCEL, _) => {
                    return Err(ClientError::refused("the queue is gone (basic.cancel)"));
                }
                Frame::Method(method::BASIC_DELIVER, arguments) => {
                    let received = frame::deliver(arguments.clone())?;
                    if let Receipt::Tag(tag) = received.receipt {
                        self.last_tag = tag;
                    }
                    self.partial = Some(Partial::new(received));
                    return Ok(Frame::Method(method::BASIC_DELIVER, arguments));
                }
                frame => return Ok(frame),
            }
        }
    }
}

#[cfg(test)]
mod tests;
