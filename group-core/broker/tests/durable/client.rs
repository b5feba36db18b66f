//! A connection, as its mailbox shows it, and messages whose bytes follow from a number.

use std::sync::Arc;

use braid_broker::{Answer, ConnectionInfo, Item, Mailbox, OnLoss, PartitionHandle, Submission, Task};
use braid_machine::{Command, Credit, MemberConfig, MessageHeader, Owner};
use braid_types::{ConnectionId, DeliveryId, GroupId, MemberId, Message, Outcome, Protocol, Ticket, Timestamp};
use bytes::Bytes;

use crate::node::NODE;

/// What becomes of deliveries whose connection is lost, in most tests.
pub(crate) const RELEASED: OnLoss = OnLoss::Detach(Outcome::Released);

/// A window that is never full.
pub(crate) const UNLIMITED: Credit = Credit::Window { messages: 0 };

/// A connection.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) partition: PartitionHandle,
}

impl Client {
    pub(crate) fn new(id: u64, partition: &PartitionHandle) -> Self {
        let info = ConnectionInfo { id: ConnectionId(id), protocol: Protocol::Amqp, peer: String::from("192.0.2.1:1") };
        Self { mailbox: Arc::new(Mailbox::new(info)), partition: partition.clone() }
    }

    pub(crate) fn submit(&self, tasks: Vec<Task>) {
        self.partition.submit(Submission { from: Arc::clone(&self.mailbox), tasks, in_flight_bytes: 0 });
    }

    pub(crate) fn owner(&self, attachment: u32) -> Owner {
        Owner { node: NODE, connection: self.mailbox.connection(), attachment }
    }

    pub(crate) fn attach(&self, group: GroupId, attachment: u32, credit: Credit, on_loss: OnLoss) -> Task {
        let owner = self.owner(attachment);
        let member = Box::new(MemberConfig { owner, credit, priority: 0, exclusive: false, filter: None, on_loss });
        let command = Command::Attach { group, member };
        Task { command, message: None, answer: Answer::Attach { attachment, label: Bytes::new() } }
    }

    pub(crate) fn get(&self, group: GroupId, ticket: u64, attachment: u32) -> Task {
        let command = Command::Get { group, owner: self.owner(attachment), settled: false, on_loss: Outcome::Released };
        Task { command, message: None, answer: Answer::Get { ticket: Ticket(ticket), attachment } }
    }

    /// The driver has noticed that the connection is lost.
    pub(crate) fn lose(&self) {
        self.mailbox.close();
        self.partition.connection_closed(self.mailbox.connection(), Vec::new(), Vec::new());
    }

    pub(crate) fn take(&self) -> Vec<Item> {
        self.mailbox.take()
    }
}

/// A message whose bytes follow from its number; `size_bytes` is the size of its body, at least 8.
pub(crate) fn message(number: u64, size_bytes: usize) -> Message {
    let mut body = number.to_le_bytes().to_vec();
    body.extend((8..size_bytes).map(|at| pattern(number, at)));
    Message {
        exchange: Bytes::from_static(b"exchange"),
        key: Bytes::from(format!("key.{number}")),
        header: Bytes::from(format!("header {number}")),
        reply: if number.is_multiple_of(3) { Bytes::from_static(b"reply") } else { Bytes::new() },
        body: Bytes::from(body),
        qos: 1,
        priority: u8::try_from(number % 5).unwrap(),
        received_at: Timestamp(1_000 + number),
        publisher: ConnectionId(number % 7 + 1),
        ..Message::empty(Protocol::Mqtt)
    }
}

fn pattern(number: u64, at: usize) -> u8 {
    number.wrapping_mul(31).wrapping_add(at as u64).wrapping_mul(0x9E37_79B9).to_le_bytes()[2]
}

/// The number of a message, which must be as it was published; who published it is not kept over a restart.
pub(crate) fn number_of(found: &Message) -> u64 {
    let number = u64::from_le_bytes(found.body.get(..8).expect("no body is so short").try_into().unwrap());
    let expected = message(number, found.body.len());
    assert!(Message { publisher: expected.publisher, ..found.clone() } == expected, "message {number} is forged");
    number
}

pub(crate) fn enqueue(groups: &[GroupId], message: Message, answer: Answer) -> Task {
    let size_bytes = u32::try_from(message.size_bytes()).unwrap();
    let header = MessageHeader { size_bytes, priority: 0, expires_at: None, address: None };
    let command = Command::Enqueue { groups: groups.iter().copied().collect(), message: header };
    Task { command, message: Some(Arc::new(message)), answer }
}

pub(crate) fn settle(group: GroupId, member: MemberId, deliveries: &[u64], outcome: Outcome) -> Task {
    let deliveries = deliveries.iter().copied().map(DeliveryId).collect();
    silent(Command::Settle { group, member, deliveries, outcome })
}

pub(crate) fn silent(command: Command) -> Task {
    Task { command, message: None, answer: Answer::Silent }
}
