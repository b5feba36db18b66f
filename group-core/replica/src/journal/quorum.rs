//! A journal that is a Raft group on the write-ahead log. So far this node is the only voter.
//!
//! The owner's proposals go to openraft in order and without an answer; what is committed comes back through the
//! forwarder. The leader's id, which no two runs have in common, and a number tell own proposals from others.

mod forwarder;
mod in_flight;
mod outbox;
mod record;
mod snapshots;
mod start;
mod storage;
#[cfg(test)]
mod suite;
mod types;

use std::{
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
use parking_lot::Mutex;
use tokio::{sync::mpsc, task::JoinHandle};

use self::{
    forwarder::{Forwarder, advance},
    in_flight::InFlight,
    outbox::{Call, Outbox},
    snapshots::{Made, Snapshots},
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
    limits::ENTRIES_FORWARDED_MAX,
    store::record::{read_snapshot_meta, read_vote, snapshot_meta},
    types::{LeaderId, SnapshotMeta},
};
pub(crate) use types::QuorumTypes;

type Watch<T> = WatchReceiverOf<QuorumTypes, T>;

/// See the file's head.
pub(super) struct QuorumJournal {
    wal: Wal,
    identity: Identity,
    /// The highest term that a former run may have led in.
    former_term: u64,
    stage: Stage,
    forwarded: mpsc::Receiver<Entry>,
    /// What a snapshot is of that is made now.
    handed_out: SnapshotMeta,
    /// As whom this run leads, once it does.
    leads: Option<LeaderId>,
    /// The owner knows.
    is_announced: bool,
    snapshots: Snapshots,
    outbox: Outbox,
    in_flight: InFlight,
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
    Committed(Entry),
    Started(Result<Arc<Group>, Error>),
    /// Nothing more is forwarded.
    Ended,
    /// The owner has answered the request for a snapshot.
    Snapshot(Made),
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
        let snapshot = Arc::new(Mutex::new(handed_out.clone()));
        let forwarder = Forwarder::new(owner, Arc::clone(&snapshot));
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
            snapshots: Snapshots::new(snapshot),
            outbox: Outbox::default(),
            in_flight: InFlight::default(),
        })
    }

    pub(super) fn offer(&mut self, proposal: &mut Proposal) -> Result<(), Error> {
        let group = match &self.stage {
            Stage::Running(group, _) if self.is_announced => group,
            Stage::Starting(_) | Stage::Running(..) => return Err(Error::NotLeader { leader: None }),
            Stage::Ending(_) => return Err(Error::ShutDown),
            Stage::Stopped(error) => return Err(error.clone()),
        };
        proposal.check()?;
        let number = self.in_flight.add(proposal.size_bytes())?;
        let Proposal { payload, bodies } = std::mem::take(proposal);
        self.outbox.send(Some(group), Call::Propose(Proposed { number, payload, bodies }));
        Ok(())
    }

    pub(super) async fn next(&mut self) -> JournalEvent {
        loop {
            if matches!(self.stage, Stage::Running(..))
                && let Some(request) = self.snapshots.request(&self.handed_out)
            {
                return JournalEvent::Snapshot(request);
            }
            let event = match self.news().await {
                News::Committed(entry) => self.take(entry),
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
                News::Snapshot(made) => {
                    self.end_snapshot(&made);
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
        self.in_flight.len()
    }

    pub(super) fn snapshot_note(&self) -> Bytes {
        snapshot_meta(&self.handed_out)
    }

    pub(super) fn begin_snapshot(&mut self) {
        self.collect_answer();
        self.snapshots.want();
    }

    /// openraft purges by itself when it learns that there is a snapshot, which is when the owner has answered the
    /// request; that is as far as it goes.
    pub(super) fn purge(&mut self, index: LogIndex) -> Result<(), Error> {
        if let Stage::Stopped(error) = &self.stage {
            return Err(error.clone());
        }
        self.collect_answer();
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
        let Self { stage, forwarded, outbox, identity, snapshots, .. } = self;
        match stage {
            Stage::Starting(starting) => tokio::select! {
                biased;
                Some(entry) = forwarded.recv() => News::Committed(entry),
                started = starting => News::Started(started.unwrap_or_else(|error| Err(identity.reason(&error)))),
            },
            Stage::Running(group, metrics) => tokio::select! {
                biased;
                entry = forwarded.recv() => entry.map_or(News::Ended, News::Committed),
                () = poll_fn(|context| outbox.poll_flush(group, context)), if !outbox.is_empty() => News::Changed,
                made = snapshots.answer() => News::Snapshot(made),
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
            Payload::Normal(proposed) if self.in_flight.end(proposed.number) => {
                Some(JournalEvent::Committed { index, term, entry: Committed::Own })
            }
            Payload::Normal(_) => {
                Some(self.stop(Error::Failed("a proposal was lost on its way to the log".to_owned())))
            }
        }
    }

    fn collect_answer(&mut self) {
        if let Some(made) = self.snapshots.try_answer() {
            self.end_snapshot(&made);
        }
    }

    /// Tells the group of the snapshot, if it was made; otherwise the one before still counts.
    fn end_snapshot(&mut self, made: &Made) {
        match made {
            Ok(()) => {
                let group = if let Stage::Running(group, _) = &self.stage { Some(group) } else { None };
                self.outbox.send(group, Call::Snapshot);
            }
            Err(error) => tracing::warn!(partition = self.identity.partition.0, %error, "a snapshot was not made"),
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

impl std::fmt::Debug for QuorumJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuorumJournal")
            .field("partition", &self.identity.partition)
            .field("stage", &self.stage)
            .field("leads", &self.leads)
            .field("in_flight", &self.in_flight.len())
            .field("outbox", &self.outbox)
            .finish_non_exhaustive()
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

#[cfg(test)]
mod tests {
    use braid_log::{Options, disk::SimulatedDisk};
    use openraft::{raft::AppendEntriesRequest, vote::RaftLeaderId};

    use super::*;
    use crate::types::Vote;

    /// Another leader: there is none so far, but a group that has one must not go on as if it led.
    #[tokio::test]
    async fn a_group_that_another_leads_stops_its_journal() {
        let opened = Wal::open(Options::new(1, 2), Arc::new(SimulatedDisk::new())).unwrap();
        let _threads = (opened.writer.spawn().unwrap(), opened.maintenance.spawn().unwrap());
        let mut journal = QuorumJournal::open(opened.wal, PartitionId(1), 3).unwrap();
        let event = journal.next().await;
        assert!(matches!(event, JournalEvent::Leads { term: Term(1) }), "{event:?}");
        let Stage::Running(group, _) = &journal.stage else { panic!("it runs") };
        let group = Arc::clone(group);
        let vote = Vote { leader_id: LeaderId::new(7, 9), committed: true };
        let (prev_log_id, leader_commit) = (journal.handed_out.last_log_id, journal.handed_out.last_log_id);
        let request = AppendEntriesRequest { vote, prev_log_id, entries: Vec::new(), leader_commit };
        group.append_entries(request).await.unwrap();
        let event = journal.next().await;
        assert!(matches!(event, JournalEvent::Stopped(Error::NotLeader { leader: Some(9) })), "{event:?}");
        let refused = journal.offer(&mut Proposal::default());
        assert_eq!(refused, Err(Error::NotLeader { leader: Some(9) }));
    }
}
