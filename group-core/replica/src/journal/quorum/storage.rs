//! openraft's log, vote and committed mark in the write-ahead log.
//!
//! Entries are read without their bodies: so far there are no peers to send them to, and who applies an entry reads its
//! bodies by name. What Raft has taken cannot be refused any more: while too much waits for the disk, or it is full, an
//! append waits for its turn.

use std::{
    fmt::Debug,
    io,
    ops::{Bound, Range, RangeBounds},
    sync::Arc,
    time::Duration,
};

use braid_log::{Append, Callback, Content, PurgeMark, Wal};
use braid_types::{CorruptBytes, LogIndex, PartitionId, Term};
use futures_util::{Stream, TryStreamExt, stream};
use openraft::{
    LogState, OptionalSend, RaftLogReader,
    entry::RaftEntry,
    storage::{IOFlushed, RaftLogStorage},
};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::{
    record,
    types::{Entry, Payload, QuorumTypes},
};
use crate::{
    limits::{FULL_LOG_PAUSE_MS, READ_BYTES_MAX},
    store::record::{optional_log_id, read_optional_log_id, read_vote, vote},
    types::{LogId, Vote},
};

/// See the file's head.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    wal: Wal,
    partition: PartitionId,
    failure: Failure,
}

/// The first thing that went wrong in the log, for the owner: openraft makes a text of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Failure(Arc<Mutex<Option<braid_log::Error>>>);

impl Failure {
    fn note(&self, error: braid_log::Error) -> io::Error {
        self.0.lock().get_or_insert_with(|| error.clone());
        io::Error::other(error)
    }

    pub(super) fn get(&self) -> Option<braid_log::Error> {
        self.0.lock().clone()
    }
}

impl Storage {
    pub(super) fn new(wal: Wal, partition: PartitionId, failure: Failure) -> Self {
        Self { wal, partition, failure }
    }

    fn failed(&self, error: braid_log::Error) -> io::Error {
        self.failure.note(error)
    }

    fn status(&self) -> io::Result<braid_log::PartitionStatus> {
        let status = self.wal.status(self.partition).map_err(|error| self.failed(error))?;
        Ok(status.unwrap_or_default())
    }

    /// Submits something as soon as the log takes it.
    async fn submit(&self, mut submit: impl FnMut() -> Result<(), braid_log::Error>) -> io::Result<()> {
        loop {
            match submit() {
                Err(braid_log::Error::Busy | braid_log::Error::DiskFull) => {}
                submitted => return submitted.map_err(|error| self.failed(error)),
            }
            tokio::time::sleep(Duration::from_millis(FULL_LOG_PAUSE_MS)).await;
        }
    }

    /// Entries from the first of `range` on, until they have `max_bytes`; at least one, if it is there.
    async fn read(&self, range: Range<u64>, max_bytes: usize) -> io::Result<Vec<Entry>> {
        let (partition, range) = (self.partition, LogIndex(range.start)..LogIndex(range.end));
        let recent = self.wal.recent_entries(partition, range.clone(), max_bytes, Content::Heads);
        let entries = match recent.map_err(|error| self.failed(error))? {
            Some(entries) => entries,
            None => {
                let wal = self.wal.clone();
                let read = move || wal.entries(partition, range, max_bytes, Content::Heads);
                let read = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?;
                read.map_err(|error| self.failed(error))?
            }
        };
        entries.into_iter().map(|entry| record::read_entry(entry).map_err(corrupt)).collect()
    }

    async fn append_one(&self, entry: Entry, flushed: Option<IOFlushed<QuorumTypes>>) -> io::Result<()> {
        let LogId { leader_id, index } = entry.log_id;
        let payload = record::payload(&entry);
        let bodies = if let Payload::Normal(proposed) = entry.payload { proposed.bodies } else { Vec::new() };
        // The log keeps nothing of what it refuses, so this stays here for the next try.
        let flushed = flushed.map(|flushed| Arc::new(Mutex::new(Some(flushed))));
        self.submit(|| {
            let done = flushed.clone().map(|flushed| -> Callback {
                let failure = self.failure.clone();
                Box::new(move |result| {
                    if let Some(flushed) = flushed.lock().take() {
                        flushed.io_completed(result.map_err(|error| failure.note(error)));
                    }
                })
            });
            self.wal.append(Append {
                partition: self.partition,
                term: Term(leader_id.term),
                index: LogIndex(index),
                payload: payload.clone(),
                bodies: bodies.clone(),
                is_promised: true,
                done,
            })
        })
        .await
    }
}

impl RaftLogReader<QuorumTypes> for Storage {
    /// In pieces, so that a long log is never in memory as a whole.
    async fn entries_stream<RB>(&mut self, range: RB) -> impl Stream<Item = io::Result<Entry>> + OptionalSend
    where
        RB: RangeBounds<u64> + Clone + Debug + OptionalSend,
    {
        let storage = self.clone();
        let pieces = stream::try_unfold(bounds(&range), move |range| {
            let storage = storage.clone();
            async move {
                if range.is_empty() {
                    return io::Result::Ok(None);
                }
                let piece = storage.read(range.clone(), READ_BYTES_MAX).await?;
                let next = piece.last().map(|last| last.log_id.index + 1..range.end);
                Ok(next.map(|next| (stream::iter(piece.into_iter().map(Ok)), next)))
            }
        });
        Box::pin(pieces.try_flatten())
    }

    async fn try_get_log_entries<RB>(&mut self, range: RB) -> io::Result<Vec<Entry>>
    where
        RB: RangeBounds<u64> + Clone + Debug + OptionalSend,
    {
        self.read(bounds(&range), usize::MAX).await
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> io::Result<Vec<Entry>> {
        self.read(start..end, READ_BYTES_MAX).await
    }

    async fn read_vote(&mut self) -> io::Result<Option<Vote>> {
        self.status()?.vote.map(read_vote).transpose().map_err(corrupt)
    }
}

impl RaftLogStorage<QuorumTypes> for Storage {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> io::Result<LogState<QuorumTypes>> {
        let status = self.status()?;
        let purged = status.purged.map(|mark| read_optional_log_id(mark.note)).transpose().map_err(corrupt)?.flatten();
        let last = match status.last {
            Some(last) if status.entries > 0 => self.read(last.0..last.0 + 1, 0).await?.pop(),
            _ => None,
        };
        let last_log_id = last.map(|entry| entry.log_id()).or(purged);
        Ok(LogState { last_purged_log_id: purged, last_log_id })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, new: &Vote) -> io::Result<()> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        self.submit(|| {
            let sender = sender.clone();
            let done: Callback = Box::new(move |result| drop(sender.send(result)));
            self.wal.save_vote(self.partition, vote(new), Some(done))
        })
        .await?;
        drop(sender);
        let saved = receiver.recv().await.unwrap_or(Err(braid_log::Error::ShutDown));
        saved.map_err(|error| self.failed(error))
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> io::Result<()> {
        let saved = self.wal.save_committed(self.partition, optional_log_id(committed));
        saved.map_err(|error| self.failed(error))
    }

    async fn read_committed(&mut self) -> io::Result<Option<LogId>> {
        let committed = self.status()?.committed.map(read_optional_log_id).transpose().map_err(corrupt)?;
        Ok(committed.flatten())
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<QuorumTypes>) -> io::Result<()>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut entries = entries.into_iter().peekable();
        let mut callback = Some(callback);
        while let Some(entry) = entries.next() {
            // The last one is on disk when all are.
            let flushed = if entries.peek().is_none() { callback.take() } else { None };
            self.append_one(entry, flushed).await?;
        }
        if let Some(callback) = callback {
            callback.io_completed(Ok(()));
        }
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogId>) -> io::Result<()> {
        let from = LogIndex(last.map_or(0, |last| last.index + 1));
        self.submit(|| self.wal.truncate_suffix(self.partition, from, None)).await
    }

    async fn purge(&mut self, upto: LogId) -> io::Result<()> {
        let (index, term) = (LogIndex(upto.index), Term(upto.leader_id.term));
        let mark = PurgeMark { index, term, note: optional_log_id(Some(upto)) };
        match self.wal.purge(self.partition, mark, None) {
            // The next purge makes up for it.
            Err(braid_log::Error::Busy | braid_log::Error::DiskFull) => Ok(()),
            purged => purged.map_err(|error| self.failed(error)),
        }
    }
}

fn bounds(range: &impl RangeBounds<u64>) -> Range<u64> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => u64::MAX,
    };
    start..end
}

fn corrupt(error: CorruptBytes) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
