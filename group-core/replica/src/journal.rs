//! [`Journal`]: the log of one partition, as the task that owns the partition uses it. Two kinds with one face: disk (one
//! replica, straight on the node's write-ahead log) and quorum (a Raft group on the same log, so far with one voter).
//!
//! What differs is who must have an entry before it counts, never what the owner sees: proposals in, committed entries out
//! in the order of the log, each once. A journal applies nothing and keeps no state of the owner; bodies go to the log
//! with their entry and are read there, by name.
//!
//! Invariants:
//! 1. an entry is handed out only when it is on disk, on a quorum of disks for the second kind;
//! 2. what former runs committed comes before [`JournalEvent::Leads`], what this run proposed after it, in the order in
//!    which it was proposed;
//! 3. the term of a run is higher than any in the log before it, so that it fences whatever a former run still says;
//! 4. after [`JournalEvent::Stopped`] nothing is handed out and nothing is taken.
//!
//! Indexes are those of the log: contiguous for a disk journal, ascending for a quorum one, which has entries of its own.

mod disk;
mod event;
mod proposal;
mod quorum;
mod standing;

use std::future::poll_fn;

use braid_log::Wal;
use braid_types::{LogIndex, PartitionId, Term};
use bytes::Bytes;
use futures_util::FutureExt;

pub use event::{Committed, JournalEvent, SnapshotRequest};
pub use proposal::Proposal;

use self::{disk::DiskJournal, quorum::QuorumJournal};
use crate::Error;

/// See the file's head.
#[derive(Debug)]
pub struct Journal {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Disk(DiskJournal),
    Quorum(Box<QuorumJournal>),
}

impl Journal {
    /// Opens the log of a partition that has one replica. What a durable snapshot of it holds is not handed out: the
    /// owner restores that first.
    ///
    /// # Errors
    /// The log does not run, or the partition is damaged or not of this kind.
    pub fn open_disk(wal: Wal, partition: PartitionId) -> Result<Self, Error> {
        Ok(Self { kind: Kind::Disk(DiskJournal::open(wal, partition)?) })
    }

    /// Opens the log of a partition that is a Raft group, whose only voter this node is. What a durable snapshot of it
    /// holds is not handed out: the owner restores that first.
    ///
    /// # Errors
    /// The log does not run, or the partition is damaged or not of this kind.
    pub async fn open_quorum(wal: Wal, partition: PartitionId, node_id: u64) -> Result<Self, Error> {
        Ok(Self { kind: Kind::Quorum(Box::new(QuorumJournal::open(wal, partition, node_id)?)) })
    }

    /// Proposes an entry; never waits. Gives the index that it will have where that is known before it is committed (a
    /// disk journal). It comes back as [`Committed::Own`].
    ///
    /// # Errors
    /// It is too large; this node does not lead (before [`JournalEvent::Leads`] too); too much waits or the disk is full
    /// (try again later); or the journal has stopped. Then it was not proposed.
    pub fn propose(&mut self, mut proposal: Proposal) -> Result<Option<LogIndex>, Error> {
        self.offer(&mut proposal)
    }

    /// The same; one that is refused is left as it was, to be offered again.
    ///
    /// # Errors
    /// As [`Journal::propose`].
    pub fn offer(&mut self, proposal: &mut Proposal) -> Result<Option<LogIndex>, Error> {
        match &mut self.kind {
            Kind::Disk(journal) => journal.offer(proposal).map(Some),
            Kind::Quorum(journal) => journal.offer(proposal).map(|()| None),
        }
    }

    /// The next event. Cancel safe: what is not returned is not lost. After [`JournalEvent::Stopped`] it waits for ever.
    pub async fn next(&mut self) -> JournalEvent {
        match &mut self.kind {
            Kind::Disk(journal) => poll_fn(|context| journal.poll_next(context)).await,
            Kind::Quorum(journal) => journal.next().await,
        }
    }

    /// The next event, if there is one now.
    pub fn try_next(&mut self) -> Option<JournalEvent> {
        self.next().now_or_never()
    }

    /// Proposals that were not handed out yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        match &self.kind {
            Kind::Disk(journal) => journal.pending(),
            Kind::Quorum(journal) => journal.pending(),
        }
    }

    /// What the next snapshot of the owner must have as its note, if it is of the state after exactly the entries that
    /// were handed out so far.
    #[must_use]
    pub fn snapshot_note(&self) -> Bytes {
        match &self.kind {
            Kind::Disk(_) => Bytes::new(),
            Kind::Quorum(journal) => journal.snapshot_note(),
        }
    }

    /// Asks for a snapshot. `true`: the owner makes one itself, at once or whenever it likes (a disk journal). `false`:
    /// it comes as [`JournalEvent::Snapshot`], unless a request before is not answered yet.
    pub fn begin_snapshot(&mut self) -> bool {
        match &mut self.kind {
            Kind::Disk(_) => true,
            Kind::Quorum(journal) => {
                journal.begin_snapshot();
                false
            }
        }
    }

    /// A snapshot of the state after the entry `index` of `term` is durable: the log up to there may go.
    ///
    /// # Errors
    /// There is no such snapshot, the disk is full, or the journal has stopped.
    pub fn purge(&mut self, index: LogIndex, term: Term) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Disk(journal) => journal.purge(index, term),
            Kind::Quorum(journal) => journal.purge(index),
        }
    }

    /// Ends it, and waits until nothing of it is on its way any more. A partition has one journal at a time, so this comes
    /// before it is opened again in the same process. Proposals that were not handed out may or may not be committed.
    /// Dropping a journal ends it too, without the wait.
    pub async fn close(self) {
        match self.kind {
            Kind::Disk(journal) => journal.close().await,
            Kind::Quorum(journal) => journal.close().await,
        }
    }
}
