//! Bodies that are needed and not, and snapshots.

use std::sync::Arc;

use braid_types::{LogIndex, MessageId, PartitionId, Term};

use super::Wal;
use crate::{Body, Callback, Capture, Error, SnapshotMeta, SnapshotReader, SnapshotWriter, format::Record};

const KEPT_AT_A_TIME: usize = 1024;

/// While it is held, no body of its partition is given up: for whoever sends a snapshot and the bodies that it needs.
#[derive(Debug)]
pub struct Pin {
    _pins: Arc<()>,
}

impl Wal {
    /// Nobody needs these bodies any more. They can still be read, and are given up when a snapshot is durable that was
    /// captured after this. Unknown ones are passed over. Gives the bytes of those for which that is new.
    ///
    /// # Errors
    /// The partition is out of service.
    pub fn forget(&self, partition: PartitionId, messages: &[MessageId]) -> Result<u64, Error> {
        let mut engine = self.inner.lock();
        Ok(engine.partition_mut(partition)?.map_or(0, |partition| partition.forget(messages)))
    }

    /// After a start: of the bodies of entries up to `upto`, the last one in the restored snapshot, only these are
    /// needed, in any order. All others are dropped. Without a snapshot there is nothing to call this for.
    ///
    /// # Errors
    /// One of them is missing or damaged, which takes the partition out of service.
    pub fn retain(
        &self,
        partition: PartitionId,
        upto: LogIndex,
        live: impl IntoIterator<Item = MessageId>,
    ) -> Result<(), Error> {
        let mut batch = Vec::with_capacity(KEPT_AT_A_TIME);
        for message in live {
            batch.push(message);
            if batch.len() == KEPT_AT_A_TIME {
                self.inner.lock().keep(partition, &batch)?;
                batch.clear();
            }
        }
        self.inner.lock().keep(partition, &batch)?;
        let mut cursor = Some(MessageId::default());
        while let Some(from) = cursor {
            cursor = self.inner.lock().drop_unkept(partition, upto, from)?;
        }
        self.inner.wake_maintenance();
        Ok(())
    }

    /// Stores bodies of an entry that came with a snapshot instead of the entry. To be on disk before the snapshot
    /// counts (guide, rule 15).
    ///
    /// # Errors
    /// They are too large, there is no room, or the partition or the log is out of service.
    pub fn put_bodies(
        &self,
        partition: PartitionId,
        index: LogIndex,
        term: Term,
        bodies: &[Body],
        done: Option<Callback>,
    ) -> Result<(), Error> {
        let record = Record::new(b"", bodies, self.inner.options.record_bytes_max())?;
        let mut engine = self.inner.lock();
        engine.put_bodies(partition, (index, term), record, done)?;
        self.inner.wake_writer(engine);
        Ok(())
    }

    /// Keeps all bodies of a partition that are there now until the pin is dropped.
    #[must_use]
    pub fn pin(&self, partition: PartitionId) -> Option<Pin> {
        let engine = self.inner.lock();
        engine.partitions.get(&partition).map(|partition| Pin { _pins: Arc::clone(&partition.pins) })
    }

    /// Takes note of the moment that a snapshot is of.
    ///
    /// # Errors
    /// Another one is under way, or the partition or the log is out of service.
    pub fn capture(&self, partition: PartitionId) -> Result<Capture, Error> {
        let mut engine = self.inner.lock();
        engine.check()?;
        engine.partition(partition)?;
        let found = engine.partitions.entry(partition).or_default();
        if found.sweep.is_captured {
            return Err(Error::Busy);
        }
        found.is_removed = false;
        let is_separate = found.capture();
        drop(engine);
        Ok(Capture::new(Arc::clone(&self.inner), partition, is_separate))
    }

    /// Begins to write the snapshot of that moment.
    ///
    /// # Errors
    /// The note is too large, or the partition is out of service.
    pub fn write_snapshot(&self, capture: Capture, meta: SnapshotMeta) -> Result<SnapshotWriter, Error> {
        SnapshotWriter::new(capture, meta)
    }

    /// The partition's durable snapshot, if it has one.
    ///
    /// # Errors
    /// The partition is out of service.
    pub fn snapshot(&self, partition: PartitionId) -> Result<Option<SnapshotReader>, Error> {
        let manifest = self.inner.lock().partition(partition)?.and_then(|partition| partition.snapshot.clone());
        Ok(manifest.map(|manifest| SnapshotReader::new(&self.inner, manifest)))
    }
}
