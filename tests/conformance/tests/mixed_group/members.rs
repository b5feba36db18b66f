//! The members of the group: each a real client behind a cable, in a task of its own.

use std::collections::BTreeMap;

use braid_conformance::{
    Broker, Failure, Outcome, Port, Wire, amqp,
    mqtt::{Client, Options, Version},
    nats, unique, within,
};
use futures_util::StreamExt;
use lapin::options::{BasicAckOptions, BasicQosOptions};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch,
    },
    task::JoinHandle,
};

use crate::ledger::Receipt;

/// Messages that a member which acknowledges may hold: about what one that settles at hand-off is granted, so that all
/// nine are equals.
const WINDOW: u16 = 1_000;

/// How a member is connected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// An AMQP consumer of the queue.
    Amqp,
    /// An MQTT subscriber of `$share/GROUP/BASE/+`, `QoS` 1.
    Mqtt(Version),
    /// A NATS subscriber of `BASE.*` in queue GROUP.
    Nats,
}

/// What a member says.
#[derive(Debug)]
pub(crate) enum Report {
    /// It received a message.
    Took(Receipt),
    /// It will acknowledge nothing more, and the broker has taken all that it had acknowledged.
    Holds,
}

/// All members.
#[derive(Debug)]
pub(crate) struct Crew {
    members: BTreeMap<usize, (Wire, JoinHandle<Outcome>)>,
    joined: usize,
    sender: UnboundedSender<Report>,
    reports: UnboundedReceiver<Report>,
    finish: watch::Sender<bool>,
}

/// What a member's task needs.
struct Member {
    index: usize,
    hold_after: Option<usize>,
    taken: usize,
    reports: UnboundedSender<Report>,
    finish: watch::Receiver<bool>,
}

impl Crew {
    /// Nobody.
    pub(crate) fn new() -> Self {
        let (sender, reports) = unbounded_channel();
        Self { members: BTreeMap::new(), joined: 0, sender, reports, finish: watch::Sender::new(false) }
    }

    /// Adds a member of `group` for addresses `base`.*; returns when the broker has taken it in. An AMQP member declares
    /// and binds the queue. With `hold_after` it stops to acknowledge after so many messages.
    pub(crate) async fn join(
        &mut self,
        broker: &Broker,
        kind: Kind,
        group: &str,
        base: &str,
        hold_after: Option<usize>,
    ) -> Outcome {
        let port = match kind {
            Kind::Amqp => Port::Amqp,
            Kind::Mqtt(_) => Port::Mqtt,
            Kind::Nats => Port::Nats,
        };
        let wire = Wire::to(broker.address(port)?).await?;
        let index = self.joined;
        self.joined += 1;
        let (reports, finish) = (self.sender.clone(), self.finish.subscribe());
        let member = Member { index, hold_after, taken: 0, reports, finish };
        let task = match kind {
            Kind::Amqp => member.join_amqp(&wire, group, base).await?,
            Kind::Mqtt(version) => member.join_mqtt(&wire, version, group, base).await?,
            Kind::Nats => member.join_nats(&wire, group, base).await?,
        };
        self.members.insert(index, (wire, task));
        Ok(())
    }

    /// The next report.
    pub(crate) async fn report(&mut self) -> Result<Report, Failure> {
        self.reports.recv().await.ok_or_else(|| Failure::new("no member is left"))
    }

    /// A report that has come already.
    pub(crate) fn try_report(&mut self) -> Option<Report> {
        self.reports.try_recv().ok()
    }

    /// Cuts the cables of `members`.
    pub(crate) async fn cut(&mut self, members: &[usize]) {
        for index in members {
            if let Some((wire, task)) = self.members.remove(index) {
                wire.cut().await;
                // How a client library reports the loss of its socket is not judged here.
                task.abort();
            }
        }
    }

    /// Lets all others read what has been sent to them, and end; returns the receipts that were not reported before.
    pub(crate) async fn finish(mut self, dead: &[usize]) -> Result<Vec<Receipt>, Failure> {
        self.finish.send_replace(true);
        for (index, (_wire, task)) in self.members {
            assert!(!dead.contains(&index), "member {index} should be dead");
            within(&format!("end of member {index}"), task).await???;
        }
        drop(self.sender);
        let mut receipts = Vec::new();
        while let Some(report) = self.reports.recv().await {
            if let Report::Took(receipt) = report {
                receipts.push(receipt);
            }
        }
        Ok(receipts)
    }
}

impl Member {
    async fn join_amqp(mut self, wire: &Wire, group: &str, base: &str) -> Result<JoinHandle<Outcome>, Failure> {
        let connection = amqp::connect(wire.address()).await?;
        let channel = within("channel", connection.create_channel()).await??;
        amqp::declare(&channel, group).await?;
        amqp::bind(&channel, group, "amq.topic", &format!("{base}.*")).await?;
        within("qos-ok", channel.basic_qos(WINDOW, BasicQosOptions::default())).await??;
        let mut consumer = amqp::consume(&channel, group).await?;
        Ok(tokio::spawn(async move {
            let _connection = connection;
            loop {
                let delivery = tokio::select! {
                    delivery = consumer.next() => delivery.ok_or_else(|| Failure::new("the consumer ended"))??,
                    _ = self.finish.changed() => return Ok(()),
                };
                let settled = self.took(&delivery.data, Some(delivery.redelivered))?;
                if settled {
                    delivery.ack(BasicAckOptions::default()).await?;
                }
                if self.holds_now() {
                    within("qos-ok", channel.basic_qos(WINDOW, BasicQosOptions::default())).await??;
                    self.reports.send(Report::Holds)?;
                }
            }
        }))
    }

    async fn join_mqtt(
        mut self,
        wire: &Wire,
        version: Version,
        group: &str,
        base: &str,
    ) -> Result<JoinHandle<Outcome>, Failure> {
        let mut options = Options::new(version);
        options.manual_acks = true;
        options.receive_maximum = (version == Version::V5).then_some(WINDOW);
        let mut client = Client::connect(wire.address(), &options).await?;
        assert_eq!(client.subscribe(&format!("$share/{group}/{base}/+"), 1).await?, 1);
        Ok(tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = client.receive() => message?,
                    _ = self.finish.changed() => return Ok(()),
                };
                let settled = self.took(&message.payload, Some(message.dup))?;
                if settled {
                    client.sender.acknowledge(&message).await?;
                }
                if self.holds_now() {
                    client.unsubscribe(&unique("barrier")).await?;
                    self.reports.send(Report::Holds)?;
                }
            }
        }))
    }

    async fn join_nats(mut self, wire: &Wire, group: &str, base: &str) -> Result<JoinHandle<Outcome>, Failure> {
        let client = nats::connect(wire.address()).await?;
        let mut subscriber = nats::queue_subscribe(&client, &format!("{base}.*"), group).await?;
        Ok(tokio::spawn(async move {
            loop {
                let message = tokio::select! {
                    message = subscriber.next() => message.ok_or_else(|| Failure::new("the subscription ended"))?,
                    _ = self.finish.changed() => break,
                };
                self.took(&message.payload, None)?;
                if self.holds_now() {
                    self.reports.send(Report::Holds)?;
                }
            }
            nats::barrier(&client).await?;
            subscriber.unsubscribe().await?;
            while let Some(message) = within("end of the subscription", subscriber.next()).await? {
                self.took(&message.payload, None)?;
            }
            Ok(())
        }))
    }

    /// Reports a message; returns whether it is to be acknowledged.
    fn took(&mut self, body: &[u8], flagged: Option<bool>) -> Result<bool, Failure> {
        let id = std::str::from_utf8(body)?.parse()?;
        let settled = flagged.is_none() || self.hold_after.is_none_or(|limit| self.taken < limit);
        self.taken += 1;
        self.reports.send(Report::Took(Receipt { member: self.index, id, flagged, settled }))?;
        Ok(settled)
    }

    /// Whether the message just taken was the last one to be acknowledged.
    fn holds_now(&self) -> bool {
        self.hold_after == Some(self.taken)
    }
}
