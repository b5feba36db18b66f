//! Taking what is submitted: checks, changes in memory, and the record in the queue.

use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;

use super::{Engine, Partition, Queue, Queued, Recent};
use crate::{
    Append, Callback, Error, PurgeMark,
    format::{Kind, Record, length_u32},
    index::{EntrySlot, PENDING, Slot, pending_offset},
};

/// A change of a partition's marks.
pub(crate) enum Change {
    Vote(Bytes),
    Purge(PurgeMark),
    Truncate(LogIndex),
    Remove,
    /// None: only write them again.
    Refresh,
}

impl Engine {
    /// Takes an entry, and its callback; or leaves it.
    pub(crate) fn append(&mut self, append: &mut Append, record: Record) -> Result<(), Error> {
        let Append { partition: id, term, index, is_promised, .. } = *append;
        self.admit(&record, record.body_count > 0 && !is_promised)?;
        if let Some(last) = self.partition(id)?.and_then(Partition::last)
            && index.0 != last.0.saturating_add(1)
        {
            return Err(Error::NotContiguous { partition: id, index, last: Some(last) });
        }
        let partition = self.partitions.entry(id).or_default();
        partition.is_removed = false;
        partition.chain += 1;
        let chain = partition.chain;
        let slot = EntrySlot {
            segment: PENDING,
            offset: pending_offset(chain),
            head_length: record.head_length,
            body_length: record.body_length,
        };
        if partition.bodies.last_from(index).is_some() {
            // Of a life or a snapshot that never came to anything.
            partition.drop_bodies_of(index, &mut self.segments);
        }
        partition.push(index, term, slot, record.rows());
        self.recent_bytes += record.size_bytes();
        partition.recent.push_back(Recent { index, chain, record: record.clone() });
        let (index, term, done) = (index.0, term.0, append.done.take());
        self.queue.push(Queued { kind: Kind::Entry, partition: id, index, term, chain, record, leaves: None, done });
        Ok(())
    }

    /// Takes bodies of an entry that came with a snapshot.
    pub(crate) fn put_bodies(
        &mut self,
        id: PartitionId,
        (index, term): (LogIndex, Term),
        record: Record,
        done: Option<Callback>,
    ) -> Result<(), Error> {
        self.admit(&record, false)?;
        self.partition(id)?;
        let partition = self.partitions.entry(id).or_default();
        partition.is_removed = false;
        partition.chain += 1;
        let chain = partition.chain;
        for row in record.rows() {
            let slot = Slot::new(row.position, PENDING, pending_offset(chain), row.length, row.crc);
            let message = MessageId { index, position: row.position };
            if let Some(old) = partition.bodies.insert(message, slot) {
                self.segments.drop_body(old.segment, old.length());
            }
        }
        let (kind, index, term, leaves) = (Kind::Bodies, index.0, term.0, None);
        self.queue.push(Queued { kind, partition: id, index, term, chain, record, leaves, done });
        Ok(())
    }

    /// Takes bodies that are moved out of segment `leaves`. `false`: one of them is not needed, or not there, any more,
    /// and none was taken.
    pub(crate) fn move_bodies(
        &mut self,
        id: PartitionId,
        (index, term): (LogIndex, Term),
        record: Record,
        leaves: u32,
    ) -> Result<bool, Error> {
        self.admit(&record, false)?;
        let Some(partition) = self.partition_mut(id)? else { return Ok(false) };
        let are_here = record.rows().all(|row| {
            let slot = partition.bodies.get(MessageId { index, position: row.position });
            slot.is_some_and(|slot| (slot.segment, slot.crc, slot.length()) == (leaves, row.crc, row.length))
        });
        if are_here {
            partition.chain += 1;
            let (kind, chain, index, term, leaves) = (Kind::Bodies, partition.chain, index.0, term.0, Some(leaves));
            self.queue.push(Queued { kind, partition: id, index, term, chain, record, leaves, done: None });
        }
        Ok(are_here)
    }

    /// Changes a partition's marks and writes them.
    pub(crate) fn change(&mut self, id: PartitionId, change: Change, done: Option<Callback>) -> Result<(), Error> {
        // Its size is known only when it is made, after the change; that of the largest is admitted.
        let largest = Record::new(&[0; STATE_BYTES_MAX], &[], usize::MAX)?;
        self.admit(&largest, false)?;
        if !matches!(change, Change::Remove | Change::Refresh) {
            self.partition(id)?;
        }
        let is_removal = matches!(change, Change::Remove);
        let partition = self.partitions.entry(id).or_default();
        let freed = match change {
            Change::Vote(vote) => {
                partition.is_removed = false;
                partition.vote = Some(vote);
                0
            }
            Change::Purge(mark) => {
                partition.is_removed = false;
                partition.purge(mark, &mut self.segments)
            }
            Change::Truncate(from) => partition.truncate(from, &mut self.segments),
            Change::Remove => partition.wipe(partition.chain + 1, &mut self.segments),
            Change::Refresh => 0,
        };
        self.recent_bytes -= freed;
        self.put_state(id, done)?;
        if is_removal {
            self.discarded.push_back((self.queue.submitted, id));
        }
        Ok(())
    }

    /// Puts a partition's marks into the queue.
    pub(crate) fn put_state(&mut self, id: PartitionId, done: Option<Callback>) -> Result<(), Error> {
        self.dirty.remove(&id);
        let Some(partition) = self.partitions.get_mut(&id) else { return Ok(()) };
        let record = Record::new(&partition.state().encode(), &[], usize::MAX)?;
        partition.chain += 1;
        let chain = partition.chain;
        let (kind, leaves) = (Kind::State, None);
        self.queue.push(Queued { kind, partition: id, index: 0, term: 0, chain, record, leaves, done });
        Ok(())
    }

    /// Whether there is room for a record. `is_refusable`: it has bodies that nobody relies on yet.
    fn admit(&self, record: &Record, is_refusable: bool) -> Result<(), Error> {
        self.check()?;
        // What is promised and what frees space has as much room again.
        let bytes_max = if is_refusable { self.queue_bytes_max } else { self.queue_bytes_max * 2 };
        if self.queue.bytes + record.size_bytes() > bytes_max && !self.queue.is_empty() {
            return Err(Error::Busy);
        }
        if self.pool.is_full {
            if is_refusable {
                return Err(Error::BodiesRefused);
            }
            // As much as the largest record can be wasted at the end of each segment.
            let usable = |room: usize| room.saturating_sub(self.record_bytes_max);
            let room = usable(self.room_bytes) + self.pool.ready.len() * usable(self.segment_room_bytes);
            if self.queue.charge + Queue::charge_of(record) > room {
                return Err(Error::DiskFull);
            }
        }
        Ok(())
    }
}

/// Bytes of the largest marks: three notes and a few numbers.
const STATE_BYTES_MAX: usize = 3 * crate::limits::NOTE_BYTES_MAX + 64;

const _: () = assert!(STATE_BYTES_MAX < crate::limits::SEGMENT_BYTES_MIN as usize / 8);

/// Whether a note of Raft is small enough.
pub(crate) fn check_note(note: &Bytes) -> Result<(), Error> {
    let max = crate::limits::NOTE_BYTES_MAX;
    if length_u32(note.len()) as usize > max {
        return Err(Error::TooLarge { what: "note", size: note.len(), max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Body, Options,
        engine::{Segment, Take, complete::Written},
    };

    const ONE: PartitionId = PartitionId(1);

    fn record(bodies: &[(u32, &'static str)]) -> Record {
        let body = |(position, text): &(u32, &'static str)| Body::new(*position, Bytes::from_static(text.as_bytes()));
        Record::new(b"", &bodies.iter().map(body).collect::<Vec<_>>(), 4096).unwrap()
    }

    fn append(engine: &mut Engine, index: u64, record: Record) {
        let (payload, bodies, is_promised, done) = (Bytes::new(), Vec::new(), true, None);
        let (term, index) = (Term(1), LogIndex(index));
        let mut append = Append { partition: ONE, term, index, payload, bodies, is_promised, done };
        engine.append(&mut append, record).unwrap();
    }

    /// As if what waits were written to that segment.
    fn write(engine: &mut Engine, segment: u32) {
        if engine.segments.get(segment).is_none() {
            engine.segments.insert(segment, Segment::new(0, 65_536, None));
        }
        while let Take::Batch(batch, _) = engine.take(usize::MAX) {
            let written = batch.into_iter().map(|queued| Written { queued, offset: 8192 });
            engine.complete(segment, written, &mut Vec::new());
        }
    }

    #[test]
    fn only_what_is_still_there_is_moved() {
        let mut engine = Engine::new(&Options::new(1, 2));
        let bodies = record(&[(0, "zero"), (1, "one")]);
        append(&mut engine, 1, bodies.clone());
        write(&mut engine, 1);
        let name = (LogIndex(1), Term(1));
        let moved = |engine: &mut Engine, record: Record, leaves| engine.move_bodies(ONE, name, record, leaves);
        assert_eq!(moved(&mut engine, bodies.clone(), 2), Ok(false), "they are not in that segment");
        assert_eq!(moved(&mut engine, record(&[(0, "another")]), 1), Ok(false));
        assert_eq!(moved(&mut engine, bodies.clone(), 1), Ok(true));
        write(&mut engine, 3);
        let live = |engine: &Engine, id| engine.segments.get(id).map(|segment| segment.live_bodies);
        assert_eq!((live(&engine, 1), live(&engine, 3)), (Some(0), Some(2)));
        assert_eq!(moved(&mut engine, bodies.clone(), 1), Ok(false), "they are gone from there");
        engine.change(ONE, Change::Remove, None).unwrap();
        assert_eq!(moved(&mut engine, bodies.clone(), 3), Ok(false));
        // Another life, with a body of the same name.
        append(&mut engine, 1, record(&[(0, "new")]));
        write(&mut engine, 3);
        assert_eq!(moved(&mut engine, bodies, 3), Ok(false));
        assert_eq!(live(&engine, 3), Some(1));
    }

    #[test]
    fn what_is_moved_and_forgotten_meanwhile_stays_forgotten() {
        let mut engine = Engine::new(&Options::new(1, 2));
        append(&mut engine, 1, record(&[(0, "zero")]));
        write(&mut engine, 1);
        assert_eq!(engine.move_bodies(ONE, (LogIndex(1), Term(1)), record(&[(0, "zero")]), 1), Ok(true));
        engine.change(ONE, Change::Remove, None).unwrap();
        append(&mut engine, 1, record(&[(0, "zero")]));
        write(&mut engine, 2);
        let slot = engine.partitions[&ONE].bodies.get(MessageId { index: LogIndex(1), position: 0 }).copied().unwrap();
        assert_eq!(slot.segment, 2);
        let (first, second) =
            (engine.segments.get(1).unwrap().live_bodies, engine.segments.get(2).unwrap().live_bodies);
        assert_eq!((first, second), (0, 1));
    }
}
