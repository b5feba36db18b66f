//! A partition: its owner task takes submissions in rounds, has them logged where the partition has a log, applies them to
//! the machine, and hands out what came of them with one wake-up per connection and round.
//!
//! The owner is the only one that touches machine and bodies. A confirm is handed out when the entry counts: at once
//! without a log, when it is on disk (on a majority of disks) otherwise (SPEC section 8, P1).

use std::sync::Arc;

use braid_machine::{Command, GroupConfig};
use braid_replica::Error;
use braid_types::{ConnectionId, DeliveryId, GroupId, Message, PartitionId};
use tokio::sync::{mpsc, oneshot};

use crate::limits::UNSENT_DELIVERIES_MAX;
use crate::listing::{GroupListing, MemberListing};
use crate::work::{Answer, Submission, Task};
use crate::{Clock, ConnectionInfo, Counters, Mailbox, MemoryGauge};

mod ahead;
mod applying;
mod attached;
mod effects;
mod entry;
mod events;
mod gathering;
mod group_sets;
mod inspect;
mod letters;
mod loading;
mod logged;
mod opening;
mod owner;
mod proposing;
mod round;
mod sizes;
mod snapshots;

pub(crate) use effects::blank;
pub use letters::DeadLetter;
pub(crate) use opening::NodeLog;

/// What a partition has to say to the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionNote {
    /// The last member left a group.
    Unused(GroupId),
    /// A group was not used for as long as its settings allow.
    Expired(GroupId),
    /// A message died in a group that keeps its dead letters. It is to be published again, and then to be ended by
    /// [`Command::EndDeadLetters`].
    DeadLetter(Box<DeadLetter>),
}

/// What a partition's owner is asked.
#[derive(Debug)]
pub(crate) enum Job {
    Submit(Submission),
    ConnectionClosed { connection: ConnectionId, kept: Vec<DeliveryId>, unsent: Vec<(u32, DeliveryId)> },
    Inspect { groups: Option<Vec<GroupId>>, answer: oneshot::Sender<Vec<(GroupId, Inspected)>> },
    Reconcile { wanted: Vec<(GroupId, GroupConfig)>, upto: GroupId, answer: oneshot::Sender<()> },
    Barrier { answer: oneshot::Sender<()> },
    CheckLog,
    Snapshot,
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
pub(crate) struct Owned {
    /// The node.
    pub(crate) node: u64,
    /// Time.
    pub(crate) clock: Clock,
    /// Counts.
    pub(crate) counters: Arc<Counters>,
    /// Held bodies.
    pub(crate) memory: Arc<MemoryGauge>,
    /// Where notes go.
    pub(crate) notes: mpsc::UnboundedSender<PartitionNote>,
    /// Stands in for a message until it was read.
    pub(crate) blank: Arc<Message>,
}

/// The way to a partition. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PartitionHandle {
    id: PartitionId,
    inbox: mpsc::UnboundedSender<Job>,
    internal: Arc<Mailbox>,
}

impl PartitionHandle {
    /// Starts the owner task of partition `id` on the current runtime. The receiver hears when it serves, or why it does
    /// not.
    pub(crate) fn start(
        id: PartitionId,
        owned: Owned,
        log: Option<NodeLog>,
    ) -> (Self, oneshot::Receiver<Result<(), Error>>) {
        // Unbounded as a channel, bounded by its writers: each connection has a limit of bytes in flight.
        let (inbox, jobs) = mpsc::unbounded_channel();
        let internal = Arc::new(Mailbox::new(ConnectionInfo {
            id: ConnectionId(0),
            protocol: braid_types::Protocol::Amqp,
            peer: String::new(),
        }));
        let (started, starting) = oneshot::channel();
        tokio::spawn(async move {
            let owner = match log {
                None => {
                    drop(started.send(Ok(())));
                    owner::Owner::new(id, owned, None)
                }
                Some(log) => opening::open(id, owned, &log, started).await,
            };
            owner.run(jobs).await;
        });
        (Self { id, inbox, internal }, starting)
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
    /// paused member's session holds; what else was handed out to it never arrived and goes back. `unsent` are those that
    /// others were never sent, with their attachments, at most [`UNSENT_DELIVERIES_MAX`]: they do not count as tried.
    pub fn connection_closed(
        &self,
        connection: ConnectionId,
        kept: Vec<DeliveryId>,
        mut unsent: Vec<(u32, DeliveryId)>,
    ) {
        unsent.truncate(UNSENT_DELIVERIES_MAX);
        self.send(Job::ConnectionClosed { connection, kept, unsent });
    }

    /// What the partition has of `groups` (all, when `None`).
    pub async fn inspect(&self, groups: Option<Vec<GroupId>>) -> Vec<(GroupId, Inspected)> {
        let (answer, reply) = oneshot::channel();
        self.send(Job::Inspect { groups, answer });
        reply.await.unwrap_or_default()
    }

    /// Has the partition agree with the catalog: groups that are wanted are made, those with ids up to `upto` that are
    /// not wanted are deleted. Returns when that is done.
    pub async fn reconcile(&self, wanted: Vec<(GroupId, GroupConfig)>, upto: GroupId) {
        let (answer, done) = oneshot::channel();
        self.send(Job::Reconcile { wanted, upto, answer });
        if done.await.is_err() {
            tracing::debug!(partition = self.id.0, "the partition has stopped");
        }
    }

    /// Waits until all that was sent before is applied: what was settled before is gone for good (SPEC section 8, P7).
    /// `false`: the partition is out of service, and nobody knows what became of it.
    pub async fn barrier(&self) -> bool {
        let (answer, done) = oneshot::channel();
        self.send(Job::Barrier { answer });
        let is_applied = done.await.is_ok();
        if !is_applied {
            tracing::debug!(partition = self.id.0, "the partition has stopped");
        }
        is_applied
    }

    /// Has a snapshot made, so that a start has less to read.
    pub fn snapshot(&self) {
        self.send(Job::Snapshot);
    }

    /// Has the partition step down if its log has failed: while it is idle it would not notice.
    pub(crate) fn check_log(&self) {
        self.send(Job::CheckLog);
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
