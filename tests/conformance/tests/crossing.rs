//! A message crosses from each protocol to each protocol: its body, its address and a header arrive.

use async_nats::HeaderMap;
use braid_conformance::{
    Broker, Failure, Outcome, Port, amqp,
    mqtt::{Client, Options, PublishProperties, Version},
    nats, unique,
};
use bytes::Bytes;
use lapin::{
    BasicProperties, Channel, Connection,
    types::{AMQPValue, FieldTable},
};

/// The header that every message carries.
const HEADER: &str = "Trace";

/// What a receiver saw.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// In dots.
    address: String,
    body: Bytes,
    header: Option<String>,
    content_type: Option<String>,
}

/// One client of each protocol, subscribed to all of `base`.
struct Clients {
    _connection: Connection,
    channel: Channel,
    consumer: lapin::Consumer,
    mqtt: Client,
    nats: async_nats::Client,
    subscriber: async_nats::Subscriber,
}

impl Clients {
    async fn new(broker: &Broker, base: &str) -> Result<Self, Failure> {
        let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
        let channel = amqp::confirming_channel(&connection).await?;
        let queue = unique("crossing");
        amqp::declare(&channel, &queue).await?;
        amqp::bind(&channel, &queue, "amq.topic", &format!("{base}.#")).await?;
        let consumer = amqp::consume(&channel, &queue).await?;
        let mut mqtt = Client::connect(broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
        mqtt.subscribe(&format!("{base}/#"), 1).await?;
        let nats = nats::connect(broker.address(Port::Nats)?).await?;
        let subscriber = nats::subscribe(&nats, &format!("{base}.>")).await?;
        Ok(Self { _connection: connection, channel, consumer, mqtt, nats, subscriber })
    }

    async fn publish(&mut self, from: &str, address: &str, body: &[u8], header: &str) -> Outcome {
        match from {
            "amqp" => {
                let mut headers = FieldTable::default();
                headers.insert(HEADER.into(), AMQPValue::LongString(header.into()));
                let properties =
                    BasicProperties::default().with_headers(headers).with_content_type("text/plain".into());
                amqp::publish_with(&self.channel, "amq.topic", address, body, properties).await
            }
            "mqtt" => {
                let properties = PublishProperties {
                    user_properties: vec![(HEADER.to_owned(), header.to_owned())],
                    content_type: Some("text/plain".to_owned()),
                    ..PublishProperties::default()
                };
                self.mqtt.sender.publish_with(&address.replace('.', "/"), 1, body, properties).await?;
                self.mqtt.published(1).await
            }
            _ => {
                let mut headers = HeaderMap::new();
                headers.insert(HEADER, header);
                Ok(self.nats.publish_with_headers(address.to_owned(), headers, Bytes::copy_from_slice(body)).await?)
            }
        }
    }

    async fn receive(&mut self, to: &str) -> Result<Seen, Failure> {
        match to {
            "amqp" => {
                let delivery = amqp::next(&mut self.consumer).await?;
                let headers = delivery.properties.headers().as_ref().map(FieldTable::inner);
                let header = headers.and_then(|table| table.get(HEADER)).and_then(|value| match value {
                    AMQPValue::LongString(text) => Some(text.to_string()),
                    _ => None,
                });
                let content_type = delivery.properties.content_type().as_ref().map(ToString::to_string);
                delivery.ack(lapin::options::BasicAckOptions::default()).await?;
                let address = delivery.routing_key.to_string();
                Ok(Seen { address, body: amqp::body(&delivery), header, content_type })
            }
            "mqtt" => {
                let message = self.mqtt.next().await?;
                let properties = message.properties.unwrap_or_default();
                let header = properties.user_properties.iter().find(|(name, _)| name == HEADER);
                let header = header.map(|(_, value)| value.clone());
                let address = message.topic.replace('/', ".");
                Ok(Seen { address, body: message.payload, header, content_type: properties.content_type })
            }
            _ => {
                let message = nats::next(&mut self.subscriber).await?;
                let value = |name: &str| {
                    message.headers.as_ref().and_then(|headers| headers.get(name)).map(ToString::to_string)
                };
                let (header, content_type) = (value(HEADER), value("Content-Type"));
                Ok(Seen { address: message.subject.to_string(), body: message.payload.clone(), header, content_type })
            }
        }
    }
}

#[tokio::test]
async fn a_message_of_each_protocol_reaches_each_protocol() -> Outcome {
    let broker = Broker::start().await?;
    let base = unique("cross");
    let mut clients = Clients::new(&broker, &base).await?;
    for from in ["amqp", "mqtt", "nats"] {
        let address = format!("{base}.{from}.level");
        for body in [b"".as_slice(), b"plain text", b"\x00\xff binary", &[7; 100_000]] {
            clients.publish(from, &address, body, from).await?;
            for to in ["amqp", "mqtt", "nats"] {
                let seen = clients.receive(to).await?;
                assert_eq!(seen.address, address, "address from {from} to {to}");
                assert!(seen.body == body, "body of {} bytes from {from} to {to}", body.len());
                assert_eq!(seen.header.as_deref(), Some(from), "header from {from} to {to}");
                if from != "nats" && to != "nats" {
                    assert_eq!(seen.content_type.as_deref(), Some("text/plain"), "content type from {from} to {to}");
                }
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn bytes_that_a_notation_cannot_hold_are_escaped_there_and_come_back() -> Outcome {
    let broker = Broker::start().await?;
    let base = unique("escape");
    let mut clients = Clients::new(&broker, &base).await?;
    // MQTT topic, and what AMQP and NATS see of it (SPEC 4: `/` and `.` swap, an empty level is `%`).
    for (topic, dotted) in [("a.b/c", "a/b.c"), ("a//c", "a.%.c"), ("a b/c", "a%20b.c")] {
        clients.mqtt.publish(&format!("{base}/{topic}"), 1, b"x").await?;
        assert_eq!(clients.mqtt.next().await?.topic, format!("{base}/{topic}"));
        let subject = nats::next(&mut clients.subscriber).await?.subject.to_string();
        assert_eq!(subject, format!("{base}.{dotted}"));
        amqp::next(&mut clients.consumer).await?;
        clients.nats.publish(subject, Bytes::from_static(b"y")).await?;
        assert_eq!(clients.mqtt.next().await?.topic, format!("{base}/{topic}"), "the way back");
        nats::next(&mut clients.subscriber).await?;
        amqp::next(&mut clients.consumer).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_order_of_one_publisher_is_kept_across_protocols() -> Outcome {
    let broker = Broker::start().await?;
    let base = unique("order");
    let mut clients = Clients::new(&broker, &base).await?;
    for from in ["amqp", "mqtt", "nats"] {
        for number in 0..200_u8 {
            clients.publish(from, &format!("{base}.a"), &[number], from).await?;
        }
        for to in ["amqp", "mqtt", "nats"] {
            for number in 0..200_u8 {
                assert_eq!(clients.receive(to).await?.body.as_ref(), [number], "from {from} to {to}");
            }
        }
    }
    Ok(())
}
