//! What the tests are played with: a broker of one partition, clients that are a mailbox each, and what a client has
//! seen in a form that can be compared.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use braid_broker::{Answer, Broker, ConnectionInfo, Item, Mailbox, MemberListing, OnLoss, Options};
use braid_broker::{PartitionHandle, PartitionNote, Submission, Task};
use braid_machine::{Command, Credit, GroupConfig, MemberConfig, MessageHeader, Owner, Refused, Reply, Taken};
use braid_types::{
    ConnectionId, DeliveryId, GroupId, MemberId, Message, Outcome, PartitionId, Protocol, SubscriptionId, Ticket,
    UnackedOnEnd,
};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

/// The node of the tests.
pub(crate) const NODE: u64 = 3;

/// The group of most tests.
pub(crate) const GROUP: GroupId = GroupId(1);

/// A second one.
pub(crate) const OTHER: GroupId = GroupId(2);

/// A window that is never full.
pub(crate) const UNLIMITED: Credit = Credit::Window { messages: 0 };

/// What becomes of deliveries whose connection is lost, in most tests.
pub(crate) const RELEASED: OnLoss = OnLoss::Detach(Outcome::Released);

/// Ends a test that hangs.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("this should have come long ago")
}

/// A running broker of one partition.
pub(crate) struct Scene {
    pub(crate) broker: Broker,
    pub(crate) notes: mpsc::UnboundedReceiver<PartitionNote>,
}

impl Scene {
    /// With [`GROUP`] and [`OTHER`], which limit nothing.
    pub(crate) async fn new() -> Self {
        Self::with_memory(usize::MAX).await
    }

    /// The same, with a limit of memory.
    pub(crate) async fn with_memory(memory_bytes_max: usize) -> Self {
        let options = Options { node: NODE, partitions: 1, memory_bytes_max, seed: 7, log: None };
        let (broker, notes) = Broker::start(options).await.unwrap();
        let scene = Self { broker, notes };
        scene.create(GROUP, GroupConfig::default()).await;
        scene.create(OTHER, GroupConfig::default()).await;
        scene
    }

    pub(crate) fn partition(&self) -> &PartitionHandle {
        self.broker.partition(PartitionId(0)).unwrap()
    }

    pub(crate) async fn request(&self, command: Command) -> Reply {
        within(self.partition().request(command)).await.unwrap()
    }

    pub(crate) async fn create(&self, group: GroupId, config: GroupConfig) {
        let reply = self.request(Command::CreateGroup { group, config: Box::new(config) }).await;
        assert_eq!(reply, Reply::Done);
    }

    pub(crate) async fn delete(&self, group: GroupId) -> Reply {
        self.request(Command::DeleteGroup { group, if_unused: false, if_empty: false }).await
    }

    /// Publishes by the node itself.
    pub(crate) fn publish(&self, bodies: &[&str]) {
        self.client(0, Protocol::Amqp).publish(bodies);
    }

    pub(crate) fn client(&self, id: u64, protocol: Protocol) -> Client {
        Client { mailbox: mailbox(id, protocol), partition: self.partition().clone() }
    }

    /// Waits until everything that was submitted before has been carried out and handed over: what is asked second is
    /// in a later round than what is asked first.
    pub(crate) async fn quiet(&self) {
        for _ in 0..2 {
            within(self.partition().inspect(Some(Vec::new()))).await;
        }
    }

    pub(crate) async fn inspect(&self, group: GroupId) -> Listed {
        let mut inspected = within(self.partition().inspect(Some(vec![group]))).await;
        assert_eq!(inspected.len(), 1);
        let (id, inspected) = inspected.remove(0);
        assert_eq!(id, group);
        Listed { ready: inspected.ready, unacked: inspected.unacked, members: inspected.members }
    }

    /// Ready messages, unacked ones, and members of a group.
    pub(crate) async fn counts(&self, group: GroupId) -> (u64, u64, usize) {
        let inspected = self.inspect(group).await;
        (inspected.ready, inspected.unacked, inspected.members.len())
    }

    pub(crate) async fn held_bytes(&self) -> usize {
        self.quiet().await;
        self.broker.memory.held_bytes()
    }

    /// What has come for a client once all is quiet.
    pub(crate) async fn seen(&self, client: &Client) -> Vec<Seen> {
        self.quiet().await;
        client.take()
    }

    pub(crate) async fn attach(&self, client: &Client, attachment: u32, credit: Credit, on_loss: OnLoss) -> MemberId {
        client.submit(vec![client.attach(GROUP, attachment, credit, on_loss)]);
        let seen = self.seen(client).await;
        let [Seen::Attached { attachment: answered, result: Ok(member) }] = seen.as_slice() else { panic!("{seen:?}") };
        assert_eq!(*answered, attachment);
        *member
    }

    /// Attaches the member of a persistent session.
    pub(crate) async fn attach_session(&self, client: &Client) -> MemberId {
        let (answer, member) = oneshot::channel();
        let command = Command::Attach { group: GROUP, member: client.member(0, UNLIMITED, OnLoss::Pause) };
        client.submit(vec![Task { command, message: None, answer: Answer::AttachSession(answer) }]);
        let member = within(member).await.unwrap().unwrap();
        assert_eq!(self.seen(client).await, [Seen::Attached { attachment: 0, result: Ok(member) }]);
        member
    }
}

/// What a partition tells of a group.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) ready: u64,
    pub(crate) unacked: u64,
    pub(crate) members: Vec<MemberListing>,
}

/// A connection.
pub(crate) struct Client {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) partition: PartitionHandle,
}

impl Client {
    pub(crate) fn submit(&self, tasks: Vec<Task>) {
        self.partition.submit(Submission { from: Arc::clone(&self.mailbox), tasks, in_flight_bytes: 0 });
    }

    /// Publishes to [`GROUP`] without waiting for confirms.
    pub(crate) fn publish(&self, bodies: &[&str]) {
        self.submit(bodies.iter().map(|body| enqueue(&[GROUP], body, Answer::Silent)).collect());
    }

    pub(crate) fn owner(&self, attachment: u32) -> Owner {
        Owner { node: NODE, connection: self.mailbox.connection(), attachment }
    }

    pub(crate) fn member(&self, attachment: u32, credit: Credit, on_loss: OnLoss) -> Box<MemberConfig> {
        let owner = self.owner(attachment);
        Box::new(MemberConfig { owner, credit, priority: 0, exclusive: false, filter: None, on_loss })
    }

    pub(crate) fn attach(&self, group: GroupId, attachment: u32, credit: Credit, on_loss: OnLoss) -> Task {
        let command = Command::Attach { group, member: self.member(attachment, credit, on_loss) };
        Task { command, message: None, answer: Answer::Attach { attachment, label: Bytes::new() } }
    }

    pub(crate) fn resume(&self, member: MemberId) {
        let command = Command::Resume { group: GROUP, member, owner: self.owner(0), messages: 0 };
        self.submit(vec![silent(command)]);
    }

    pub(crate) fn get(&self, group: GroupId, ticket: u64, settled: bool, on_loss: Outcome) -> Task {
        let attachment = 9;
        let command = Command::Get { group, owner: self.owner(attachment), settled, on_loss };
        Task { command, message: None, answer: Answer::Get { ticket: Ticket(ticket), attachment } }
    }

    pub(crate) fn settle(&self, member: MemberId, deliveries: &[u64], outcome: Outcome) {
        self.submit(vec![settle(member, deliveries, outcome)]);
    }

    /// The driver has noticed that the connection is lost.
    pub(crate) fn lose(&self) {
        self.lose_keeping(&[]);
    }

    /// The same for a session that keeps these deliveries.
    pub(crate) fn lose_keeping(&self, kept: &[u64]) {
        self.mailbox.close();
        let kept = kept.iter().copied().map(DeliveryId).collect();
        self.partition.connection_closed(self.mailbox.connection(), kept, Vec::new());
    }

    pub(crate) fn take(&self) -> Vec<Seen> {
        self.mailbox.take().into_iter().map(Seen::of).collect()
    }
}

/// A delivery that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub(crate) attachment: u32,
    pub(crate) delivery: u64,
    pub(crate) settled: bool,
    pub(crate) redelivered: bool,
    pub(crate) delivery_count: u32,
    pub(crate) body: String,
}

/// An item that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Delivered(Delivered),
    Direct { subscription: u64, body: String },
    Confirmed { ticket: u64, refused: Option<Refused> },
    ConfirmedPart { join: u64, refused: Option<Refused> },
    Attached { attachment: u32, result: Result<MemberId, Refused> },
    Got { ticket: u64, taken: Result<Option<(Taken, String)>, Refused> },
    Detached(u32),
    Cancelled(u32),
    Other,
}

impl Seen {
    pub(crate) fn of(item: Item) -> Self {
        match item {
            Item::Deliver { attachment, delivery, settled, redelivered, delivery_count, message } => {
                let (delivery, body) = (delivery.0, body_of(&message));
                Self::Delivered(Delivered { attachment, delivery, settled, redelivered, delivery_count, body })
            }
            Item::Direct { subscription, message, .. } => {
                Self::Direct { subscription: subscription.0, body: body_of(&message) }
            }
            Item::Confirmed { ticket, refused } => Self::Confirmed { ticket: ticket.0, refused },
            Item::ConfirmedPart { join, refused } => Self::ConfirmedPart { join, refused },
            Item::Attached { attachment, result } => Self::Attached { attachment, result },
            Item::Got { ticket, taken, .. } => {
                let taken = taken.map(|taken| taken.map(|(taken, message)| (taken, body_of(&message))));
                Self::Got { ticket: ticket.0, taken }
            }
            Item::Detached { attachment } => Self::Detached(attachment),
            Item::Cancelled { attachment } => Self::Cancelled(attachment),
            Item::WindowSet { .. } | Item::Moved { .. } | Item::Done(_) | Item::Synced | Item::Event(_) => Self::Other,
        }
    }
}

/// A first delivery to a member that acknowledges.
pub(crate) fn fresh(attachment: u32, delivery: u64, body: &str) -> Seen {
    let body = body.to_owned();
    let (settled, redelivered, delivery_count) = (false, false, 0);
    Seen::Delivered(Delivered { attachment, delivery, settled, redelivered, delivery_count, body })
}

/// One that was handed out before.
pub(crate) fn again(attachment: u32, delivery: u64, delivery_count: u32, body: &str) -> Seen {
    let body = body.to_owned();
    let (settled, redelivered) = (false, true);
    Seen::Delivered(Delivered { attachment, delivery, settled, redelivered, delivery_count, body })
}

/// One to a member that settles at hand-off.
pub(crate) fn handed_off(attachment: u32, delivery: u64, body: &str) -> Seen {
    let body = body.to_owned();
    let (settled, redelivered, delivery_count) = (true, false, 0);
    Seen::Delivered(Delivered { attachment, delivery, settled, redelivered, delivery_count, body })
}

pub(crate) fn mailbox(id: u64, protocol: Protocol) -> Arc<Mailbox> {
    let peer = format!("192.0.2.1:{id}");
    Arc::new(Mailbox::new(ConnectionInfo { id: ConnectionId(id), protocol, peer }))
}

pub(crate) fn message(body: &str) -> Arc<Message> {
    Arc::new(Message { body: Bytes::copy_from_slice(body.as_bytes()), ..Message::empty(Protocol::Amqp) })
}

fn body_of(message: &Message) -> String {
    String::from_utf8(message.body.to_vec()).unwrap()
}

pub(crate) fn direct(subscription: u64, message: &Arc<Message>) -> Item {
    let (others, retained) = (None, false);
    Item::Direct { subscription: SubscriptionId(subscription), others, retained, message: Arc::clone(message) }
}

pub(crate) fn enqueue(groups: &[GroupId], body: &str, answer: Answer) -> Task {
    let size_bytes = u32::try_from(body.len()).unwrap();
    let header = MessageHeader { size_bytes, priority: 0, expires_at: None, address: None };
    let command = Command::Enqueue { groups: groups.iter().copied().collect(), message: header };
    Task { command, message: Some(message(body)), answer }
}

pub(crate) fn settle(member: MemberId, deliveries: &[u64], outcome: Outcome) -> Task {
    let deliveries = deliveries.iter().copied().map(DeliveryId).collect();
    silent(Command::Settle { group: GROUP, member, deliveries, outcome })
}

pub(crate) fn detach(member: MemberId, attachment: u32, unacked: UnackedOnEnd) -> Task {
    let command = Command::Detach { group: GROUP, member, unacked };
    Task { command, message: None, answer: Answer::Detach { attachment } }
}

pub(crate) fn silent(command: Command) -> Task {
    Task { command, message: None, answer: Answer::Silent }
}

/// Whether a future is over without anything else happening.
pub(crate) fn is_ready(future: impl Future) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// Takes the mailbox's wake-up, if there is one that nobody has waited for.
pub(crate) fn has_wake_up(mailbox: &Mailbox) -> bool {
    is_ready(mailbox.notified())
}
