//! A journal with one replica: straight on the write-ahead log. All that the log holds is committed.
//!
//! This is the path of every message of a disk queue. Per entry there is an append and, on the writer's thread, one store
//! and one wake-up.

mod replay;

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use braid_log::{Append, PurgeMark, Wal};
use braid_types::{LogIndex, PartitionId, Term};
use bytes::Bytes;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use self::replay::Replay;
use super::{
    Committed, JournalEvent, Proposal,
    standing::{Standing, check_has_snapshot},
};
use crate::Error;

/// See the file's head.
pub(super) struct DiskJournal {
    wal: Wal,
    partition: PartitionId,
    term: Term,
    /// The last entry that was handed out.
    handed_out: LogIndex,
    /// The last entry that was proposed.
    last: LogIndex,
    progress: Arc<Progress>,
    phase: Phase,
}

/// What the writer's thread says.
#[derive(Debug, Default)]
struct Progress {
    /// The last entry that is known to be on disk.
    durable: AtomicU64,
    failure: Mutex<Option<braid_log::Error>>,
    owner: AtomicWaker,
}

enum Phase {
    /// What former runs left is handed out.
    Replays(Replay),
    Leads,
    Stopped(Error),
}

impl Progress {
    /// Runs on the writer's thread, once per entry. Entries come in order.
    fn note(&self, index: LogIndex, result: Result<(), braid_log::Error>) {
        match result {
            Ok(()) => self.durable.store(index.0, Ordering::Release),
            Err(error) => self.fail(error),
        }
        self.owner.wake();
    }

    fn fail(&self, error: braid_log::Error) {
        self.failure.lock().get_or_insert(error);
    }
}

impl DiskJournal {
    pub(super) fn open(wal: Wal, partition: PartitionId) -> Result<Self, Error> {
        let standing = Standing::of(&wal, partition)?;
        if standing.vote().is_some() {
            return Err(Error::OtherKind { partition });
        }
        let handed_out = standing.snapshot.as_ref().map_or(LogIndex(0), |snapshot| snapshot.last);
        standing.check_reaches(LogIndex(1), LogIndex(handed_out.0 + 1))?;
        let last = standing.last().unwrap_or_default();
        let progress = Arc::new(Progress { durable: AtomicU64::new(last.0), ..Progress::default() });
        let replay = Replay::new(wal.clone(), partition, handed_out, last);
        let (term, phase) = (Term(standing.term().0 + 1), Phase::Replays(replay));
        Ok(Self { wal, partition, term, handed_out, last, progress, phase })
    }

    pub(super) fn offer(&mut self, proposal: &mut Proposal) -> Result<LogIndex, Error> {
        match &self.phase {
            Phase::Replays(_) => return Err(Error::NotLeader { leader: None }),
            Phase::Leads => {}
            Phase::Stopped(error) => return Err(error.clone()),
        }
        proposal.check()?;
        let index = LogIndex(self.last.0 + 1);
        let progress = Arc::clone(&self.progress);
        let Proposal { payload, bodies } = std::mem::take(proposal);
        let mut append = Append {
            partition: self.partition,
            term: self.term,
            index,
            payload,
            bodies,
            // The owner has looked for room before it took the messages on.
            is_promised: true,
            done: Some(Box::new(move |result| progress.note(index, result))),
        };
        match self.wal.offer(&mut append) {
            Ok(()) => {
                self.last = index;
                Ok(index)
            }
            Err(error) => {
                *proposal = Proposal { payload: append.payload, bodies: append.bodies };
                let told = Error::of_log(self.partition, &error);
                if told.stops_a_journal() {
                    self.progress.fail(error);
                    self.progress.owner.wake();
                }
                Err(told)
            }
        }
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<JournalEvent> {
        match &mut self.phase {
            Phase::Replays(replay) => match replay.poll_next(context) {
                Poll::Ready(Ok(Some(entry))) => {
                    self.handed_out = entry.index;
                    let (index, term, entry) = (entry.index, entry.term, Committed::Other(entry.payload));
                    Poll::Ready(JournalEvent::Committed { index, term, entry })
                }
                Poll::Ready(Ok(None)) => {
                    self.phase = Phase::Leads;
                    Poll::Ready(JournalEvent::Leads { term: self.term })
                }
                Poll::Ready(Err(error)) => Poll::Ready(self.stop(&error)),
                Poll::Pending => Poll::Pending,
            },
            Phase::Leads => {
                if let Some(event) = self.next_own() {
                    return Poll::Ready(event);
                }
                self.progress.owner.register(context.waker());
                // What came before the owner could be woken.
                self.next_own().map_or(Poll::Pending, Poll::Ready)
            }
            Phase::Stopped(_) => Poll::Pending,
        }
    }

    pub(super) fn pending(&self) -> usize {
        match self.phase {
            // What is still to be handed out then is of former runs.
            Phase::Replays(_) => 0,
            Phase::Leads | Phase::Stopped(_) => usize::try_from(self.last.0 - self.handed_out.0).unwrap_or(usize::MAX),
        }
    }

    /// Waits until what was proposed is on disk, or never will be.
    pub(super) async fn close(mut self) {
        if !matches!(self.phase, Phase::Replays(_)) {
            while self.pending() > 0 && !matches!(self.phase, Phase::Stopped(_)) {
                poll_fn(|context| self.poll_next(context)).await;
            }
        }
    }

    pub(super) fn purge(&mut self, index: LogIndex, term: Term) -> Result<(), Error> {
        if let Phase::Stopped(error) = &self.phase {
            return Err(error.clone());
        }
        check_has_snapshot(&self.wal, self.partition, index)?;
        let purged = self.wal.purge(self.partition, PurgeMark { index, term, note: Bytes::new() }, None);
        purged.map_err(|error| Error::of_log(self.partition, &error))
    }

    /// The next proposal that is on disk.
    fn next_own(&mut self) -> Option<JournalEvent> {
        if self.handed_out.0 < self.progress.durable.load(Ordering::Acquire) {
            self.handed_out.0 += 1;
            let (index, term) = (self.handed_out, self.term);
            return Some(JournalEvent::Committed { index, term, entry: Committed::Own });
        }
        let failure = self.progress.failure.lock().take()?;
        Some(self.stop(&failure))
    }

    fn stop(&mut self, error: &braid_log::Error) -> JournalEvent {
        let error = Error::of_log(self.partition, error);
        self.phase = Phase::Stopped(error.clone());
        JournalEvent::Stopped(error)
    }
}

impl std::fmt::Debug for DiskJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskJournal")
            .field("partition", &self.partition)
            .field("term", &self.term)
            .field("handed_out", &self.handed_out)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}
