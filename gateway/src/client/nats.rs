//! NATS: publishes, or holds one subscription. What NATS cannot confirm, a PING after it can: the server reads in order.

mod line;

use std::{collections::VecDeque, time::Duration};

use bytes::{BufMut, BytesMut};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{ClientError, Login, Outgoing, Published, Received, Subscription, limits, wire::Wire};
use line::{Line, PING, PONG};

/// Number of the only subscription.
const SID: &str = "1";

/// Bytes that are written before the server is asked whether it read them.
const UNFLUSHED_BYTES_MAX: usize = 1024 * 1024;

/// A connection.
#[derive(Debug)]
pub(crate) struct NatsClient<S> {
    wire: Wire<S>,
    info: Info,
    /// Messages that came while something else was waited for.
    pending: VecDeque<Received>,
}

/// What the server says of itself.
#[derive(Debug, Deserialize)]
struct Info {
    /// Bytes of headers and body; 0: not told.
    #[serde(default)]
    max_payload: usize,
    #[serde(default)]
    headers: bool,
    #[serde(default)]
    tls_required: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> NatsClient<S> {
    /// Waits for the server's INFO and connects.
    ///
    /// # Errors
    /// The server refuses the login, wants TLS, or speaks something else.
    pub(crate) async fn connect(stream: S, login: &Login) -> Result<Self, ClientError> {
        let mut wire = Wire::new(stream);
        super::in_time("NATS handshake", limits::CONNECT_TIMEOUT_MS, async {
            let info = loop {
                match line::take(&mut wire.input, true)? {
                    Some(Line::Info(json)) => break serde_json::from_slice::<Info>(&json),
                    Some(Line::Error(reason)) => return Err(ClientError::refused(reason)),
                    Some(_) => return Err(ClientError::Protocol("the server does not speak NATS")),
                    None => wire.fill().await?,
                }
            };
            let info = info.map_err(|_| ClientError::Protocol("the server's INFO is no JSON"))?;
            if info.tls_required {
                return Err(ClientError::refused("it wants TLS, which this client does not have"));
            }
            let mut client = Self { wire, info, pending: VecDeque::new() };
            client.wire.write(&connect_line(login)).await?;
            client.flush().await?;
            Ok(client)
        })
        .await
    }

    /// Publishes `message` `count` times and waits until the server has read all of them.
    ///
    /// # Errors
    /// The message is too large, the server refuses it, or the connection broke.
    pub(crate) async fn publish(&mut self, message: &Outgoing, count: u64) -> Result<Published, ClientError> {
        if !message.headers.is_empty() && !self.info.headers {
            return Err(ClientError::refused("it takes no headers"));
        }
        let encoded = line::publish(message, self.info.max_payload)?;
        let mut out = BytesMut::new();
        let mut unflushed_bytes = 0;
        for _ in 0..count {
            out.extend_from_slice(&encoded);
            unflushed_bytes += encoded.len();
            if unflushed_bytes >= UNFLUSHED_BYTES_MAX {
                self.wire.write(&out.split()).await?;
                self.flush().await?;
                unflushed_bytes = 0;
            }
        }
        self.wire.write(&out).await?;
        self.flush().await?;
        Ok(Published { taken: count, unmatched: 0 })
    }

    /// Subscribes to `subject`, in queue group `queue` if there is one, for `count` messages if it is limited.
    ///
    /// # Errors
    /// The server does not let it, or the connection broke.
    pub(crate) async fn subscribe(
        &mut self,
        subject: &str,
        queue: Option<&str>,
        count: Option<u64>,
    ) -> Result<(), ClientError> {
        let mut out = BytesMut::new();
        line::check_name(subject)?;
        out.put_slice(b"SUB ");
        out.put_slice(subject.as_bytes());
        if let Some(queue) = queue {
            line::check_name(queue)?;
            out.put_u8(b' ');
            out.put_slice(queue.as_bytes());
        }
        out.put_slice(format!(" {SID}\r\n").as_bytes());
        if let Some(count) = count {
            out.put_slice(format!("UNSUB {SID} {count}\r\n").as_bytes());
        }
        self.wire.write(&out).await?;
        self.flush().await
    }

    /// Ends the connection; all that was published was read already.
    ///
    /// # Errors
    /// None today; the others that close can fail.
    pub(crate) async fn close(mut self) -> Result<(), ClientError> {
        self.wire.close().await;
        Ok(())
    }

    /// Waits until the server has answered to a PING, and so read all that was written before.
    async fn flush(&mut self) -> Result<(), ClientError> {
        self.wire.write(PING).await?;
        super::in_time("NATS PONG", limits::ANSWER_TIMEOUT_MS, async {
            loop {
                match self.next_line().await? {
                    Line::Pong => return Ok(()),
                    Line::Message(received) => self.pending.push_back(received),
                    Line::Info(_) | Line::Error(_) | Line::Ping | Line::Ok => {}
                }
            }
        })
        .await
    }

    /// The next line. A PING is answered; an error of the server is one here.
    async fn next_line(&mut self) -> Result<Line, ClientError> {
        loop {
            match line::take(&mut self.wire.input, false)? {
                Some(Line::Ping) => self.wire.write(PONG).await?,
                Some(Line::Error(reason)) => return Err(ClientError::refused(reason)),
                Some(line) => return Ok(line),
                None => self.wire.fill_alive(PING, Duration::from_millis(limits::KEEPALIVE_MS)).await?,
            }
        }
    }
}

/// CONNECT with the login.
fn connect_line(login: &Login) -> Vec<u8> {
    let mut options = serde_json::json!({
        "verbose": false,
        "pedantic": false,
        "tls_required": false,
        "name": "braidmq",
        "lang": "rust",
        "version": env!("CARGO_PKG_VERSION"),
        "protocol": 1,
        "headers": true,
        "no_responders": true,
    });
    for (name, value) in [("user", &login.user), ("pass", &login.password)] {
        if let (Some(options), Some(value)) = (options.as_object_mut(), value) {
            options.insert(name.to_owned(), value.clone().into());
        }
    }
    format!("CONNECT {options}\r\n").into_bytes()
}

impl<S: AsyncRead + AsyncWrite + Unpin> Subscription for NatsClient<S> {
    async fn next(&mut self) -> Result<Received, ClientError> {
        if let Some(received) = self.pending.pop_front() {
            return Ok(received);
        }
        loop {
            if let Line::Message(received) = self.next_line().await? {
                return Ok(received);
            }
        }
    }

    async fn settle(&mut self, _: &Received) -> Result<(), ClientError> {
        Ok(())
    }

    async fn finish(mut self) -> Result<Vec<Received>, ClientError> {
        // After the PONG nothing comes any more; what came before is settled and would be lost.
        self.wire.write(format!("UNSUB {SID}\r\n").as_bytes()).await?;
        self.flush().await?;
        let pending = std::mem::take(&mut self.pending).into();
        self.wire.close().await;
        Ok(pending)
    }
}

#[cfg(test)]
mod tests;
