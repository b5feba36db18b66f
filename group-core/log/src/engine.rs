//! What the log knows, in memory, behind one lock that is never held during IO: partitions, segments, what waits to be
//! written.
//!
//! Whatever is submitted is in force here at once: an appended entry can be read, a truncated one cannot. It goes to
//! disk in the order of submission. Only the lock's holder changes anything; the writer, the maintenance and the readers
//! take what they need under it and do their IO outside.

pub(crate) mod complete;
mod forget;
mod partition;
mod pool;
mod queue;
mod segments;
pub(crate) mod submit;
mod take;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use braid_types::PartitionId;

pub(crate) use partition::{Partition, Recent};
pub(crate) use pool::{Pool, Ready};
pub(crate) use queue::{Queue, Queued};
pub(crate) use segments::{Segment, Segments};
pub(crate) use take::Take;

use crate::{Callback, Error, Options, Statistics};

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) partitions: BTreeMap<PartitionId, Partition>,
    pub(crate) segments: Segments,
    pub(crate) queue: Queue,
    pub(crate) pool: Pool,
    /// Partitions whose committed mark waits for the next batch.
    pub(crate) dirty: BTreeSet<PartitionId>,
    /// Removed partitions whose snapshots are still there, and what must be durable before they go.
    pub(crate) discarded: VecDeque<(u64, PartitionId)>,
    /// Bytes of all partitions' recent records.
    pub(crate) recent_bytes: usize,
    /// Recent records that are on disk, oldest first.
    pub(crate) evictable: VecDeque<(PartitionId, u64)>,
    /// Bytes that batches can still have in the segment that is written.
    pub(crate) room_bytes: usize,
    /// Why nothing more is taken.
    pub(crate) failure: Option<Arc<str>>,
    pub(crate) is_closing: bool,
    pub(crate) statistics: Statistics,
    /// Segments begun after a sparse one before it is rewritten.
    pub(crate) rewrite_after_segments: u32,
    cache_bytes: usize,
    queue_bytes_max: usize,
    record_bytes_max: usize,
    segment_room_bytes: usize,
}

impl Engine {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            partitions: BTreeMap::new(),
            segments: Segments::default(),
            queue: Queue::default(),
            pool: Pool::default(),
            dirty: BTreeSet::new(),
            discarded: VecDeque::new(),
            recent_bytes: 0,
            evictable: VecDeque::new(),
            room_bytes: 0,
            failure: None,
            is_closing: false,
            statistics: Statistics::default(),
            rewrite_after_segments: options.rewrite_after_segments,
            cache_bytes: options.cache_bytes,
            queue_bytes_max: options.queue_bytes_max,
            record_bytes_max: options.record_bytes_max(),
            segment_room_bytes: options.room_bytes(),
        }
    }

    /// The partition, if there is one that is in service.
    pub(crate) fn partition(&self, id: PartitionId) -> Result<Option<&Partition>, Error> {
        match self.partitions.get(&id) {
            Some(Partition { damage: Some(damage), .. }) => Err(Error::Damaged(damage.clone())),
            Some(partition) if partition.is_removed => Ok(None),
            found => Ok(found),
        }
    }

    pub(crate) fn partition_mut(&mut self, id: PartitionId) -> Result<Option<&mut Partition>, Error> {
        self.partition(id)?;
        Ok(self.partitions.get_mut(&id).filter(|partition| !partition.is_removed))
    }

    pub(crate) fn is_damaged(&self, id: PartitionId) -> bool {
        self.partitions.get(&id).is_some_and(|partition| partition.damage.is_some())
    }

    /// Whether anything is still taken.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.failure {
            Some(why) => Err(Error::Failed(Arc::clone(why))),
            None if self.is_closing => Err(Error::ShutDown),
            None => Ok(()),
        }
    }

    /// Stops the log for good. Gives the callbacks of all that waits, which must be told.
    pub(crate) fn fail(&mut self, why: &Arc<str>) -> Vec<Callback> {
        if self.failure.is_none() {
            self.failure = Some(Arc::clone(why));
        }
        self.queue.drain().filter_map(|queued| queued.done).collect()
    }

    /// Takes a partition out of service.
    pub(crate) fn damage(&mut self, damage: crate::Damage) {
        if let Some(partition) = self.partitions.get_mut(&damage.partition)
            && partition.damage.is_none()
        {
            partition.damage = Some(damage);
        }
    }
}
