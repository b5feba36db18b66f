//! Reading bodies: from memory while their entries are recent, else neighbours together in one read.

use braid_types::{MessageId, PartitionId};
use bytes::Bytes;

use super::{Wal, read::Source};
use crate::{
    Damage, Error,
    engine::{Engine, Partition},
    index::Slot,
    limits::{READ_BYTES_MAX, READ_GAP_BYTES_MAX},
};

/// A body that must be read from disk, as the how-manieth that was asked for.
struct Wanted {
    number: usize,
    message: MessageId,
    slot: Slot,
}

impl Wanted {
    fn end(&self) -> u32 {
        self.slot.offset.saturating_add(self.slot.length())
    }
}

impl Wal {
    /// One body. It may be a slice of a recent entry or of a larger read, and then keeps all of that in memory.
    ///
    /// # Errors
    /// It is gone or damaged, not yet written and not in memory (`Busy`), or the partition is out of service.
    pub fn body(&self, partition: PartitionId, message: MessageId) -> Result<Bytes, Error> {
        self.bodies(partition, &[message]).pop().unwrap_or(Err(Error::Gone { partition, message }))
    }

    /// Bodies, in the order in which they are asked for, if the entries of all of them are in memory. Never waits for IO.
    ///
    /// # Errors
    /// The partition is out of service.
    pub fn recent_bodies(&self, partition: PartitionId, messages: &[MessageId]) -> Result<Option<Vec<Bytes>>, Error> {
        let engine = self.inner.lock();
        let Some(found) = engine.partition(partition)? else { return Ok(None) };
        let mut bodies = Vec::with_capacity(messages.len());
        for message in messages {
            let Some(body) = found.recent_of(message.index).and_then(|record| record.body(message.position)) else {
                return Ok(None);
            };
            bodies.push(body);
        }
        Ok(Some(bodies))
    }

    /// Bodies, in the order in which they are asked for; each for itself as [`Wal::body`]. Neighbours on the disk are
    /// read together, so asking for many at a time is much cheaper when they are not recent.
    pub fn bodies(&self, partition: PartitionId, messages: &[MessageId]) -> Vec<Result<Bytes, Error>> {
        let mut results = Vec::with_capacity(messages.len());
        let mut wanted = Vec::new();
        let mut runs = Vec::new();
        {
            let engine = self.inner.lock();
            let found = match engine.partition(partition) {
                Ok(found) => found,
                Err(error) => return messages.iter().map(|_| Err(error.clone())).collect(),
            };
            for (number, message) in messages.iter().enumerate() {
                results.push(look_up(partition, found, *message, |slot| {
                    wanted.push(Wanted { number, message: *message, slot });
                }));
            }
            wanted.sort_unstable_by_key(|wanted| (wanted.slot.segment, wanted.slot.offset));
            divide(&engine, wanted, &mut runs);
        }
        for (source, run) in runs {
            let read = self.read_run(partition, source.as_ref(), &run);
            for (wanted, result) in run.iter().zip(read) {
                if let Some(place) = results.get_mut(wanted.number) {
                    *place = result;
                }
            }
        }
        results
    }

    fn read_run(&self, partition: PartitionId, source: Option<&Source>, run: &[Wanted]) -> Vec<Result<Bytes, Error>> {
        let (Some(source), Some(first)) = (source, run.first()) else {
            return run.iter().map(|_| Err(Error::Busy)).collect();
        };
        let start = first.slot.offset;
        let end = run.iter().map(Wanted::end).max().unwrap_or(start);
        let mut bytes = vec![0; (end - start) as usize];
        let is_read = source.read(&self.inner, start, &mut bytes);
        let bytes = Bytes::from(bytes);
        let mut results = Vec::with_capacity(run.len());
        for Wanted { message, slot, .. } in run {
            let from = (slot.offset - start) as usize;
            let body = bytes.slice(from..from + slot.length() as usize);
            results.push(if is_read && crc32c::crc32c(&body) == slot.crc {
                Ok(body)
            } else if is_read || run.len() == 1 {
                let (segment, offset) = (source.segment, slot.offset);
                let (index, position) = (Some(message.index), Some(message.position));
                let what = "a body cannot be read";
                Err(self.damage(Damage { partition, segment, offset, index, position, what }))
            } else {
                // One of several could not be read: each for itself says which.
                self.read_run(partition, Some(source), &[Wanted { number: 0, message: *message, slot: *slot }])
                    .pop()
                    .unwrap_or(Err(Error::Busy))
            });
        }
        results
    }
}

/// Finds a body in memory, or says that it must be read; then the result is only a placeholder.
fn look_up(
    id: PartitionId,
    partition: Option<&Partition>,
    message: MessageId,
    want: impl FnOnce(Slot),
) -> Result<Bytes, Error> {
    let gone = Error::Gone { partition: id, message };
    let Some(partition) = partition else { return Err(gone) };
    let Some(slot) = partition.bodies.get(message) else { return Err(gone) };
    if let Some(body) = partition.recent_of(message.index).and_then(|record| record.body(message.position)) {
        return Ok(body);
    }
    want(*slot);
    Err(Error::Busy)
}

/// Divides sorted bodies into runs that are read together.
fn divide(engine: &Engine, wanted: Vec<Wanted>, runs: &mut Vec<(Option<Source>, Vec<Wanted>)>) {
    let mut start = 0;
    for next in wanted {
        if let Some((_, run)) = runs.last_mut()
            && let Some(last) = run.last()
            && last.slot.segment == next.slot.segment
            && next.slot.offset <= last.end().saturating_add(READ_GAP_BYTES_MAX)
            && next.end().saturating_sub(start) as usize <= READ_BYTES_MAX
        {
            run.push(next);
        } else {
            start = next.slot.offset;
            runs.push((Source::of(engine, next.slot.segment), vec![next]));
        }
    }
}
