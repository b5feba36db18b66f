//! MQTT 5.0: publishes with `QoS` 0, 1 or 2, or holds one subscription, in a session that ends with the connection.

mod packet;
mod properties;
mod subscribe;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{ClientError, Login, Outgoing, Published, Received, limits, wire::Wire};
use packet::{Packet, kind};

/// Seconds between two packets of ours that the server waits for; half of it is [`limits::KEEPALIVE_MS`].
const KEEPALIVE_S: u16 = 60;

/// PUBACK: nobody subscribes to it.
const NO_MATCHING_SUBSCRIBERS: u8 = 0x10;

/// Reason codes from here on are failures.
const FAILURE: u8 = 0x80;

/// A connected session.
#[derive(Debug)]
pub(crate) struct MqttClient<S> {
    wire: Wire<S>,
    ping_interval: Duration,
    /// `QoS` 1 and 2 messages that the server takes ahead of its acknowledgements.
    receive_maximum: u16,
    /// `QoS` 2 messages that came and whose sender does not know yet that they did.
    unreleased: BTreeSet<u16>,
    /// Messages that came before the answer to SUBSCRIBE.
    pending: VecDeque<Received>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> MqttClient<S> {
    /// Connects with a new session that has a name from the server. At most `receive_maximum` `QoS` 1 and 2 messages are
    /// sent to it ahead of its acknowledgements.
    ///
    /// # Errors
    /// The server refuses the login, or speaks something else.
    pub(crate) async fn connect(stream: S, login: &Login, receive_maximum: u16) -> Result<Self, ClientError> {
        let mut client = Self {
            wire: Wire::new(stream),
            ping_interval: Duration::from_millis(limits::KEEPALIVE_MS),
            receive_maximum: u16::MAX,
            unreleased: BTreeSet::new(),
            pending: VecDeque::new(),
        };
        super::in_time("MQTT handshake", limits::CONNECT_TIMEOUT_MS, async {
            client.wire.write(&packet::connect(login, KEEPALIVE_S, receive_maximum)?).await?;
            // What another protocol begins with may look like the head of a long packet: nothing to wait for.
            while client.wire.input.is_empty() {
                client.wire.fill().await?;
            }
            if !matches!(client.wire.input.first(), Some(&(kind::CONNACK | kind::DISCONNECT))) {
                return Err(ClientError::Protocol("the server does not speak MQTT 5"));
            }
            let mut body = client.next_packet().await?.body;
            let (_, reason) = (packet::take_u8(&mut body)?, packet::take_u8(&mut body)?);
            // A server of version 3.1.1 answers without properties.
            let properties =
                if body.has_remaining() { properties::take(&mut body)? } else { properties::Properties::default() };
            check(reason, &properties)?;
            client.receive_maximum = properties.receive_maximum.unwrap_or(u16::MAX);
            if let Some(keepalive_s) = properties.server_keep_alive_s.filter(|seconds| *seconds > 0) {
                client.ping_interval = Duration::from_millis(u64::from(keepalive_s) * 500);
            }
            Ok(())
        })
        .await?;
        Ok(client)
    }

    /// Publishes `message` `count` times with `qos`. `QoS` 1 and 2 are acknowledged; after `QoS` 0 a ping shows that the
    /// server read them.
    ///
    /// # Errors
    /// A message was refused, or the connection broke.
    pub(crate) async fn publish(
        &mut self,
        message: &Outgoing,
        qos: u8,
        retain: bool,
        count: u64,
    ) -> Result<Published, ClientError> {
        if qos == 0 {
            let encoded = packet::publish(message, qos, retain, 0)?;
            let at_once = limits::unconfirmed_messages(message.body.len()) as u64;
            let mut sent = 0;
            while sent < count {
                let batch = at_once.min(count - sent);
                self.wire.write(&(0..batch).flat_map(|_| encoded.iter().copied()).collect::<Vec<u8>>()).await?;
                sent += batch;
            }
            self.ping().await?;
            return Ok(Published { taken: count, unmatched: 0 });
        }
        let ahead = limits::unconfirmed_messages(message.body.len()).min(usize::from(self.receive_maximum.max(1)));
        // Packet ids in use, with what is to be acknowledged next.
        let mut outstanding = BTreeMap::new();
        let mut published = Published::default();
        let mut sent = 0;
        let mut id = 0_u16;
        let mut out = BytesMut::new();
        while sent < count || !outstanding.is_empty() {
            while sent < count && outstanding.len() < ahead {
                // Fewer ids are in use than there are, so a free one comes.
                id = id.checked_add(1).unwrap_or(1);
                if outstanding.contains_key(&id) {
                    continue;
                }
                out.extend_from_slice(&packet::publish(message, qos, retain, id)?);
                outstanding.insert(id, if qos == 1 { kind::PUBACK } else { kind::PUBREC });
                sent += 1;
            }
            if !out.is_empty() {
                self.wire.write(&out.split()).await?;
            }
            let Packet { first, body } =
                super::in_time("MQTT acknowledgement", limits::ANSWER_TIMEOUT_MS, self.next_packet()).await?;
            if !matches!(first, kind::PUBACK | kind::PUBREC | kind::PUBCOMP) {
                continue;
            }
            let (id, reason) = acknowledgement(body)?;
            if outstanding.get(&id) != Some(&first) {
                continue;
            }
            if first == kind::PUBREC {
                out.extend_from_slice(&packet::acknowledgement(kind::PUBREL, id));
                outstanding.insert(id, kind::PUBCOMP);
            } else {
                outstanding.remove(&id);
                published.taken += 1;
            }
            published.unmatched += u64::from(reason == NO_MATCHING_SUBSCRIBERS);
        }
        Ok(published)
    }

    /// Disconnects.
    ///
    /// # Errors
    /// The connection broke first.
    pub(crate) async fn close(mut self) -> Result<(), ClientError> {
        self.wire.write(&packet::DISCONNECT).await?;
        self.wire.close().await;
        Ok(())
    }

    /// Waits until the server has answered to a ping, and so read all that was written before.
    async fn ping(&mut self) -> Result<(), ClientError> {
        self.wire.write(&packet::PINGREQ).await?;
        super::in_time("MQTT PINGRESP", limits::ANSWER_TIMEOUT_MS, async {
            while self.next_packet().await?.first != kind::PINGRESP {}
            Ok(())
        })
        .await
    }

    /// The next packet. A DISCONNECT becomes an error.
    async fn next_packet(&mut self) -> Result<Packet, ClientError> {
        let mut packet = loop {
            if let Some(packet) = packet::take(&mut self.wire.input)? {
                break packet;
            }
            self.wire.fill_alive(&packet::PINGREQ, self.ping_interval).await?;
        };
        if packet.first == kind::DISCONNECT {
            let reason = packet.body.try_get_u8().unwrap_or_default();
            let properties = properties::take(&mut packet.body).unwrap_or_default();
            return Err(refusal(reason, &properties));
        }
        Ok(packet)
    }
}

/// Packet id and reason of a PUBACK, PUBREC or PUBCOMP; a failure is an error.
fn acknowledgement(mut body: Bytes) -> Result<(u16, u8), ClientError> {
    let id = packet::take_u16(&mut body)?;
    let reason = body.try_get_u8().unwrap_or_default();
    let properties =
        if body.has_remaining() { properties::take(&mut body)? } else { properties::Properties::default() };
    check(reason, &properties)?;
    Ok((id, reason))
}

fn check(reason: u8, properties: &properties::Properties) -> Result<(), ClientError> {
    // Version 3.1.1 has the codes 1 to 5 in CONNACK; no success of version 5 has them but the granted QoS 1 and 2.
    if reason < FAILURE { Ok(()) } else { Err(refusal(reason, properties)) }
}

fn refusal(reason: u8, properties: &properties::Properties) -> ClientError {
    let words = properties.reason.as_deref().unwrap_or_else(|| packet::reason(reason));
    ClientError::Refused { code: Some(u16::from(reason)), reason: format!("0x{reason:02X} {words}") }
}

#[cfg(test)]
mod tests;
