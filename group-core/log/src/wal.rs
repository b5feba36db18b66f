//! The handle on the log. Cheap to clone; all calls may come from any thread. What is submitted for one partition must
//! come from one thread at a time, or its order is nobody's.

mod bodies;
mod forget;
mod open;
mod read;

use std::sync::Arc;

use braid_types::{LogIndex, PartitionId, Term};
use bytes::Bytes;

pub use forget::Pin;
pub use open::Opened;
pub use read::{Content, Entry};

use crate::{
    Append, Callback, Error, PurgeMark, Statistics,
    engine::submit::{Change, check_note},
    format::Record,
    inner::Inner,
};

/// Whether there is room on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// There is.
    Ample,
    /// There is not: bodies that nobody relies on yet are refused. Hold publishers back.
    BodiesRefused,
}

/// What is known of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionStatus {
    /// The first entry that is not purged.
    pub first: Option<LogIndex>,
    /// The last entry; the purged one if there is none after it.
    pub last: Option<LogIndex>,
    /// Its term.
    pub last_term: Option<Term>,
    /// How far the log is purged.
    pub purged: Option<PurgeMark>,
    /// The last vote that was saved.
    pub vote: Option<Bytes>,
    /// The last committed mark that was saved.
    pub committed: Option<Bytes>,
    /// The last entry of the durable snapshot.
    pub snapshot: Option<LogIndex>,
    /// Bodies that are not forgotten.
    pub live_bodies: usize,
    /// Bytes of bodies that the next snapshot would give up.
    pub forgotten_bytes: u64,
    /// Entries that are not purged.
    pub entries: usize,
}

/// See the file's head.
#[derive(Clone, Debug)]
pub struct Wal {
    inner: Arc<Inner>,
}

impl Wal {
    /// Appends an entry. It can be read at once; it is on disk when `append.done` is called.
    ///
    /// # Errors
    /// It does not follow the last entry, is too large, there is no room for it, or the partition or the log is out of
    /// service. Then nothing happened, and `append.done` is not called.
    pub fn append(&self, mut append: Append) -> Result<(), Error> {
        self.offer(&mut append)
    }

    /// The same; one that is refused is left as it was, to be offered again.
    ///
    /// # Errors
    /// As [`Wal::append`].
    pub fn offer(&self, append: &mut Append) -> Result<(), Error> {
        let record = Record::new(&append.payload, &append.bodies, self.inner.options.record_bytes_max())?;
        let mut engine = self.inner.lock();
        engine.append(append, record)?;
        self.inner.wake_writer(engine);
        Ok(())
    }

    /// Drops the entries from `from` on.
    ///
    /// # Errors
    /// The partition or the log is out of service, or there is no room.
    pub fn truncate_suffix(&self, partition: PartitionId, from: LogIndex, done: Option<Callback>) -> Result<(), Error> {
        self.change(partition, Change::Truncate(from), done)
    }

    /// Moves the purged mark: entries up to it are not read any more. Their bodies stay until they are forgotten, and
    /// their segments until nothing in them is needed. Beyond the last entry: the log goes on behind the mark.
    ///
    /// # Errors
    /// The partition or the log is out of service, or there is no room.
    pub fn purge(&self, partition: PartitionId, upto: PurgeMark, done: Option<Callback>) -> Result<(), Error> {
        check_note(&upto.note)?;
        self.change(partition, Change::Purge(upto), done)
    }

    /// Saves a vote.
    ///
    /// # Errors
    /// The partition or the log is out of service, or there is no room.
    pub fn save_vote(&self, partition: PartitionId, vote: Bytes, done: Option<Callback>) -> Result<(), Error> {
        check_note(&vote)?;
        self.change(partition, Change::Vote(vote), done)
    }

    /// Saves how far the log is committed. It goes to disk with the next batch that is written anyway, or when the log
    /// is closed: it may be behind, it is never ahead.
    ///
    /// # Errors
    /// The partition or the log is out of service, or the note is too large.
    pub fn save_committed(&self, partition: PartitionId, committed: Bytes) -> Result<(), Error> {
        check_note(&committed)?;
        let mut engine = self.inner.lock();
        engine.check()?;
        engine.partition(partition)?;
        let found = engine.partitions.entry(partition).or_default();
        if !found.is_removed {
            found.committed = Some(committed);
            engine.dirty.insert(partition);
        }
        Ok(())
    }

    /// Removes a partition with all that is stored of it, damaged or not. It may begin anew afterwards.
    ///
    /// # Errors
    /// The log is out of service, or there is no room.
    pub fn remove(&self, partition: PartitionId, done: Option<Callback>) -> Result<(), Error> {
        self.change(partition, Change::Remove, done)
    }

    /// What is known of a partition; `None`: there is no such partition.
    ///
    /// # Errors
    /// It is out of service.
    pub fn status(&self, partition: PartitionId) -> Result<Option<PartitionStatus>, Error> {
        let engine = self.inner.lock();
        Ok(engine.partition(partition)?.map(|found| PartitionStatus {
            first: found.entries.first(),
            last: found.last(),
            last_term: found.last_term(),
            purged: found.purged.clone(),
            vote: found.vote.clone(),
            committed: found.committed.clone(),
            snapshot: found.snapshot.as_ref().map(|snapshot| snapshot.meta.last),
            live_bodies: found.bodies.len(),
            forgotten_bytes: found.forgotten_bytes(),
            entries: found.entries.len(),
        }))
    }

    /// Whether there is room on the disk. Cheap; to be asked before anything with a body is proposed.
    #[must_use]
    pub fn space(&self) -> Space {
        if self.inner.lock().pool.is_full { Space::BodiesRefused } else { Space::Ample }
    }

    /// Partitions whose entries alone keep a segment of which less than half is needed: a snapshot and a purge of them
    /// would free it.
    #[must_use]
    pub fn purge_wanted(&self) -> Vec<PartitionId> {
        let engine = self.inner.lock();
        let mut wanted = Vec::new();
        for (id, partition) in &engine.partitions {
            let slot = partition.entries.first().and_then(|first| partition.entries.get(first));
            let segment = slot.and_then(|slot| engine.segments.get(slot.segment));
            if segment.is_some_and(|found| found.is_closed && found.live_bytes < u64::from(found.size_bytes) / 2) {
                wanted.push(*id);
            }
        }
        wanted
    }

    /// Why nothing is taken any more, if that is so.
    ///
    /// # Errors
    /// The log failed or is closed.
    pub fn check(&self) -> Result<(), Error> {
        self.inner.lock().check()
    }

    /// What the log has done.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let engine = self.inner.lock();
        let live =
            |of: fn(&crate::engine::Segment) -> u64| engine.segments.iter().map(|(_, segment)| of(segment)).sum();
        Statistics {
            segments: engine.segments.iter().count() as u64,
            live_bodies: live(|segment| segment.live_bodies),
            live_bytes: live(|segment| segment.live_bytes),
            ready_segments: engine.pool.ready.len() as u64,
            queued_bytes: engine.queue.bytes as u64,
            recent_bytes: engine.recent_bytes as u64,
            ..engine.statistics
        }
    }

    /// Stops taking anything. What was taken is still written by the writer, which then stops.
    pub fn close(&self) {
        self.inner.close();
    }

    fn change(&self, partition: PartitionId, change: Change, done: Option<Callback>) -> Result<(), Error> {
        let mut engine = self.inner.lock();
        engine.change(partition, change, done)?;
        self.inner.wake_writer(engine);
        Ok(())
    }
}
