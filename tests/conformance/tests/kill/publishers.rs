//! Publishers of three protocols. Each ends when the broker does, and never sends a message twice: what was not confirmed
//! stays of unknown fate, so that a duplicate can only be the broker's doing.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use braid_conformance::{
    Broker, Failure, Port, amqp,
    mqtt::{Client, Options, Reply, Version},
    nats,
};
use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use lapin::{BasicProperties, Channel, Confirmation, Connection, options::BasicPublishOptions};
use tokio::task::JoinSet;

use crate::{
    layout::Route,
    ledger::Ledger,
    message::{Id, Stream},
};

/// Publishes that may wait for their confirm.
const UNCONFIRMED_MAX: usize = 200;

/// Addresses that a publisher to the topic exchange uses.
const ADDRESSES: u32 = 8;

/// How long a producer pauses when its queue is full, or NATS when it has sent a batch: it has no confirms to wait for.
const PAUSE: Duration = Duration::from_millis(5);

/// Messages that the NATS publisher sends between two pauses.
const NATS_BATCH: u32 = 10;

/// Who sends a stream, and where.
struct Producer {
    ledger: Arc<Ledger>,
    route: Route,
    stream: Stream,
    sequence: u32,
}

/// Starts all of them in `tasks`; the returned connection is theirs.
pub(crate) async fn start(
    broker: &Broker,
    ledger: &Arc<Ledger>,
    tasks: &mut JoinSet<()>,
) -> Result<Connection, Failure> {
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    let round = ledger.round();
    let producer = |route, producer| {
        let stream = Stream { round, producer };
        Producer { ledger: Arc::clone(ledger), route, stream, sequence: 0 }
    };
    for (number, route) in [(0, Route::Classic), (1, Route::Quorum), (2, Route::Topic)] {
        tasks.spawn(by_amqp(amqp::confirming_channel(&connection).await?, producer(route, number)));
    }
    let client = Client::connect(broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
    tasks.spawn(by_mqtt(client, producer(Route::Topic, 3)));
    let client = nats::connect(broker.address(Port::Nats)?).await?;
    tasks.spawn(by_nats(client, producer(Route::Topic, 4)));
    Ok(connection)
}

impl Producer {
    /// The next message, entered as published; `None` when it is time to end.
    fn next(&mut self) -> Option<Id> {
        if self.ledger.is_over() {
            return None;
        }
        let id = Id { stream: self.stream, sequence: self.sequence };
        self.sequence += 1;
        self.ledger.published(self.route, id);
        Some(id)
    }

    /// Waits while the queue is full.
    async fn wait(&self) {
        while self.ledger.is_full(self.route) && !self.ledger.is_over() {
            // A queue has no event for having room.
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn address(&self) -> u32 {
        self.sequence % ADDRESSES
    }

    /// An answer to a publish; an error says only that the connection has ended.
    fn answered(&self, id: Id, answer: lapin::Result<Confirmation>) {
        match answer {
            Ok(Confirmation::Ack(None)) => self.ledger.confirmed(self.route, id),
            Ok(other) => self.ledger.refused(id, &format!("{other:?}")),
            Err(_) => {}
        }
    }
}

async fn by_amqp(channel: Channel, mut producer: Producer) {
    let mut open = FuturesUnordered::new();
    loop {
        producer.wait().await;
        let Some(id) = producer.next() else { break };
        let (exchange, key) = match producer.route {
            Route::Classic => ("", "kill.classic".to_owned()),
            Route::Quorum => ("", "kill.quorum".to_owned()),
            Route::Topic => ("amq.topic", format!("kill.t.{}", producer.address())),
        };
        // Both delivery modes: in a logged group they mean the same (P1).
        let mode = if id.sequence % 2 == 0 { 2 } else { 1 };
        let properties = BasicProperties::default().with_delivery_mode(mode);
        let options = BasicPublishOptions::default();
        let body = id.body();
        let sent = channel.basic_publish(exchange.into(), key.as_str().into(), options, &body, properties);
        let Ok(confirm) = sent.await else { break };
        open.push(async move { (id, confirm.await) });
        while open.len() >= UNCONFIRMED_MAX {
            let Some((id, answer)) = open.next().await else { break };
            producer.answered(id, answer);
        }
        while let Some(Some((id, answer))) = open.next().now_or_never() {
            producer.answered(id, answer);
        }
    }
    // Confirms that came before the connection broke count; the others end with its error.
    while let Some((id, answer)) = open.next().await {
        producer.answered(id, answer);
    }
}

async fn by_mqtt(mut client: Client, mut producer: Producer) {
    let sender = client.sender.clone();
    // PUBACKs come in the order of the publishes (MQTT 5, 4.6.0-2).
    let mut open: VecDeque<Id> = VecDeque::new();
    loop {
        while open.len() < UNCONFIRMED_MAX && (open.is_empty() || !producer.ledger.is_full(producer.route)) {
            producer.wait().await;
            let Some(id) = producer.next() else { break };
            open.push_back(id);
            if sender.publish("kill/t/x", 1, false, &id.body()).await.is_err() {
                break;
            }
        }
        if open.is_empty() {
            return;
        }
        match (client.reply().await, open.pop_front()) {
            (Ok(Reply::Acknowledged(reason)), Some(id)) if reason == "Success" => {
                producer.ledger.confirmed(producer.route, id);
            }
            (Ok(Reply::Acknowledged(reason)), Some(id)) => {
                producer.ledger.refused(id, &reason);
            }
            _ => return,
        }
    }
}

async fn by_nats(client: async_nats::Client, mut producer: Producer) {
    loop {
        for _ in 0..NATS_BATCH {
            producer.wait().await;
            let Some(id) = producer.next() else { return };
            let subject = format!("kill.t.{}", producer.address());
            if client.publish(subject, id.body().into()).await.is_err() {
                return;
            }
        }
        // Its only brake.
        tokio::time::sleep(PAUSE).await;
    }
}
