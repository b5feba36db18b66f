//! Reading entries: from memory while they are recent, from their segments otherwise.

use std::{ops::Range, sync::Arc};

use braid_types::{LogIndex, PartitionId, Term};
use bytes::Bytes;

use super::Wal;
use crate::{
    Body, Damage, Error,
    disk::{DiskFile, read_exact},
    engine::Engine,
    format::{HEADER_BYTES, Header, Kind, Place, ROW_BYTES, Record, read_rows},
    index::EntrySlot,
    inner::Inner,
    names,
};

/// What is read of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Everything: for those who store it too.
    Full,
    /// Without bodies: for those who only apply it.
    Heads,
}

/// An entry that was read.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its index.
    pub index: LogIndex,
    /// Its term.
    pub term: Term,
    /// What was appended as its payload.
    pub payload: Bytes,
    /// Its bodies, each in one piece; none when only heads were asked for.
    pub bodies: Vec<Body>,
}

impl std::fmt::Debug for Entry {
    /// Its sizes: what clients sent is not for everybody.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { index, term, payload, bodies } = self;
        write!(f, "Entry({} in term {}: {} bytes, {bodies:?})", index.0, term.0, payload.len())
    }
}

/// A segment to read from. While it is held, the segment's file is not used for anything else.
pub(super) struct Source {
    pub(super) segment: u32,
    salt: u32,
    file: Option<Arc<dyn DiskFile>>,
    _reader: Arc<()>,
}

/// Where an entry is.
enum Found {
    Memory(Record),
    Disk(Source, EntrySlot),
}

impl Wal {
    /// The entries of `range` that are there, in order: from the first that is not purged, to the last, or until they
    /// have `max_bytes`; at least one.
    ///
    /// # Errors
    /// One of them is damaged, or the partition is out of service.
    pub fn entries(
        &self,
        partition: PartitionId,
        range: Range<LogIndex>,
        max_bytes: usize,
        content: Content,
    ) -> Result<Vec<Entry>, Error> {
        let found = self.locate(partition, range, max_bytes, content)?;
        let mut entries = Vec::with_capacity(found.len());
        for (index, term, found) in found {
            entries.push(match found {
                Found::Memory(record) => from_memory(index, term, &record, content),
                Found::Disk(source, slot) => self.read_entry(partition, (index, term), &source, slot, content)?,
            });
        }
        Ok(entries)
    }

    /// The same, if all of them are in memory; `None`: they must be read from the disk. Never waits for IO.
    ///
    /// # Errors
    /// The partition is out of service.
    pub fn recent_entries(
        &self,
        partition: PartitionId,
        range: Range<LogIndex>,
        max_bytes: usize,
        content: Content,
    ) -> Result<Option<Vec<Entry>>, Error> {
        let found = self.locate(partition, range, max_bytes, content)?;
        let entries = found.into_iter().map(|(index, term, found)| match found {
            Found::Memory(record) => Some(from_memory(index, term, &record, content)),
            Found::Disk(..) => None,
        });
        Ok(entries.collect())
    }

    fn locate(
        &self,
        id: PartitionId,
        range: Range<LogIndex>,
        max_bytes: usize,
        content: Content,
    ) -> Result<Vec<(LogIndex, Term, Found)>, Error> {
        let engine = self.inner.lock();
        let mut all = Vec::new();
        let Some(partition) = engine.partition(id)? else { return Ok(all) };
        let Some(first) = partition.entries.first() else { return Ok(all) };
        let mut bytes = 0;
        for index in (first.max(range.start).0..range.end.0).map(LogIndex) {
            let (Some(slot), Some(term)) = (partition.entries.get(index), partition.entries.term_of(index)) else {
                break;
            };
            let body_bytes = if content == Content::Full { slot.body_length as usize } else { 0 };
            bytes += slot.head_length as usize + body_bytes;
            if bytes > max_bytes && !all.is_empty() {
                break;
            }
            let found = match partition.recent_of(index) {
                Some(record) => Found::Memory(record.clone()),
                None => Found::Disk(Source::of(&engine, slot.segment).ok_or(Error::Busy)?, slot),
            };
            all.push((index, term, found));
        }
        Ok(all)
    }

    fn read_entry(
        &self,
        partition: PartitionId,
        (index, term): (LogIndex, Term),
        source: &Source,
        slot: EntrySlot,
        content: Content,
    ) -> Result<Entry, Error> {
        let head_end = HEADER_BYTES + slot.head_length as usize;
        let length = head_end + if content == Content::Full { slot.body_length as usize } else { 0 };
        let mut bytes = vec![0; length];
        let is_read = source.read(&self.inner, slot.offset, &mut bytes);
        let bytes = Bytes::from(bytes);
        let place = Place { segment: source.segment, salt: source.salt, offset: slot.offset };
        let header = Header::decode(&bytes, place).filter(|header| {
            (header.kind, header.partition, header.index, header.term) == (Kind::Entry, partition, index.0, term.0)
                && header.head_length == slot.head_length
        });
        let head = bytes.slice(HEADER_BYTES..head_end);
        let count =
            header.filter(|header| is_read && crc32c::crc32c(&head) == header.head_crc).map(|found| found.body_count);
        let entry = count.and_then(|count| {
            let mut bodies = Vec::new();
            for row in read_rows(&head, count).filter(|_| content == Content::Full) {
                let start = head_end + row.offset as usize;
                let body = bytes.get(start..start + row.length as usize)?;
                if crc32c::crc32c(body) != row.crc {
                    return None;
                }
                bodies.push(Body::new(row.position, bytes.slice_ref(body)));
            }
            Some(Entry { index, term, payload: head.slice(count as usize * ROW_BYTES..), bodies })
        });
        entry.ok_or_else(|| {
            let (segment, offset) = (source.segment, slot.offset);
            let what = "an entry cannot be read";
            self.damage(Damage { partition, segment, offset, index: Some(index), position: None, what })
        })
    }

    pub(super) fn damage(&self, damage: Damage) -> Error {
        self.inner.lock().damage(damage.clone());
        Error::Damaged(damage)
    }
}

impl Source {
    /// The segment of that number; `None` if it is not written yet.
    pub(super) fn of(engine: &Engine, segment: u32) -> Option<Self> {
        let found = engine.segments.get(segment)?;
        Some(Self { segment, salt: found.salt, file: found.file.clone(), _reader: Arc::clone(&found.readers) })
    }

    /// Whether all of `buffer` could be read.
    pub(super) fn read(&self, inner: &Inner, offset: u32, buffer: &mut [u8]) -> bool {
        let file = match &self.file {
            Some(file) => Ok(Arc::clone(file)),
            None => inner.disk.open(&names::segment(self.segment)).inspect(|file| {
                inner.lock().segments.keep_open(self.segment, file);
            }),
        };
        file.and_then(|file| read_exact(&*file, u64::from(offset), buffer)).is_ok()
    }
}

fn from_memory(index: LogIndex, term: Term, record: &Record, content: Content) -> Entry {
    let rows = record.rows().filter(|_| content == Content::Full);
    let bodies = rows.map(|row| Body::new(row.position, record.body_of(&row))).collect();
    Entry { index, term, payload: record.payload(), bodies }
}
