//! Sparse segments: what is still needed is written again at the end of the log, so that they die.
//!
//! One segment at a time, read record by record. A body is moved when its index still says that it is here; a
//! partition's marks when its newest are. Whatever is forgotten meanwhile is simply not moved.

use std::sync::Arc;

use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;

use super::Maintenance;
use crate::{
    Body, Error,
    disk::DiskFile,
    engine::{Engine, Segment, submit::Change},
    format::{BLOCK_BYTES, DATA_OFFSET, HEADER_BYTES, Header, Kind, Place, length_u32, read_rows, round_up},
    limits::MAINTENANCE_BYTES_PER_STEP,
    names,
    window::Window,
};

/// A segment that is rewritten.
#[derive(Debug)]
pub(super) struct Rewriting {
    segment: u32,
    salt: u32,
    end: u32,
    window: Window,
    offset: u32,
    _reader: Arc<()>,
}

impl Maintenance {
    /// Rewrites some of a sparse segment. Whether there was one.
    pub(super) fn rewrite(&mut self) -> Result<bool, Error> {
        if self.rewriting.is_none() {
            self.rewriting = self.begin_rewrite()?;
        }
        let Some(mut rewriting) = self.rewriting.take() else { return Ok(false) };
        let mut budget = MAINTENANCE_BYTES_PER_STEP;
        while budget > 0 && rewriting.offset < rewriting.end {
            match self.rewrite_one(&mut rewriting) {
                Ok(size) => budget = budget.saturating_sub(size),
                // Later, from here: the queue, or the disk, has no room now.
                Err(Error::Busy | Error::DiskFull) => {
                    self.rewriting = Some(rewriting);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        self.moved_bytes += MAINTENANCE_BYTES_PER_STEP - budget;
        if rewriting.offset < rewriting.end || !self.move_states(rewriting.segment) {
            self.rewriting = Some(rewriting);
        }
        Ok(true)
    }

    fn begin_rewrite(&self) -> Result<Option<Rewriting>, Error> {
        let (segment, salt, end, file, reader) = {
            let engine = self.inner.lock();
            let Some((id, segment)) = sparsest(&engine) else { return Ok(None) };
            // Where only marks are needed, there is nothing to look for.
            let end = if segment.live_bodies == 0 { DATA_OFFSET } else { segment.end };
            (id, segment.salt, end, segment.file.clone(), Arc::clone(&segment.readers))
        };
        let file: Arc<dyn DiskFile> = match file {
            Some(file) => file,
            None => {
                let name = names::segment(segment);
                let opened = self.inner.disk.open(&name);
                opened.map_err(|error| self.inner.fail(&format!("{name}: {error}"), Vec::new()))?
            }
        };
        let window = Window::new(file, end);
        Ok(Some(Rewriting { segment, salt, end, window, offset: DATA_OFFSET, _reader: reader }))
    }

    /// Looks at what is at the offset, moves what is needed of it, and goes on. Returns the bytes that it cost.
    fn rewrite_one(&self, rewriting: &mut Rewriting) -> Result<usize, Error> {
        let Rewriting { segment, salt, window, offset, .. } = rewriting;
        let place = Place { segment: *segment, salt: *salt, offset: *offset };
        let Some(header) = Header::decode(window.bytes(*offset, HEADER_BYTES), place) else {
            // Padding, or something damaged that recovery has reported: nothing to move.
            *offset = offset.saturating_add(length_u32(crate::format::ALIGNMENT_BYTES));
            return Ok(crate::format::ALIGNMENT_BYTES);
        };
        let size = if header.kind.is_record() {
            header.record_bytes()
        } else {
            round_up(HEADER_BYTES + header.head_length as usize, crate::format::ALIGNMENT_BYTES)
        };
        let mut cost = HEADER_BYTES;
        if matches!(header.kind, Kind::Entry | Kind::Bodies) && header.body_count > 0 {
            cost += self.move_bodies(rewriting, &header)?;
        }
        rewriting.offset = rewriting.offset.saturating_add(length_u32(size));
        Ok(cost.max(BLOCK_BYTES / 16))
    }

    fn move_bodies(&self, rewriting: &mut Rewriting, header: &Header) -> Result<usize, Error> {
        let (index, partition) = (LogIndex(header.index), header.partition);
        let table = rewriting.offset.saturating_add(length_u32(HEADER_BYTES));
        let head = rewriting.window.bytes(table, header.body_count as usize * crate::format::ROW_BYTES);
        let rows: Vec<_> = read_rows(head, header.body_count)
            .map(|row| (row, row.place(rewriting.offset, header.head_length)))
            .collect();
        let live: Vec<_> = {
            let engine = self.inner.lock();
            let Some(found) = engine.partitions.get(&partition) else { return Ok(0) };
            let is_here = |position, offset| {
                let slot = found.bodies.get(MessageId { index, position });
                slot.is_some_and(|slot| (slot.segment, slot.offset) == (rewriting.segment, offset))
            };
            rows.into_iter().filter(|(row, offset)| is_here(row.position, *offset)).collect()
        };
        if live.is_empty() {
            return Ok(0);
        }
        let mut bodies = Vec::with_capacity(live.len());
        for (row, offset) in live {
            let bytes = rewriting.window.bytes(offset, row.length as usize);
            if crc32c::crc32c(bytes) == row.crc {
                bodies.push(Body::new(row.position, Bytes::copy_from_slice(bytes)));
            } else {
                self.inner.lock().damage(crate::Damage {
                    partition,
                    segment: rewriting.segment,
                    offset,
                    index: Some(index),
                    position: Some(row.position),
                    what: "a body is damaged",
                });
            }
        }
        self.put(rewriting.segment, partition, (index, Term(header.term)), &bodies)
    }

    fn put(
        &self,
        leaves: u32,
        partition: PartitionId,
        (index, term): (LogIndex, Term),
        bodies: &[Body],
    ) -> Result<usize, Error> {
        let record = crate::format::Record::new(b"", bodies, usize::MAX)?;
        let size = record.size_bytes();
        let mut engine = self.inner.lock();
        match engine.put_bodies(partition, index, term, record, Some(leaves), None) {
            // It keeps its segments.
            Err(Error::Damaged(_)) => return Ok(size),
            done => done?,
        }
        engine.statistics.rewritten_bytes += size as u64;
        self.inner.wake_writer(engine);
        Ok(size)
    }

    /// Writes the marks again whose newest are in the segment. Whether there was room for all.
    fn move_states(&self, segment: u32) -> bool {
        let mut engine = self.inner.lock();
        let moved: Vec<PartitionId> = engine
            .partitions
            .iter()
            .filter(|(_, partition)| partition.state_segment == segment)
            .map(|(id, _)| *id)
            .collect();
        for id in moved {
            let is_elsewhere = engine
                .segments
                .iter()
                .any(|(other, found)| other != segment && found.partitions.binary_search(&id).is_ok())
                || engine.discarded.iter().any(|(_, discarded)| *discarded == id);
            let is_removed = engine.partitions.get(&id).is_some_and(|partition| partition.is_removed);
            if is_removed && !is_elsewhere {
                // Nothing is left that it would have to make void.
                engine.partitions.remove(&id);
                engine.segments.move_state(segment, crate::index::PENDING);
            } else if engine.change(id, Change::Refresh, None).is_err() {
                return false;
            }
        }
        if let Some(segment) = engine.segments.get_mut(segment) {
            segment.is_rewritten = true;
        }
        self.inner.wake_writer(engine);
        true
    }
}

/// The segment of which least is needed, if that is little enough.
fn sparsest(engine: &Engine) -> Option<(u32, &Segment)> {
    engine
        .segments
        .iter()
        .filter(|(_, segment)| segment.is_sparse() && !segment.is_dead() && !segment.is_rewritten)
        .filter(|(_, segment)| !segment.partitions.iter().any(|id| engine.is_damaged(*id)))
        .min_by_key(|(_, segment)| segment.live_bytes)
}
