//! What the writer takes for one batch: all that waits, as far as it fits.

use braid_types::PartitionId;

use super::{Engine, Queued};
use crate::{
    format::ChainEnd,
    limits::{BATCH_BYTES_MAX, PARTITIONS_PER_BATCH_MAX, RECORDS_PER_BATCH_MAX},
};

/// What there is to do for the writer.
#[derive(Debug)]
pub(crate) enum Take {
    /// Write these, which end the partitions' chains so.
    Batch(Vec<Queued>, Vec<ChainEnd>),
    /// The first does not fit into the segment.
    NoRoom,
    /// Nothing waits.
    Nothing,
    /// Nothing will ever come any more.
    Stop,
}

impl Engine {
    /// Takes what fits into `room` bytes, without the batch's mark.
    pub(crate) fn take(&mut self, room: usize) -> Take {
        if self.failure.is_some() {
            return Take::Stop;
        }
        if self.queue.is_empty() {
            if !self.is_closing {
                return Take::Nothing;
            }
            self.put_dirty();
            if self.queue.is_empty() {
                return Take::Stop;
            }
        }
        let (mut batch, mut ends, mut bytes) = (Vec::new(), Vec::new(), 0);
        while self.fits(&batch, &ends, bytes, room) {
            let Some(queued) = self.queue.pop() else { break };
            bytes += queued.record.size_bytes();
            end_chain(&mut ends, &queued);
            batch.push(queued);
            if self.queue.is_empty() {
                // Only now: a state says how far the log goes, which is only true behind all that waits.
                self.put_dirty();
            }
        }
        if batch.is_empty() { Take::NoRoom } else { Take::Batch(batch, ends) }
    }

    fn fits(&self, batch: &[Queued], ends: &[ChainEnd], bytes: usize, room: usize) -> bool {
        let Some(next) = self.queue.front() else { return false };
        let total = bytes + next.record.size_bytes();
        total <= room
            && (batch.is_empty() || total <= BATCH_BYTES_MAX)
            && batch.len() < RECORDS_PER_BATCH_MAX
            && (ends.len() < PARTITIONS_PER_BATCH_MAX || find(ends, next.partition).is_ok())
    }

    /// Lets committed marks go along.
    fn put_dirty(&mut self) {
        for id in std::mem::take(&mut self.dirty) {
            // It cannot be too large: the notes were checked when they came.
            if !self.is_damaged(id) && self.put_state(id, None).is_err() {
                self.dirty.insert(id);
            }
        }
    }
}

fn find(ends: &[ChainEnd], partition: PartitionId) -> Result<usize, usize> {
    ends.binary_search_by_key(&partition, |end| end.partition)
}

fn end_chain(ends: &mut Vec<ChainEnd>, queued: &Queued) {
    let Queued { partition, chain, .. } = *queued;
    match find(ends, partition) {
        Ok(place) => {
            if let Some(end) = ends.get_mut(place) {
                (end.records, end.chain) = (end.records + 1, chain);
            }
        }
        Err(place) => ends.insert(place, ChainEnd { partition, records: 1, chain }),
    }
}
