//! One publisher of each protocol, at once: AMQP with confirms, MQTT with `QoS` 1, NATS as it is.

use braid_conformance::{
    Broker, Failure, Outcome, Port, amqp,
    mqtt::{Client, Options, Version},
    nats, within,
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use lapin::{BasicProperties, Confirmation, options::BasicPublishOptions};
use tokio::task::JoinSet;

/// Publishes that may wait for their confirm.
const UNCONFIRMED_MAX: usize = 500;

/// Addresses that the messages are spread over.
const ADDRESSES: u32 = 16;

/// The publishers that are still at work.
#[derive(Debug)]
pub(crate) struct Publishers(JoinSet<Outcome>);

impl Publishers {
    /// Starts all three with `each` messages: numbers 0.. from AMQP, then from MQTT, then from NATS.
    pub(crate) async fn start(broker: &Broker, base: &str, each: u32) -> Result<Self, Failure> {
        let mut tasks = JoinSet::new();
        let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
        tasks.spawn(by_amqp(connection, base.to_owned(), each));
        let client = Client::connect(broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
        tasks.spawn(by_mqtt(client, base.to_owned(), each));
        let client = nats::connect(broker.address(Port::Nats)?).await?;
        tasks.spawn(by_nats(client, base.to_owned(), each));
        Ok(Self(tasks))
    }

    /// All messages are published and, where the protocol has that, confirmed.
    pub(crate) fn are_done(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits for one publisher to end.
    pub(crate) async fn next(&mut self) -> Outcome {
        self.0.join_next().await.ok_or_else(|| Failure::new("all have ended"))??
    }

    /// Waits for all to end.
    pub(crate) async fn finish(mut self) -> Outcome {
        while !self.are_done() {
            within("end of a publisher", self.next()).await??;
        }
        Ok(())
    }
}

async fn by_amqp(connection: lapin::Connection, base: String, each: u32) -> Outcome {
    let channel = amqp::confirming_channel(&connection).await?;
    let mut unconfirmed = FuturesUnordered::new();
    for number in 0..each {
        let key = format!("{base}.{}", number % ADDRESSES);
        let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
        let body = number.to_string();
        let sent = channel.basic_publish("amq.topic".into(), key.as_str().into(), options, body.as_bytes(), properties);
        unconfirmed.push(sent.await?);
        if unconfirmed.len() >= UNCONFIRMED_MAX {
            confirmed(within("confirm", unconfirmed.next()).await?)?;
        }
    }
    while !unconfirmed.is_empty() {
        confirmed(within("confirm", unconfirmed.next()).await?)?;
    }
    Ok(())
}

fn confirmed(confirmation: Option<lapin::Result<Confirmation>>) -> Outcome {
    match confirmation.transpose()? {
        Some(Confirmation::Ack(None)) => Ok(()),
        other => Err(Failure::new(format!("no confirm but {other:?}"))),
    }
}

async fn by_mqtt(mut client: Client, base: String, each: u32) -> Outcome {
    let sender = client.sender.clone();
    let send = async {
        for number in each..2 * each {
            let topic = format!("{base}/{}", number % ADDRESSES);
            sender.publish(&topic, 1, false, number.to_string().as_bytes()).await?;
        }
        Outcome::Ok(())
    };
    let confirm = async {
        for _ in 0..each {
            client.published(1).await?;
        }
        Outcome::Ok(())
    };
    let (sent, confirmed) = tokio::join!(send, confirm);
    sent.and(confirmed)
}

async fn by_nats(client: async_nats::Client, base: String, each: u32) -> Outcome {
    for number in 2 * each..3 * each {
        let subject = format!("{base}.{}", number % ADDRESSES);
        client.publish(subject, number.to_string().into()).await?;
    }
    nats::barrier(&client).await
}
