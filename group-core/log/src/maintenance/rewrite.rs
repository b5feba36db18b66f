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
    format::{
        ALIGNMENT_BYTES, BLOCK_BYTES, DATA_OFFSET, HEADER_BYTES, Header, Kind, Place, ROW_BYTES, Record, Row,
        length_u32, read_rows, round_up,
    },
    index::PENDING,
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
            *offset = offset.saturating_add(length_u32(ALIGNMENT_BYTES));
            return Ok(ALIGNMENT_BYTES);
        };
        let size = if header.kind.is_record() {
            header.record_bytes()
        } else {
            round_up(HEADER_BYTES + header.head_length as usize, ALIGNMENT_BYTES)
        };
        let mut cost = BLOCK_BYTES / 16;
        if matches!(header.kind, Kind::Entry | Kind::Bodies) && header.body_count > 0 {
            // What was forgotten between two looks is not asked for again.
            while let Some(live) = self.live_bodies(rewriting, &header) {
                let bodies = self.read_bodies(rewriting, &header, &live);
                if let Some(size) = self.move_bodies(rewriting.segment, &header, &bodies)? {
                    cost += size;
                    break;
                }
            }
        }
        rewriting.offset = rewriting.offset.saturating_add(length_u32(size));
        Ok(cost)
    }

    /// The bodies of a record that its partition still has here, with their places; `None`: there are none.
    fn live_bodies(&self, rewriting: &mut Rewriting, header: &Header) -> Option<Vec<(Row, u32)>> {
        let table = rewriting.offset.saturating_add(length_u32(HEADER_BYTES));
        let head = rewriting.window.bytes(table, header.body_count as usize * ROW_BYTES);
        let (index, segment) = (LogIndex(header.index), rewriting.segment);
        let engine = self.inner.lock();
        let partition = engine.partition(header.partition).ok()??;
        let live: Vec<_> = read_rows(head, header.body_count)
            .map(|row| (row, row.place(rewriting.offset, header.head_length)))
            .filter(|(row, offset)| {
                let slot = partition.bodies.get(MessageId { index, position: row.position });
                slot.is_some_and(|slot| (slot.segment, slot.offset, slot.crc) == (segment, *offset, row.crc))
            })
            .collect();
        (!live.is_empty()).then_some(live)
    }

    fn read_bodies(&self, rewriting: &mut Rewriting, header: &Header, live: &[(Row, u32)]) -> Vec<Body> {
        let mut bodies = Vec::with_capacity(live.len());
        for (row, offset) in live {
            let bytes = rewriting.window.bytes(*offset, row.length as usize);
            if crc32c::crc32c(bytes) == row.crc {
                bodies.push(Body::new(row.position, Bytes::copy_from_slice(bytes)));
            } else {
                self.inner.lock().damage(crate::Damage {
                    partition: header.partition,
                    segment: rewriting.segment,
                    offset: *offset,
                    index: Some(LogIndex(header.index)),
                    position: Some(row.position),
                    what: "a body is damaged",
                });
            }
        }
        bodies
    }

    /// Submits bodies at the end of the log. Their bytes there; `None`: not all of them are needed any more.
    fn move_bodies(&self, leaves: u32, header: &Header, bodies: &[Body]) -> Result<Option<usize>, Error> {
        let record = Record::new(b"", bodies, usize::MAX)?;
        let size = record.size_bytes();
        let mut engine = self.inner.lock();
        let name = (LogIndex(header.index), Term(header.term));
        match engine.move_bodies(header.partition, name, record, leaves) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            // It keeps its segments.
            Err(Error::Damaged(_)) => return Ok(Some(0)),
            Err(error) => return Err(error),
        }
        engine.statistics.rewritten_bytes += size as u64;
        self.inner.wake_writer(engine);
        Ok(Some(size))
    }

    /// Writes the marks again whose newest are in the segment. Whether there was room for all.
    fn move_states(&self, segment: u32) -> bool {
        let mut engine = self.inner.lock();
        let partitions = engine.partitions.iter().filter(|(_, partition)| partition.state_segment == segment);
        let moved: Vec<PartitionId> = partitions.map(|(id, _)| *id).collect();
        let done = moved.into_iter().try_for_each(|id| move_state(&mut engine, id, segment));
        if let (Ok(()), Some(segment)) = (&done, engine.segments.get_mut(segment)) {
            segment.is_rewritten = true;
        }
        self.inner.wake_writer(engine);
        done.is_ok()
    }
}

fn move_state(engine: &mut Engine, id: PartitionId, segment: u32) -> Result<(), Error> {
    let Some(partition) = engine.partitions.get(&id) else { return Ok(()) };
    if partition.damage.is_some() {
        // What is known of it may be wrong, and must not be written as if it were right.
        return Ok(());
    }
    let is_elsewhere = || {
        let mut others = engine.segments.iter().filter(|(other, _)| *other != segment);
        others.any(|(_, found)| found.partitions.binary_search(&id).is_ok())
            || engine.discarded.iter().any(|(_, discarded)| *discarded == id)
    };
    let is_last = partition.chain == partition.state_chain;
    if partition.is_removed && is_last && !is_elsewhere() {
        // Nothing is left that its removal would have to make void.
        engine.partitions.remove(&id);
        engine.segments.move_state(segment, PENDING);
        return Ok(());
    }
    engine.change(id, Change::Refresh, None)
}

/// The segment of which least is needed, if that is little enough, and has been for a while or room is needed.
fn sparsest(engine: &Engine) -> Option<(u32, &Segment)> {
    let newest = engine.segments.iter().map(|(id, _)| id).max()?;
    let is_due = |id: u32| engine.pool.is_full || id.saturating_add(engine.rewrite_after_segments) <= newest;
    engine
        .segments
        .iter()
        .filter(|(id, _)| is_due(*id))
        .filter(|(_, segment)| segment.is_sparse() && !segment.is_dead() && !segment.is_rewritten)
        .filter(|(_, segment)| !segment.partitions.iter().any(|id| engine.is_damaged(*id)))
        .min_by_key(|(_, segment)| segment.live_bytes)
}
