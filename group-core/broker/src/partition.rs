//! A partition's owner task: takes submissions in rounds, applies them to the machine, and hands out what came of them
//! with one wake-up per connection and round.
//!
//! In this step every group is of the memory class: the log says that nothing is durable, and an entry is applied as
//! soon as it is made. The owner is the only one that touches machine and bodies.

use std::sync::Arc;

use braid_machine::{Command, Partition};
use braid_types::{ConnectionId, DeliveryId, GroupId, PartitionId};
use tokio::sync::{mpsc, oneshot};

use crate::listing::{GroupListing, MemberListing};
use crate::work::{Answer, Submission, Task};
use crate::{Clock, ConnectionInfo, Counters, Mailbox, MemoryGauge};

mod attached;
mod inspect;
mod owner;
mod round;

/// What a partition has to say to the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionNote {
    /// The last member left a group.
    Unused(GroupId),
    /// A group was not used for as long as its settings allow.
    Expired(GroupId),
}

/// What a partition's owner is asked.
#[derive(Debug)]
pub(crate) enum Job {
    Submit(Submission),
    ConnectionClosed { connection: ConnectionId, kept: Vec<DeliveryId> },
    Inspect { groups: Option<Vec<GroupId>>, answer: oneshot::Sender<Vec<(GroupId, Inspected)>> },
}

/// What a partition tells of a group.
#[derive(Clone, Debug, Default)]
pub struct Inspected {
    /// Messages that wait.
    pub ready: u64,
    /// Messages handed out.
    pub unacked: u64,
    /// Its members.
    pub members: Vec<MemberListing>,
}

/// What the owner task of a partition shares with the node.
#[derive(Clone, Debug)]
pub struct Owned {
    /// Time.
    pub clock: Clock,
    /// Counts.
    pub counters: Arc<Counters>,
    /// Held bodies.
    pub memory: Arc<MemoryGauge>,
    /// Where notes go.
    pub notes: mpsc::UnboundedSender<PartitionNote>,
}

/// The way to a partition. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PartitionHandle {
    id: PartitionId,
    inbox: mpsc::UnboundedSender<Job>,
    internal: Arc<Mailbox>,
}

impl PartitionHandle {
    /// Starts the owner task of partition `id` on the current runtime.
    #[must_use]
    pub fn start(id: PartitionId, owned: Owned) -> Self {
        // Unbounded as a channel, bounded by its writers: each connection has a limit of bytes in flight.
        let (inbox, jobs) = mpsc::unbounded_channel();
        let internal = Arc::new(Mailbox::new(ConnectionInfo {
            id: ConnectionId(0),
            protocol: braid_types::Protocol::Amqp,
            peer: String::new(),
        }));
        tokio::spawn(owner::Owner::new(Partition::default(), owned).run(jobs));
        Self { id, inbox, internal }
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> PartitionId {
        self.id
    }

    /// Sends commands of a connection.
    pub fn submit(&self, submission: Submission) {
        self.send(Job::Submit(submission));
    }

    /// Sends a command of the node itself, whose reply nobody waits for.
    pub fn command(&self, command: Command) {
        self.submit(self.internal_submission(command, Answer::Silent));
    }

    /// Sends a command of the node itself and waits for its reply; `None` when the node stops.
    pub async fn request(&self, command: Command) -> Option<braid_machine::Reply> {
        let (answer, reply) = oneshot::channel();
        self.submit(self.internal_submission(command, Answer::Once(answer)));
        reply.await.ok()
    }

    /// A connection is lost: its members are detached or paused, as they were attached. `kept` are the deliveries that a
    /// paused member's session holds; what else was handed out to it never arrived and goes back.
    pub fn connection_closed(&self, connection: ConnectionId, kept: Vec<DeliveryId>) {
        self.send(Job::ConnectionClosed { connection, kept });
    }

    /// What the partition has of `groups` (all, when `None`).
    pub async fn inspect(&self, groups: Option<Vec<GroupId>>) -> Vec<(GroupId, Inspected)> {
        let (answer, reply) = oneshot::channel();
        self.send(Job::Inspect { groups, answer });
        reply.await.unwrap_or_default()
    }

    fn internal_submission(&self, command: Command, answer: Answer) -> Submission {
        let tasks = vec![Task { command, message: None, answer }];
        Submission { from: Arc::clone(&self.internal), tasks, in_flight_bytes: 0 }
    }

    fn send(&self, job: Job) {
        if self.inbox.send(job).is_err() {
            tracing::debug!(partition = self.id.0, "the partition has stopped");
        }
    }
}

impl Inspected {
    /// Puts the partition's part of a listing into `listing`.
    pub fn fill(self, listing: &mut GroupListing) {
        listing.ready = self.ready;
        listing.unacked = self.unacked;
        listing.members = self.members;
    }
}
