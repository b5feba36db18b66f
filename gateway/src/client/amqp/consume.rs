//! Consuming one queue: declare, bind, window, deliveries, acknowledgements, a clean end.

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    AmqpClient,
    frame::{self, Content, Frame, method},
};
use crate::client::{ClientError, Receipt, Received, Subscription, limits};

/// Name of the only consumer. Unique within the channel is enough.
const CONSUMER_TAG: &str = "braidmq";

/// What to consume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Consume<'a> {
    /// The queue; a durable one is declared if there is none.
    pub(crate) queue: &'a str,
    /// Exchange and key to bind it with.
    pub(crate) binding: Option<(&'a str, &'a str)>,
    /// Messages to be sent ahead of their acknowledgements.
    pub(crate) prefetch: u16,
}

/// A delivery whose body is not complete.
#[derive(Debug)]
pub(super) struct Partial {
    received: Received,
    missing_bytes: u64,
    body: BytesMut,
}

impl Partial {
    /// Nothing of the content of `received` came yet.
    pub(super) fn new(received: Received) -> Self {
        Self { received, missing_bytes: 0, body: BytesMut::new() }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AmqpClient<S> {
    /// Begins to consume.
    ///
    /// # Errors
    /// The server does not let it, or the connection broke.
    pub(crate) async fn consume(&mut self, consume: Consume<'_>) -> Result<(), ClientError> {
        self.declare(consume.queue).await?;
        if let Some((exchange, key)) = consume.binding {
            self.call(method::QUEUE_BIND, method::QUEUE_BIND_OK, |out| {
                out.put_u16(0);
                frame::put_short_text(out, consume.queue)?;
                frame::put_short_text(out, exchange)?;
                frame::put_short_text(out, key)?;
                out.put_u8(0);
                out.put_u32(0);
                Ok(())
            })
            .await?;
        }
        self.call(method::BASIC_QOS, method::BASIC_QOS_OK, |out| {
            out.put_u32(0);
            out.put_u16(consume.prefetch);
            out.put_u8(0);
            Ok(())
        })
        .await?;
        self.call(method::BASIC_CONSUME, method::BASIC_CONSUME_OK, |out| {
            out.put_u16(0);
            frame::put_short_text(out, consume.queue)?;
            frame::put_short_text(out, CONSUMER_TAG)?;
            out.put_u8(0);
            out.put_u32(0);
            Ok(())
        })
        .await?;
        Ok(())
    }

    /// Makes sure that `queue` exists. What exists may have any properties, so it is asked for first.
    async fn declare(&mut self, queue: &str) -> Result<(), ClientError> {
        const PASSIVE: u8 = 0b00001;
        const DURABLE: u8 = 0b00010;
        const NOT_FOUND: u16 = 404;
        let arguments = |bits: u8| {
            move |out: &mut BytesMut| {
                out.put_u16(0);
                frame::put_short_text(out, queue)?;
                out.put_u8(bits);
                out.put_u32(0);
                Ok(())
            }
        };
        match self.call(method::QUEUE_DECLARE, method::QUEUE_DECLARE_OK, arguments(PASSIVE)).await {
            Err(ClientError::Refused { code: Some(NOT_FOUND), .. }) => {
                // That closed the channel.
                self.open_channel().await?;
                self.call(method::QUEUE_DECLARE, method::QUEUE_DECLARE_OK, arguments(DURABLE)).await?;
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Takes a part of a delivery's content; the whole delivery once it is complete.
    fn assemble(&mut self, frame: Frame) -> Result<Option<Received>, ClientError> {
        let Some(partial) = &mut self.partial else { return Ok(None) };
        match frame {
            Frame::Header(Content { body_bytes, headers }) => {
                partial.received.headers = headers;
                partial.missing_bytes = body_bytes;
            }
            Frame::Body(bytes) => {
                let Some(missing) = partial.missing_bytes.checked_sub(bytes.len() as u64) else {
                    return Err(ClientError::Protocol("the server sent more of a body than it announced"));
                };
                if partial.body.len() > limits::INPUT_BYTES_MAX {
                    return Err(ClientError::Protocol("the server sent a larger message than is taken here"));
                }
                partial.missing_bytes = missing;
                partial.body.extend_from_slice(&bytes);
            }
            Frame::Method(..) | Frame::Heartbeat => return Ok(None),
        }
        Ok(self
            .partial
            .take_if(|partial| partial.missing_bytes == 0)
            .map(|partial| Received { body: partial.body.freeze(), ..partial.received }))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Subscription for AmqpClient<S> {
    async fn next(&mut self) -> Result<Received, ClientError> {
        loop {
            let frame = self.next_frame().await?;
            if let Some(received) = self.assemble(frame)? {
                return Ok(received);
            }
        }
    }

    async fn settle(&mut self, received: &Received) -> Result<(), ClientError> {
        let Receipt::Tag(tag) = received.receipt else { return Ok(()) };
        self.send(method::BASIC_ACK, |out| {
            out.put_u64(tag);
            out.put_u8(0);
            Ok(())
        })
        .await
    }

    async fn finish(mut self) -> Result<Vec<Received>, ClientError> {
        self.call(method::BASIC_CANCEL, method::BASIC_CANCEL_OK, |out| {
            frame::put_short_text(out, CONSUMER_TAG)?;
            out.put_u8(0);
            Ok(())
        })
        .await?;
        // What was sent ahead goes back at once, and not as a failure. Tag 0 with `multiple`: all that is open.
        const MULTIPLE_REQUEUE: u8 = 0b11;
        if self.last_tag > 0 {
            self.send(method::BASIC_NACK, |out| {
                out.put_u64(0);
                out.put_u8(MULTIPLE_REQUEUE);
                Ok(())
            })
            .await?;
        }
        self.close().await?;
        Ok(Vec::new())
    }
}
