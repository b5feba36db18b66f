//! What a batch changes when it is on disk: pending things get their place.

use braid_types::{LogIndex, MessageId};

use super::{Engine, Queued};
use crate::{
    Callback,
    format::Kind,
    index::{PENDING, Slot, pending_offset},
};

/// A record that was written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) queued: Queued,
    pub(crate) offset: u32,
}

impl Engine {
    /// Takes note that all of `batch` is on disk, in `segment`. Adds the callbacks, to be run without the lock.
    pub(crate) fn complete(
        &mut self,
        segment: u32,
        batch: impl Iterator<Item = Written>,
        callbacks: &mut Vec<Callback>,
    ) {
        for Written { mut queued, offset } in batch {
            self.queue.durable += 1;
            self.statistics.records += 1;
            self.statistics.record_bytes += queued.record.size_bytes() as u64;
            if let Some(segment) = self.segments.get_mut(segment) {
                segment.note(queued.partition);
            }
            match queued.kind {
                Kind::Entry => self.place_entry(&queued, segment, offset),
                Kind::Bodies => self.place_bodies(&queued, segment, offset),
                Kind::State => self.place_state(&queued, segment),
                Kind::Batch | Kind::Seal | Kind::End => {}
            }
            callbacks.extend(queued.done.take());
        }
        self.evict();
    }

    fn place_entry(&mut self, queued: &Queued, segment: u32, offset: u32) {
        let Some(partition) = self.partitions.get_mut(&queued.partition) else { return };
        let pending = pending_offset(queued.chain);
        let index = LogIndex(queued.index);
        // It may have been truncated or purged meanwhile, or another may have its index now.
        if let Some(slot) = partition.entries.get_mut(index)
            && (slot.segment, slot.offset) == (PENDING, pending)
        {
            (slot.segment, slot.offset) = (segment, offset);
            self.segments.add_entry(segment);
        }
        let (mut count, mut bytes) = (0, 0);
        let mut rows = queued.record.rows();
        partition.bodies.for_each_of(index, |position, slot| {
            if (slot.segment, slot.offset) != (PENDING, pending) {
                return;
            }
            if let Some(row) = rows.by_ref().find(|row| row.position == position) {
                (slot.segment, slot.offset) = (segment, row.place(offset, queued.record.head_length));
                (count, bytes) = (count + 1, bytes + u64::from(row.length));
            }
        });
        self.segments.add_bodies(segment, count, bytes);
        self.evictable.push_back((queued.partition, queued.chain));
    }

    fn place_bodies(&mut self, queued: &Queued, segment: u32, offset: u32) {
        let Some(partition) = self.partitions.get_mut(&queued.partition) else { return };
        let pending = pending_offset(queued.chain);
        for row in queued.record.rows() {
            let id = MessageId { index: LogIndex(queued.index), position: row.position };
            let Some(slot) = partition.bodies.get_mut(id) else { continue };
            let is_meant = match queued.leaves {
                None => (slot.segment, slot.offset) == (PENDING, pending),
                Some(left) => slot.segment == left && slot.crc == row.crc && slot.length() == row.length,
            };
            if is_meant {
                self.segments.drop_body(slot.segment, Slot::length(slot));
                (slot.segment, slot.offset) = (segment, row.place(offset, queued.record.head_length));
                self.segments.add_bodies(segment, 1, u64::from(row.length));
            }
        }
    }

    fn place_state(&mut self, queued: &Queued, segment: u32) {
        if let Some(partition) = self.partitions.get_mut(&queued.partition) {
            self.segments.move_state(partition.state_segment, segment);
            (partition.state_segment, partition.state_chain) = (segment, queued.chain);
        }
    }

    /// Lets go of the oldest recent records that are on disk, until the rest fits.
    fn evict(&mut self) {
        // Names of records that were truncated or purged meanwhile are let go of too, however many they are.
        let count_max = self.cache_bytes / crate::format::HEADER_BYTES;
        while self.recent_bytes > self.cache_bytes || self.evictable.len() > count_max {
            let Some((id, chain)) = self.evictable.pop_front() else { break };
            let Some(partition) = self.partitions.get_mut(&id) else { continue };
            if partition.recent.front().is_some_and(|recent| recent.chain == chain) {
                self.recent_bytes -= partition.recent.pop_front().map_or(0, |recent| recent.record.size_bytes());
            }
        }
    }
}
