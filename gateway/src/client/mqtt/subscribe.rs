//! Holding one subscription: messages of every `QoS`, acknowledgements, a clean end.

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    MqttClient, check,
    packet::{self, Packet, kind},
    properties,
};
use crate::client::{ClientError, Receipt, Received, Subscription, in_time, limits};

impl<S: AsyncRead + AsyncWrite + Unpin> MqttClient<S> {
    /// Subscribes to `filter` with at most `qos`.
    ///
    /// # Errors
    /// The server does not let it, or the connection broke.
    pub(crate) async fn subscribe(&mut self, filter: &str, qos: u8) -> Result<(), ClientError> {
        const ID: u16 = 1;
        self.wire.write(&packet::subscribe(filter, qos, ID)?).await?;
        in_time("MQTT SUBACK", limits::ANSWER_TIMEOUT_MS, async {
            loop {
                let Packet { first, mut body } = self.next_packet().await?;
                // The server may send messages first (MQTT 5.0, section 3.8.4).
                if first & 0xF0 == kind::PUBLISH {
                    let received = self.received(first, body)?;
                    self.pending.extend(received);
                } else if first == kind::SUBACK && packet::take_u16(&mut body)? == ID {
                    let properties = properties::take(&mut body)?;
                    return check(packet::take_u8(&mut body)?, &properties);
                }
            }
        })
        .await
    }

    /// Takes a PUBLISH; `None`: this `QoS` 2 message came before.
    fn received(&mut self, first: u8, mut body: Bytes) -> Result<Option<Received>, ClientError> {
        let (redelivered, qos) = (first & 0b1000 != 0, first >> 1 & 0b11);
        let topic = packet::take_short(&mut body)?;
        let receipt = match qos {
            0 => Receipt::None,
            1 => Receipt::Packet(packet::take_u16(&mut body)?),
            2 => Receipt::PacketOnce(packet::take_u16(&mut body)?),
            _ => return Err(ClientError::Protocol("the server sent a message with QoS 3")),
        };
        let properties = properties::take(&mut body)?;
        if let Receipt::PacketOnce(id) = receipt
            && !self.unreleased.insert(id)
        {
            return Ok(None);
        }
        let headers = properties.user.into_iter().map(|(name, value)| (name, value.into())).collect();
        let address = String::from_utf8_lossy(&topic).into_owned();
        Ok(Some(Received { address, headers, body, redelivered, receipt }))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Subscription for MqttClient<S> {
    async fn next(&mut self) -> Result<Received, ClientError> {
        if let Some(received) = self.pending.pop_front() {
            return Ok(received);
        }
        loop {
            let Packet { first, mut body } = self.next_packet().await?;
            match first & 0xF0 {
                kind::PUBLISH => {
                    if let Some(received) = self.received(first, body)? {
                        return Ok(received);
                    }
                }
                kind::PUBREL_WITHOUT_FLAGS => {
                    let id = packet::take_u16(&mut body)?;
                    self.unreleased.remove(&id);
                    self.wire.write(&packet::acknowledgement(kind::PUBCOMP, id)).await?;
                }
                _ => {}
            }
        }
    }

    async fn settle(&mut self, received: &Received) -> Result<(), ClientError> {
        match received.receipt {
            Receipt::Packet(id) => self.wire.write(&packet::acknowledgement(kind::PUBACK, id)).await,
            Receipt::PacketOnce(id) => self.wire.write(&packet::acknowledgement(kind::PUBREC, id)).await,
            Receipt::None | Receipt::Tag(_) => Ok(()),
        }
    }

    async fn finish(mut self) -> Result<Vec<Received>, ClientError> {
        // A QoS 2 message that was printed is settled only by its PUBCOMP.
        let released = in_time("MQTT PUBREL", limits::ANSWER_TIMEOUT_MS, async {
            while !self.unreleased.is_empty() {
                let Packet { first, mut body } = self.next_packet().await?;
                if first & 0xF0 == kind::PUBREL_WITHOUT_FLAGS {
                    let id = packet::take_u16(&mut body)?;
                    self.unreleased.remove(&id);
                    self.wire.write(&packet::acknowledgement(kind::PUBCOMP, id)).await?;
                }
            }
            Ok(())
        });
        released.await?;
        self.close().await?;
        Ok(Vec::new())
    }
}
