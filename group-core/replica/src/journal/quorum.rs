//! A journal that is a Raft group on the write-ahead log. So far this node is the only voter.
//!
//! The owner's proposals go to openraft in order and without an answer; what is committed comes back through the
//! forwarder. The leader's id, which no two runs have in common, and a number tell own proposals from others.

mod forwarder;
mod outbox;
mod record;
mod start;
mod storage;
#[cfg(test)]
mod suite;
mod types;

use std::{
    collections::VecDeque,
    future::{pending, poll_fn},
    sync::Arc,
};

use braid_log::Wal;
use braid_types::{CorruptBytes, LogIndex, PartitionId, Term};
use bytes::Bytes;
use openraft::{
    ServerState, alias::WatchReceiverOf, async_runtime::watch::WatchReceiver, metrics::RaftMetrics,
    metrics::RaftServerMetrics,
};
use tokio::{sync::mpsc, task::JoinHandle};

use self::{
    forwarder::{Forwarded, Forwarder, advance},
    outbox::{Call, Outbox},
    start::{Group, Identity},
    storage::{Failure, Storage},
    types::{Entry, Payload, Proposed},
};
use super::{
    Committed, JournalEvent, Proposal,
    standing::{Standing, check_has_snapshot},
};
use crate::{
    Error,
    limits::{ENTRIES_FORWARDED_MAX, PENDING_BYTES_MAX, PENDING_ENTRIES_MAX},
    store::record::{read_snapshot_meta, read_vote, snapshot_meta},
    types::{LeaderId, SnapshotMeta},
};
pub(crate) use types::QuorumTypes;

type Watch<T> = WatchReceiverOf<QuorumTypes, T>;

/// See the file's head.
#[derive(Debug)]
pub(super) struct QuorumJournal {
    wal: Wal,
    identity: Identity,
    /// The highest term that a former run may have led in.
    former_term: u64,
    stage: Stage,
    forwarded: mpsc::Receiver<Forwarded>,
    /// What a snapshot is of that is made now.
    handed_out: SnapshotMeta,
    /// As whom this run leads, once it does.
    leads: Option<LeaderId>,
    /// The owner knows.
    is_announced: bool,
    outbox: Outbox,
    /// Number and size of proposals that were not handed out.
    pending: VecDeque<(u64, usize)>,
    pending_bytes: usize,
    next_number: u64,
}

enum Stage {
    /// What a former run committed may already come.
    Starting(JoinHandle<Result<Arc<Group>, Error>>),
    Running(Arc<Group>, Watch<RaftServerMetrics<QuorumTypes>>),
    /// It ends; why is not known yet.
    Ending(Watch<RaftMetrics<QuorumTypes>>),
    Stopped(Error),
}

/// What the owner's task is woken for.
enum News {
    Forwarded(Forwarded),
    Started(Result<Arc<Group>, Error>),
    /// Nothing more is forwarded.
    Ended,
    /// The role in the group may have changed, or calls have gone.
    Changed,
    Stopped(Error),
}

impl QuorumJournal {
    pub(super) fn open(wal: Wal, partition: PartitionId, node_id: u64) -> Result<Self, Error> {
        let standing = Standing::of(&wal, partition)?;
        let damaged = |error: CorruptBytes| Error::LogDamaged { partition, why: error.to_string() };
        let vote = standing.vote().map(read_vote).transpose().map_err(damaged)?;
        // Before its first vote a group writes its first membership and nothing else.
        if vote.is_none() && (standing.last().is_some_and(|last| last > LogIndex(0)) || standing.snapshot.is_some()) {
            return Err(Error::OtherKind { partition });
        }
        let note = standing.snapshot.as_ref().map(|snapshot| snapshot.note.clone());
        let handed_out = note.map(read_snapshot_meta).transpose().map_err(damaged)?.unwrap_or_default();
        let next = handed_out.last_log_id.map_or(0, |last| last.index + 1);
        standing.check_reaches(LogIndex(0), LogIndex(next))?;
        let identity = Identity { partition, node_id, failure: Failure::default() };
        let storage = Storage::new(wal.clone(), partition, identity.failure.clone());
        let (owner, forwarded) = mpsc::channel(ENTRIES_FORWARDED_MAX);
        let forwarder = Forwarder::new(owner, handed_out.clone());
        let stage = Stage::Starting(tokio::spawn(start::start(identity.clone(), storage, forwarder)));
        Ok(Self {
            wal,
            identity,
            former_term: vote.map_or(0, |vote| vote.leader_id.term),
            stage,
            forwarded,
            handed_out,
            leads: None,
            is_announced: false,
            outbox: Outbox::default(),
            pending: VecDeque::new(),
            pending_bytes: 0,
            next_number: 0,
        })
    }

    pub(super) fn propose(&mut self, proposal: Proposal) -> Result<(), Error> {
        let group = match &self.stage {
            Stage::Running(group, _) if self.is_announced => group,
            Stage::Starting(_) | Stage::Running(..) => return Err(Error::NotLeader { leader: None }),
            Stage::Ending(_) => return Err(Error::ShutDown),
            Stage::Stopped(error) => return Err(error.clone()),
        };
        proposal.check()?;
        let size_bytes = proposal.size_bytes();
        let is_full = self.pending.len() >= PENDING_ENTRIES_MAX || self.pending_bytes + size_bytes > PENDING_BYTES_MAX;
        if is_full && !self.pending.is_empty() {
            return Err(Error::Busy);
        }
        let number = self.next_number;
        self.next_number += 1;
        self.pending.push_back((number, size_bytes));
        self.pending_bytes += size_bytes;
        let Proposal { payload, bodies } = proposal;
        self.outbox.send(Some(group), Call::Propose(Proposed { number, payload, bodies }));
        Ok(())
    }

    pub(super) async fn next(&mut self) -> JournalEvent {
        loop {
            let event = match self.news().await {
                News::Forwarded(Forwarded::Entry(entry)) => self.take(entry),
                News::Forwarded(Forwarded::Snapshot(request)) => Some(JournalEvent::Snapshot(request)),
                News::Started(Ok(group)) => {
                    let metrics = group.server_metrics();
                    self.stage = Stage::Running(group, metrics);
                    self.announce()
                }
                News::Started(Err(error)) | News::Stopped(error) => Some(self.stop(error)),
                News::Ended => {
                    self.end();
                    None
                }
                News::Changed => self.lost_to().map(|leader| self.stop(Error::NotLeader { leader })),
            };
            if let Some(event) = event {
                return event;
            }
        }
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn snapshot_note(&self) -> Bytes {
        snapshot_meta(&self.handed_out)
    }

    pub(super) fn begin_snapshot(&mut self) {
        if let Stage::Starting(_) | Stage::Running(..) = &self.stage {
            let group = if let Stage::Running(group, _) = &self.stage { Some(group) } else { None };
            self.outbox.send(group, Call::Snapshot);
        }
    }

    /// openraft purges by itself when it learns that there is a snapshot, which is when the owner has answered its
    /// request; that is as far as it goes.
    pub(super) fn purge(&mut self, index: LogIndex) -> Result<(), Error> {
        if let Stage::Stopped(error) = &self.stage {
            return Err(error.clone());
        }
        check_has_snapshot(&self.wal, self.identity.partition, index)
    }

    pub(super) async fn close(mut self) {
        self.forwarded.close();
        self.outbox = Outbox::default();
        let group = match std::mem::replace(&mut self.stage, Stage::Stopped(Error::ShutDown)) {
            Stage::Starting(starting) => starting.await.ok().and_then(Result::ok),
            Stage::Running(group, _) => Some(group),
            Stage::Ending(_) | Stage::Stopped(_) => None,
        };
        if let Some(group) = group {
            // Why it ended is of no interest any more.
            drop(group.shutdown().await);
        }
    }

    /// Waits for something to happen. Cancel safe: nothing is taken that is not returned.
    async fn news(&mut self) -> News {
        let Self { stage, forwarded, outbox, identity, .. } = self;
        match stage {
            Stage::Starting(starting) => tokio::select! {
                biased;
                Some(forwarded) = forwarded.recv() => News::Forwarded(forwarded),
                started = starting => News::Started(started.unwrap_or_else(|error| Err(identity.reason(&error)))),
            },
            Stage::Running(group, metrics) => tokio::select! {
                biased;
                forwarded = forwarded.recv() => forwarded.map_or(News::Ended, News::Forwarded),
                () = poll_fn(|context| outbox.poll_flush(group, context)), if !outbox.is_empty() => News::Changed,
                // It fails when the group has ended, which the other side of the channel says too.
                Ok(()) = metrics.changed() => News::Changed,
            },
            Stage::Ending(metrics) => loop {
                let state = metrics.borrow_watched().running_state.clone();
                if let Err(fatal) = state {
                    return News::Stopped(identity.reason(&fatal));
                }
                if metrics.changed().await.is_err() {
                    return News::Stopped(identity.reason(&"its Raft group ended"));
                }
            },
            Stage::Stopped(_) => pending().await,
        }
    }

    fn take(&mut self, entry: Entry) -> Option<JournalEvent> {
        let leader_id = entry.log_id.leader_id;
        let (index, term) = (LogIndex(entry.log_id.index), Term(leader_id.term));
        advance(&mut self.handed_out, entry.log_id, &entry.payload);
        match entry.payload {
            Payload::Blank => {
                // A leader's first entry: when it is committed, all before it is.
                let is_first = self.leads.is_none()
                    && leader_id.node_id == self.identity.node_id
                    && leader_id.term > self.former_term;
                if !is_first {
                    return None;
                }
                self.leads = Some(leader_id);
                self.announce()
            }
            Payload::Membership(_) => None,
            Payload::Normal(proposed) if self.leads != Some(leader_id) => {
                Some(JournalEvent::Committed { index, term, entry: Committed::Other(proposed.payload) })
            }
            Payload::Normal(proposed) => match self.pending.pop_front() {
                Some((number, size_bytes)) if number == proposed.number => {
                    self.pending_bytes -= size_bytes;
                    Some(JournalEvent::Committed { index, term, entry: Committed::Own })
                }
                _ => Some(self.stop(Error::Failed("a proposal was lost on its way to the log".to_owned()))),
            },
        }
    }

    /// Says that this run leads, once it does and can be proposed to.
    fn announce(&mut self) -> Option<JournalEvent> {
        let leader_id = self.leads.filter(|_| !self.is_announced && matches!(self.stage, Stage::Running(..)))?;
        self.is_announced = true;
        Some(JournalEvent::Leads { term: Term(leader_id.term) })
    }

    /// Who leads instead of this node, or that nobody does.
    fn lost_to(&self) -> Option<Option<u64>> {
        let (Stage::Running(_, metrics), Some(led)) = (&self.stage, self.leads) else { return None };
        let metrics = metrics.borrow_watched();
        let term = metrics.vote.leader_id.term;
        let is_lost = term > led.term || (term == led.term && metrics.state != ServerState::Leader);
        is_lost.then_some(metrics.current_leader.filter(|leader| *leader != self.identity.node_id))
    }

    fn end(&mut self) {
        if let Stage::Running(group, _) = &self.stage {
            let (metrics, group) = (group.metrics(), Arc::clone(group));
            self.stage = Stage::Ending(metrics);
            // Something of it may still run, if it was not the group itself that failed.
            tokio::spawn(async move { drop(group.shutdown().await) });
        }
    }

    fn stop(&mut self, error: Error) -> JournalEvent {
        self.end();
        self.outbox = Outbox::default();
        self.stage = Stage::Stopped(error.clone());
        JournalEvent::Stopped(error)
    }
}

impl Drop for QuorumJournal {
    /// A group that runs ends by itself when nobody has a handle on it.
    fn drop(&mut self) {
        if let Stage::Starting(starting) = &self.stage {
            starting.abort();
        }
    }
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Starting(_) => f.write_str("Starting"),
            Self::Running(..) => f.write_str("Running"),
            Self::Ending(_) => f.write_str("Ending"),
            Self::Stopped(error) => write!(f, "Stopped({error})"),
        }
    }
}
