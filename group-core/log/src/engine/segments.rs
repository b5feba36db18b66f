//! The segments that hold records, and what is still needed of each.
//!
//! Invariant: the counts of a segment are the slots of all indexes that name it, and the partitions whose newest state
//! is in it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use braid_types::PartitionId;

use crate::{disk::DiskFile, limits::OPEN_SEGMENTS_MAX};

/// A segment that holds records.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) salt: u32,
    /// Of the file.
    pub(crate) size_bytes: u32,
    /// Where its data ends, once it is closed.
    pub(crate) end: u32,
    pub(crate) is_closed: bool,
    /// Bodies in it that are not forgotten.
    pub(crate) live_bodies: u64,
    pub(crate) live_bytes: u64,
    /// Entries in it that are not purged.
    pub(crate) entries: u64,
    /// Partitions whose newest state is in it.
    pub(crate) states: u64,
    /// Partitions that have records in it; sorted.
    pub(crate) partitions: Vec<PartitionId>,
    /// Open, if it is.
    pub(crate) file: Option<Arc<dyn DiskFile>>,
    /// Held by whoever reads: the file is not used again while anybody else has it.
    pub(crate) readers: Arc<()>,
    /// When it was first found dead: what was submitted until then must be durable before it goes.
    pub(crate) dead_since: Option<u64>,
    /// All that was needed of it was submitted again.
    pub(crate) is_rewritten: bool,
}

impl Segment {
    pub(crate) fn new(salt: u32, size_bytes: u32, file: Option<Arc<dyn DiskFile>>) -> Self {
        Self {
            salt,
            size_bytes,
            end: 0,
            is_closed: false,
            live_bodies: 0,
            live_bytes: 0,
            entries: 0,
            states: 0,
            partitions: Vec::new(),
            file,
            readers: Arc::new(()),
            dead_since: None,
            is_rewritten: false,
        }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.is_closed && self.live_bodies == 0 && self.entries == 0 && self.states == 0
    }

    /// Whether less than half of the file is needed, and that can be moved.
    pub(crate) fn is_sparse(&self) -> bool {
        self.is_closed && self.entries == 0 && self.live_bytes < u64::from(self.size_bytes) / 2
    }

    pub(crate) fn note(&mut self, partition: PartitionId) {
        if let Err(place) = self.partitions.binary_search(&partition) {
            self.partitions.insert(place, partition);
        }
    }
}

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    map: BTreeMap<u32, Segment>,
    /// Closed ones whose files are open, in the order of opening.
    open: VecDeque<u32>,
}

impl Segments {
    pub(crate) fn get(&self, id: u32) -> Option<&Segment> {
        self.map.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Segment> {
        self.map.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Segment)> {
        self.map.iter().map(|(id, segment)| (*id, segment))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Segment)> {
        self.map.iter_mut().map(|(id, segment)| (*id, segment))
    }

    pub(crate) fn insert(&mut self, id: u32, segment: Segment) {
        self.map.insert(id, segment);
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<Segment> {
        self.open.retain(|open| *open != id);
        self.map.remove(&id)
    }

    pub(crate) fn add_entry(&mut self, id: u32) {
        if let Some(segment) = self.map.get_mut(&id) {
            segment.entries += 1;
        }
    }

    pub(crate) fn drop_entry(&mut self, id: u32) {
        if let Some(segment) = self.map.get_mut(&id) {
            segment.entries -= 1;
        }
    }

    /// Some bodies of so many bytes together.
    pub(crate) fn add_bodies(&mut self, id: u32, count: u64, bytes: u64) {
        if let Some(segment) = self.map.get_mut(&id) {
            segment.live_bodies += count;
            segment.live_bytes += bytes;
        }
    }

    pub(crate) fn drop_body(&mut self, id: u32, length: u32) {
        if let Some(segment) = self.map.get_mut(&id) {
            segment.live_bodies -= 1;
            segment.live_bytes -= u64::from(length);
        }
    }

    /// The newest state of a partition is in `to` now, and no longer in `from`.
    pub(crate) fn move_state(&mut self, from: u32, to: u32) {
        if let Some(segment) = self.map.get_mut(&from) {
            segment.states -= 1;
        }
        if let Some(segment) = self.map.get_mut(&to) {
            segment.states += 1;
        }
    }

    /// Keeps `file` open for further readers, and lets go of the one that was opened first when there are too many.
    pub(crate) fn keep_open(&mut self, id: u32, file: &Arc<dyn DiskFile>) {
        let Some(segment) = self.map.get_mut(&id) else { return };
        if segment.file.is_none() {
            segment.file = Some(Arc::clone(file));
            self.open.push_back(id);
        }
        if self.open.len() > OPEN_SEGMENTS_MAX
            && let Some(oldest) = self.open.pop_front()
            && let Some(segment) = self.map.get_mut(&oldest)
        {
            segment.file = None;
        }
    }

    /// Closes a segment at `end`.
    pub(crate) fn close(&mut self, id: u32, end: u32) {
        if let Some(segment) = self.map.get_mut(&id) {
            segment.is_closed = true;
            segment.end = end;
            if let Some(file) = segment.file.take() {
                self.keep_open(id, &file);
            }
        }
    }
}
