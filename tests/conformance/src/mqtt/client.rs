//! A connected client.

use std::net::SocketAddr;

use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinHandle,
};

use super::{
    Options, Publish, PublishProperties, Reply, Version,
    options::{qos4, qos5},
    packet::Original,
    pump::{Sinks, run_v5, run_v311},
};
use crate::{Failure, within};

/// Requests that wait for the event loop before a caller waits.
const REQUESTS_MAX: usize = 1_000;

/// The half that sends; may be cloned.
#[derive(Clone, Debug)]
pub enum Sender {
    /// Version 3.1.1.
    V311(rumqttc::AsyncClient),
    /// Version 5.
    V5(rumqttc::v5::AsyncClient),
}

/// A client. Dropping it closes its socket without a DISCONNECT.
#[derive(Debug)]
pub struct Client {
    /// Sends.
    pub sender: Sender,
    /// The broker had kept its session.
    pub session_present: bool,
    publishes: UnboundedReceiver<Publish>,
    replies: UnboundedReceiver<Reply>,
    pump: JoinHandle<()>,
}

impl Client {
    /// Connects and waits for CONNACK.
    ///
    /// # Errors
    /// When the broker does not let it in.
    pub async fn connect(address: SocketAddr, options: &Options) -> Result<Self, Failure> {
        let (publish_sink, publishes) = unbounded_channel();
        let (reply_sink, replies) = unbounded_channel();
        let sinks = Sinks { publishes: publish_sink, replies: reply_sink };
        let (sender, pump) = match options.version {
            Version::V311 => {
                let (client, events) = rumqttc::AsyncClient::new(options.v311(address), REQUESTS_MAX);
                (Sender::V311(client), tokio::spawn(run_v311(events, sinks)))
            }
            Version::V5 => {
                let (client, events) = rumqttc::v5::AsyncClient::new(options.v5(address), REQUESTS_MAX);
                (Sender::V5(client), tokio::spawn(run_v5(events, sinks)))
            }
        };
        let mut client = Self { sender, session_present: false, publishes, replies, pump };
        match client.reply().await? {
            Reply::Connected { session_present } => client.session_present = session_present,
            other => return Err(Failure::new(format!("no CONNACK but {other:?}"))),
        }
        Ok(client)
    }

    /// Subscribes; returns the granted `QoS`.
    ///
    /// # Errors
    /// When the broker refuses it.
    pub async fn subscribe(&mut self, filter: &str, qos: u8) -> Result<u8, Failure> {
        match &self.sender {
            Sender::V311(client) => client.subscribe(filter, qos4(qos)?).await?,
            Sender::V5(client) => client.subscribe(filter, qos5(qos)?).await?,
        }
        match self.reply().await? {
            Reply::Subscribed(granted) if granted.len() == 1 => {
                granted.first().copied().flatten().ok_or_else(|| Failure::new(format!("`{filter}` was refused")))
            }
            other => Err(Failure::new(format!("no SUBACK but {other:?}"))),
        }
    }

    /// Unsubscribes. Also a barrier: when it returns, the broker has taken all that was sent before.
    ///
    /// # Errors
    /// When the broker does not answer.
    pub async fn unsubscribe(&mut self, filter: &str) -> Result<(), Failure> {
        match &self.sender {
            Sender::V311(client) => client.unsubscribe(filter).await?,
            Sender::V5(client) => client.unsubscribe(filter).await?,
        }
        match self.reply().await? {
            Reply::Unsubscribed => Ok(()),
            other => Err(Failure::new(format!("no UNSUBACK but {other:?}"))),
        }
    }

    /// Publishes and waits for what the `QoS` promises.
    ///
    /// # Errors
    /// When the broker does not answer, or with another packet.
    pub async fn publish(&mut self, topic: &str, qos: u8, payload: &[u8]) -> Result<(), Failure> {
        self.sender.publish(topic, qos, false, payload).await?;
        self.published(qos).await
    }

    /// Publishes a retained message and waits for what the `QoS` promises.
    ///
    /// # Errors
    /// When the broker does not answer, or with another packet.
    pub async fn retain(&mut self, topic: &str, qos: u8, payload: &[u8]) -> Result<(), Failure> {
        self.sender.publish(topic, qos, true, payload).await?;
        self.published(qos).await
    }

    /// Waits for the answer to one publish of `qos`.
    ///
    /// # Errors
    /// When another packet comes.
    pub async fn published(&mut self, qos: u8) -> Result<(), Failure> {
        match (qos, if qos == 0 { Reply::Completed } else { self.reply().await? }) {
            (0, _) | (1, Reply::Acknowledged(_)) | (2, Reply::Completed) => Ok(()),
            (_, other) => Err(Failure::new(format!("no answer to a QoS {qos} publish but {other:?}"))),
        }
    }

    /// The next message.
    ///
    /// # Errors
    /// When none comes.
    pub async fn next(&mut self) -> Result<Publish, Failure> {
        within("MQTT message", self.receive()).await?
    }

    /// As [`next`](Self::next), but without a bound: for a task that waits for something else as well.
    ///
    /// # Errors
    /// When the client has ended.
    pub async fn receive(&mut self) -> Result<Publish, Failure> {
        self.publishes.recv().await.ok_or_else(|| Failure::new("the client ended"))
    }

    /// The next packet that is no message.
    ///
    /// # Errors
    /// When none comes.
    pub async fn reply(&mut self) -> Result<Reply, Failure> {
        within("MQTT reply", self.replies.recv()).await?.ok_or_else(|| Failure::new("the client ended"))
    }

    /// Says goodbye in order, and waits until the connection is closed.
    ///
    /// # Errors
    /// When it does not close.
    pub async fn disconnect(mut self) -> Result<(), Failure> {
        match &self.sender {
            Sender::V311(client) => client.disconnect().await?,
            Sender::V5(client) => client.disconnect().await?,
        }
        while !matches!(self.reply().await?, Reply::Lost(_)) {}
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl Sender {
    /// Publishes without waiting for an answer.
    ///
    /// # Errors
    /// When the client has ended.
    pub async fn publish(&self, topic: &str, qos: u8, retain: bool, payload: &[u8]) -> Result<(), Failure> {
        match self {
            Self::V311(client) => client.publish(topic, qos4(qos)?, retain, payload).await?,
            Self::V5(client) => client.publish(topic, qos5(qos)?, retain, payload.to_vec()).await?,
        }
        Ok(())
    }

    /// Publishes with properties (version 5).
    ///
    /// # Errors
    /// When the client has ended or is of version 3.1.1.
    pub async fn publish_with(
        &self,
        topic: &str,
        qos: u8,
        payload: &[u8],
        properties: PublishProperties,
    ) -> Result<(), Failure> {
        let Self::V5(client) = self else { return Err(Failure::new("3.1.1 has no properties")) };
        Ok(client.publish_with_properties(topic, qos5(qos)?, false, payload.to_vec(), properties).await?)
    }

    /// Acknowledges a message (with manual acknowledgements).
    ///
    /// # Errors
    /// When the client has ended.
    pub async fn acknowledge(&self, publish: &Publish) -> Result<(), Failure> {
        match (self, &publish.original) {
            (Self::V311(client), Original::V311(original)) => client.ack(original).await?,
            (Self::V5(client), Original::V5(original)) => client.ack(original).await?,
            _ => return Err(Failure::new("a message of another client")),
        }
        Ok(())
    }
}
