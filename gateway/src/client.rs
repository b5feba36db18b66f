//! Small clients for `braidmq pub`, `sub` and `group`: one connection, one thing done on it, a clean end.
//!
//! They speak each protocol as any client does (confirms, acknowledgements, keepalive) and know nothing of BraidMQ, so
//! they work with other brokers too. They are no libraries: no reconnecting, one subscription, one channel.
//!
//! Invariant: nothing that a server sends can make them panic, and what they hold is bounded by [`limits`].

pub(crate) mod amqp;
mod error;
pub(crate) mod http;
pub(crate) mod limits;
pub(crate) mod mqtt;
pub(crate) mod nats;
#[cfg(test)]
mod scripted;
mod wire;

use std::{future::Future, time::Duration};

use bytes::Bytes;
use tokio::net::TcpStream;

pub(crate) use error::ClientError;

/// Who to be. Nothing: what the protocol does without credentials (AMQP: the user `guest`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Login {
    /// Name of the user.
    pub(crate) user: Option<String>,
    /// Password.
    pub(crate) password: Option<String>,
}

/// A message to publish.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    /// Routing key, topic or subject.
    pub(crate) address: String,
    /// Names and values; order and duplicates are kept where the protocol can.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Bytes,
}

/// What became of published messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Published {
    /// Messages that the server took.
    pub(crate) taken: u64,
    /// Of these, how many it said match nothing.
    pub(crate) unmatched: u64,
}

/// A message that came in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Received {
    /// Routing key, topic or subject.
    pub(crate) address: String,
    /// Names and values in the order they came; values of AMQP have types.
    pub(crate) headers: Vec<(String, serde_json::Value)>,
    /// The body.
    pub(crate) body: Bytes,
    /// The server says that somebody may have had it before.
    pub(crate) redelivered: bool,
    /// What to acknowledge it with.
    receipt: Receipt,
}

#[cfg(test)]
impl Received {
    /// A message that was settled when it was sent.
    pub(crate) fn for_test(address: &str, headers: Vec<(String, serde_json::Value)>, body: Bytes) -> Self {
        Self { address: address.to_owned(), headers, body, redelivered: false, receipt: Receipt::None }
    }
}

/// What a message is acknowledged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receipt {
    /// Nothing: it was settled when it was sent.
    None,
    /// AMQP's delivery tag.
    Tag(u64),
    /// MQTT's packet id, `QoS` 1.
    Packet(u16),
    /// MQTT's packet id, `QoS` 2.
    PacketOnce(u16),
}

/// Messages that come in.
pub(crate) trait Subscription {
    /// The next message. May be dropped and called again at any time; nothing is lost.
    async fn next(&mut self) -> Result<Received, ClientError>;

    /// The message is done with.
    async fn settle(&mut self, received: &Received) -> Result<(), ClientError>;

    /// Ends subscription and connection. Messages that nobody will send again are returned; the others go back.
    async fn finish(self) -> Result<Vec<Received>, ClientError>;
}

/// Connects to `server` (`HOST:PORT`).
///
/// # Errors
/// Nothing answers there in time.
pub(crate) async fn connect(server: &str) -> Result<TcpStream, ClientError> {
    let unreachable = |source| ClientError::Unreachable { server: server.to_owned(), source };
    let stream =
        in_time("connect", limits::CONNECT_TIMEOUT_MS, async { TcpStream::connect(server).await.map_err(unreachable) })
            .await?;
    stream.set_nodelay(true).map_err(unreachable)?;
    Ok(stream)
}

/// `step`, but not for longer than `timeout_ms`.
async fn in_time<T>(
    what: &'static str,
    timeout_ms: u64,
    step: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    let timed = tokio::time::timeout(Duration::from_millis(timeout_ms), step).await;
    timed.unwrap_or(Err(ClientError::TimedOut { what, timeout_ms }))
}
