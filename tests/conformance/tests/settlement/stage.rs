//! A broker with one AMQP client that declares, publishes and takes.

use std::time::{Duration, Instant};

use braid_conformance::{Broker, Failure, Options, Outcome, PATIENCE, Port, amqp, http, within};
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, Consumer, ExchangeKind,
    message::Delivery,
    options::{
        BasicAckOptions, BasicConsumeOptions, BasicGetOptions, BasicPublishOptions, BasicQosOptions,
        ExchangeDeclareOptions, QueueDeclareOptions,
    },
    types::{AMQPValue, FieldTable},
};

use crate::kind::Kind;

/// How often a test looks again for what has no event.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// See the file's head.
pub(crate) struct Stage {
    pub(crate) broker: Broker,
    pub(crate) connection: Connection,
    /// In confirm mode.
    pub(crate) channel: Channel,
}

impl Stage {
    /// A broker, and a connection to it.
    pub(crate) async fn start() -> Result<Self, Failure> {
        Self::start_with("").await
    }

    /// The same, with this configuration.
    pub(crate) async fn start_with(config: &str) -> Result<Self, Failure> {
        let options = Options { config: String::from(config), ..Options::default() };
        let broker = Broker::start_with(options).await?;
        let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
        let channel = amqp::confirming_channel(&connection).await?;
        Ok(Self { broker, connection, channel })
    }

    /// Kills the broker, starts it again and connects.
    pub(crate) async fn restart(&mut self) -> Outcome {
        self.broker.kill().await?;
        self.broker.start_again().await?;
        self.connection = amqp::connect(self.broker.address(Port::Amqp)?).await?;
        self.channel = amqp::confirming_channel(&self.connection).await?;
        Ok(())
    }

    /// Declares a queue of `kind`.
    pub(crate) async fn declare(&self, kind: Kind, queue: &str, arguments: &[(&str, AMQPValue)]) -> Outcome {
        let mut table = FieldTable::default();
        table.insert("x-queue-type".into(), kind.queue_type());
        for (name, value) in arguments {
            table.insert((*name).into(), value.clone());
        }
        let options = QueueDeclareOptions { durable: kind.is_durable(), ..QueueDeclareOptions::default() };
        within("queue.declare-ok", self.channel.queue_declare(queue.into(), options, table)).await??;
        Ok(())
    }

    /// Declares a durable exchange.
    pub(crate) async fn exchange(&self, name: &str, kind: ExchangeKind) -> Outcome {
        let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let declared = self.channel.exchange_declare(name.into(), kind, options, FieldTable::default());
        Ok(within("exchange.declare-ok", declared).await??)
    }

    /// Binds a queue.
    pub(crate) async fn bind(&self, queue: &str, exchange: &str, key: &str) -> Outcome {
        amqp::bind(&self.channel, queue, exchange, key).await
    }

    /// Publishes to a queue and waits for the confirm.
    pub(crate) async fn put(&self, queue: &str, body: &str) -> Outcome {
        amqp::publish(&self.channel, "", queue, body.as_bytes()).await
    }

    /// Publishes; whether it was confirmed (`false`: nacked).
    pub(crate) async fn offer(&self, queue: &str, body: &str, properties: BasicProperties) -> Result<bool, Failure> {
        let options = BasicPublishOptions::default();
        let sent = self.channel.basic_publish("".into(), queue.into(), options, body.as_bytes(), properties).await?;
        Ok(matches!(within("confirm", sent).await??, Confirmation::Ack(_)))
    }

    /// Takes the next message of a queue, if there is one. It is not acknowledged.
    pub(crate) async fn look(&self, queue: &str) -> Result<Option<Delivery>, Failure> {
        let got = self.channel.basic_get(queue.into(), BasicGetOptions::default());
        Ok(within("basic.get-ok", got).await??.map(|got| got.delivery))
    }

    /// Takes the next message of a queue, as soon as there is one. It is not acknowledged.
    pub(crate) async fn get(&self, queue: &str) -> Result<Delivery, Failure> {
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if let Some(delivery) = self.look(queue).await? {
                return Ok(delivery);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(Failure::new(format!("nothing comes into `{queue}`; the broker's log:\n{}", self.broker.log())))
    }

    /// As [`get`](Self::get), and acknowledges it.
    pub(crate) async fn take(&self, queue: &str) -> Result<Delivery, Failure> {
        let delivery = self.get(queue).await?;
        delivery.ack(BasicAckOptions::default()).await?;
        Ok(delivery)
    }

    /// Takes all messages that a queue has ready.
    pub(crate) async fn drain(&self, queue: &str) -> Result<Vec<String>, Failure> {
        let mut bodies = Vec::new();
        while let Some(delivery) = self.look(queue).await? {
            delivery.ack(BasicAckOptions::default()).await?;
            bodies.push(body(&delivery));
        }
        Ok(bodies)
    }

    /// Messages that a queue has ready.
    pub(crate) async fn ready(&self, queue: &str) -> Result<u32, Failure> {
        let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let declared = self.channel.queue_declare(queue.into(), options, FieldTable::default());
        Ok(within("queue.declare-ok", declared).await??.message_count())
    }

    /// Waits until a queue has `count` messages ready.
    pub(crate) async fn until_ready(&self, queue: &str, count: u32) -> Outcome {
        let since = Instant::now();
        let mut ready = self.ready(queue).await?;
        while ready != count {
            if since.elapsed() > PATIENCE {
                return Err(Failure::new(format!("`{queue}` has {ready} messages, not {count}")));
            }
            tokio::time::sleep(LOOK_EVERY).await;
            ready = self.ready(queue).await?;
        }
        Ok(())
    }

    /// A channel of its own with this prefetch.
    pub(crate) async fn channel(&self, prefetch: u16) -> Result<Channel, Failure> {
        let channel = within("channel", self.connection.create_channel()).await??;
        within("qos-ok", channel.basic_qos(prefetch, BasicQosOptions::default())).await??;
        Ok(channel)
    }

    /// A consumer with a channel of its own and this prefetch.
    pub(crate) async fn consume(&self, queue: &str, prefetch: u16) -> Result<(Channel, Consumer), Failure> {
        let channel = self.channel(prefetch).await?;
        let consumer = amqp::consume_with(&channel, queue, BasicConsumeOptions::default()).await?;
        Ok((channel, consumer))
    }

    /// The value of a metric.
    pub(crate) async fn metric(&self, name: &str) -> Result<u64, Failure> {
        let page = http::get(self.broker.address(Port::Http)?, "/metrics").await?.body;
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(value.ok_or_else(|| Failure::new(format!("no metric `{name}`")))?.parse()?)
    }

    /// Waits until a metric has at least this value.
    pub(crate) async fn until_metric(&self, name: &str, least: u64) -> Outcome {
        let since = Instant::now();
        while self.metric(name).await? < least {
            if since.elapsed() > PATIENCE {
                return Err(Failure::new(format!("`{name}` does not come to {least}")));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }
}

/// A delivery's body as text.
pub(crate) fn body(delivery: &Delivery) -> String {
    String::from_utf8_lossy(&delivery.data).into_owned()
}

/// A header of a delivery.
pub(crate) fn header<'a>(delivery: &'a Delivery, name: &str) -> Option<&'a AMQPValue> {
    delivery.properties.headers().as_ref().and_then(|headers| headers.inner().get(name))
}

/// Properties with these headers.
pub(crate) fn headers(list: &[(&str, AMQPValue)]) -> BasicProperties {
    let mut table = FieldTable::default();
    for (name, value) in list {
        table.insert((*name).into(), value.clone());
    }
    BasicProperties::default().with_headers(table)
}
