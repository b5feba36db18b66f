//! Members of the queues. Each reports what it receives before it acknowledges it, and ends when the broker does, or,
//! once the work is over, when nothing comes any more.

use std::{pin::pin, sync::Arc, time::Duration};

use braid_conformance::{
    Broker, Failure, Port, amqp,
    mqtt::{Client, Options, Version},
    nats, within,
};
use futures_util::StreamExt;
use lapin::{
    Channel, Connection, Consumer,
    message::Delivery,
    options::{BasicAckOptions, BasicQosOptions},
};
use tokio::task::JoinSet;

use crate::{
    layout::{BY_NAME, Queue, RECEIVE_MAXIMUM, SHARE},
    ledger::Ledger,
    message::Id,
    random::Random,
};

/// How many deliveries a consumer lets come before it acknowledges them, at most; half of its prefetch if that is less.
const BATCH_MAX: u64 = 20;

/// Deliveries after which a consumer makes sure that its acks are committed.
const COMMIT_AFTER: usize = 50;

/// With no delivery for so long, a member acknowledges what it has.
const IDLE: Duration = Duration::from_millis(50);

/// An AMQP consumer of one queue on a channel of its own.
struct AmqpMember {
    ledger: Arc<Ledger>,
    queue: Queue,
    number: u32,
    prefetch: u16,
    channel: Channel,
    random: Random,
    /// Received and not acknowledged.
    held: Vec<Id>,
    /// The last delivery: its ack acknowledges all that is held.
    last: Option<Delivery>,
    /// Acknowledged, not known to be committed.
    acked: Vec<Id>,
}

/// Starts the members that a round has; the returned connection is that of the AMQP consumers.
pub(crate) async fn start(
    broker: &Broker,
    ledger: &Arc<Ledger>,
    tasks: &mut JoinSet<()>,
) -> Result<Connection, Failure> {
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    for queue in Queue::ALL {
        for prefetch in queue.prefetches() {
            consume(&connection, ledger, (queue, *prefetch), tasks).await?;
        }
    }
    let mut options = Options::new(Version::V5);
    (options.manual_acks, options.receive_maximum) = (true, Some(RECEIVE_MAXIMUM));
    let mut client = Client::connect(broker.address(Port::Mqtt)?, &options).await?;
    client.subscribe(SHARE, 1).await?;
    tasks.spawn(by_mqtt(client, Arc::clone(ledger)));
    let client = nats::connect(broker.address(Port::Nats)?).await?;
    let subscriber = nats::queue_subscribe(&client, BY_NAME, "any").await?;
    tasks.spawn(by_nats(client, subscriber, Arc::clone(ledger)));
    Ok(connection)
}

/// Adds an AMQP consumer of `queue`.
pub(crate) async fn consume(
    connection: &Connection,
    ledger: &Arc<Ledger>,
    (queue, prefetch): (Queue, u16),
    tasks: &mut JoinSet<()>,
) -> Result<(), Failure> {
    let channel = within("channel", connection.create_channel()).await??;
    within("qos-ok", channel.basic_qos(prefetch, BasicQosOptions::default())).await??;
    let consumer = amqp::consume(&channel, queue.name()).await?;
    let number = ledger.member();
    let (held, acked, random) = (Vec::new(), Vec::new(), Random::new(u64::from(number)));
    let ledger = Arc::clone(ledger);
    let member = AmqpMember { ledger, queue, number, prefetch, channel, random, held, last: None, acked };
    tasks.spawn(member.run(consumer));
    Ok(())
}

impl AmqpMember {
    async fn run(mut self, mut consumer: Consumer) {
        let mut batch = self.batch();
        loop {
            match tokio::time::timeout(IDLE, consumer.next()).await {
                Ok(Some(Ok(delivery))) => self.take(delivery),
                // The broker is gone, and all that had come before is read.
                Ok(Some(Err(_)) | None) => return,
                Err(_) => {
                    let is_over = self.ledger.is_over();
                    if !self.acknowledge().await {
                        return;
                    }
                    if is_over {
                        // After the drain this commits the last acks; a dead broker does not answer.
                        self.commit().await;
                        return;
                    }
                }
            }
            // What a broken channel no longer takes is of no interest; what it had received before still is.
            if self.held.len() >= batch && self.acknowledge().await {
                batch = self.batch();
                if self.acked.len() >= COMMIT_AFTER && !self.commit().await {
                    return self.read_to_end(consumer).await;
                }
            }
        }
    }

    /// Reads what had come before the connection broke.
    async fn read_to_end(mut self, mut consumer: Consumer) {
        while let Ok(Some(Ok(delivery))) = tokio::time::timeout(IDLE, consumer.next()).await {
            self.take(delivery);
        }
    }

    fn batch(&mut self) -> usize {
        let most = BATCH_MAX.min(u64::from(self.prefetch).div_ceil(2));
        usize::try_from(self.random.between(1, most + 1)).unwrap_or(1)
    }

    fn take(&mut self, delivery: Delivery) {
        let read = self.ledger.delivered(self.queue, self.number, &delivery.data, Some(delivery.redelivered));
        self.held.extend(read);
        self.last = Some(delivery);
    }

    /// Acknowledges all that is held; `false` when the connection is broken.
    async fn acknowledge(&mut self) -> bool {
        let Some(last) = self.last.take() else { return true };
        // Before it is sent: the broker may take it and die before this task runs again.
        self.ledger.acked(self.queue, &self.held);
        self.acked.append(&mut self.held);
        last.ack(BasicAckOptions { multiple: true }).await.is_ok()
    }

    /// Makes sure that what was acknowledged is committed; `false` when the connection broke before that was known.
    async fn commit(&mut self) -> bool {
        let mut asked = pin!(self.queue.ask(&self.channel));
        let answer = loop {
            match tokio::time::timeout(IDLE, &mut asked).await {
                Ok(answer) => break answer,
                // The library leaves a question unanswered for ever that it took while its connection broke.
                Err(_) if !self.channel.status().connected() => return false,
                Err(_) => {}
            }
        };
        if answer.is_ok() {
            self.ledger.committed(self.queue, &self.acked);
            self.acked.clear();
        }
        answer.is_ok()
    }
}

async fn by_mqtt(mut client: Client, ledger: Arc<Ledger>) {
    let number = ledger.member();
    loop {
        match tokio::time::timeout(IDLE, client.receive()).await {
            Ok(Ok(message)) => {
                if let Some(id) = ledger.delivered(Queue::Shared, number, &message.payload, Some(message.dup)) {
                    ledger.settled(Queue::Shared, id);
                }
                // A client that has lost its connection takes no acks; what came before is read to the end.
                drop(client.sender.acknowledge(&message).await);
            }
            Ok(Err(_)) => return,
            Err(_) if ledger.is_over() => return,
            Err(_) => {}
        }
    }
}

async fn by_nats(_client: async_nats::Client, mut subscriber: async_nats::Subscriber, ledger: Arc<Ledger>) {
    let number = ledger.member();
    loop {
        match tokio::time::timeout(IDLE, subscriber.next()).await {
            Ok(Some(message)) => {
                if let Some(id) = ledger.delivered(Queue::Nats, number, &message.payload, None) {
                    ledger.settled(Queue::Nats, id);
                }
            }
            Ok(None) => return,
            Err(_) if ledger.is_over() => return,
            Err(_) => {}
        }
    }
}
