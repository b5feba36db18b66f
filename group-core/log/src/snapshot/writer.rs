//! Writing a snapshot.

use std::{collections::BTreeSet, io::IoSlice, sync::Arc};

use super::{Capture, Manifest, SnapshotMeta, SnapshotReader, disk::with_ballast, manifest::Part};
use crate::{
    Error,
    disk::{DiskFile, write_all},
    format::length_u32,
    limits::{PACKS_PER_SNAPSHOT_MAX, PART_BYTES_MAX, PARTS_PER_SNAPSHOT_MAX},
    names::{self, Life},
};

const BUFFER_BYTES: usize = 256 * 1024;

/// A snapshot that is being written: part by part, by ascending key, then [`SnapshotWriter::finish`]. Dropped before
/// that, it leaves nothing.
#[derive(Debug)]
pub struct SnapshotWriter {
    capture: Capture,
    manifest: Manifest,
    /// The snapshot before it, for the parts that are kept.
    previous: Option<SnapshotReader>,
    /// Its parts files that are too sparse to be kept.
    dissolved: BTreeSet<u32>,
    pack: u32,
    /// Made with the first part that is written.
    file: Option<Arc<dyn DiskFile>>,
    offset: u64,
    buffer: Vec<u8>,
    is_finished: bool,
}

impl SnapshotWriter {
    pub(crate) fn new(capture: Capture, meta: SnapshotMeta) -> Result<Self, Error> {
        crate::engine::submit::check_note(&meta.note)?;
        let inner = Arc::clone(&capture.inner);
        let partition = capture.partition;
        let (birth, previous) = {
            let engine = inner.lock();
            let found = engine.partition(partition)?;
            found.map_or((0, None), |found| (found.birth, found.snapshot.clone()))
        };
        let packs = previous.as_ref().map(|manifest| manifest.packs()).unwrap_or_default();
        let pack = packs.last_key_value().map_or(1, |(number, _)| number.saturating_add(1));
        let mut dissolved: BTreeSet<u32> =
            packs.iter().filter(|(_, (live, end))| live * 2 < *end).map(|(number, _)| *number).collect();
        if packs.len() - dissolved.len() >= PACKS_PER_SNAPSHOT_MAX {
            let smallest =
                packs.iter().filter(|(number, _)| !dissolved.contains(number)).min_by_key(|(_, size)| size.0);
            dissolved.extend(smallest.map(|(number, _)| *number));
        }
        let previous = previous.map(|manifest| SnapshotReader::new(&inner, manifest));
        let life = Life { partition, birth };
        let manifest = Manifest { life, meta, parts: Vec::new() };
        let (file, offset, buffer, is_finished) = (None, 0, Vec::new(), false);
        Ok(Self { capture, manifest, previous, dissolved, pack, file, offset, buffer, is_finished })
    }

    /// Writes a part.
    ///
    /// # Errors
    /// It is too large, its key does not ascend, or the disk does not take it.
    pub fn put(&mut self, key: u64, bytes: &[u8]) -> Result<(), Error> {
        self.check_key(key)?;
        if bytes.len() > PART_BYTES_MAX {
            return Err(Error::TooLarge { what: "part of a snapshot", size: bytes.len(), max: PART_BYTES_MAX });
        }
        let offset = self.offset + self.buffer.len() as u64;
        let (length, crc, pack) = (length_u32(bytes.len()), crc32c::crc32c(bytes), self.pack);
        self.manifest.parts.push(Part { key, offset, length, crc, pack });
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Keeps a part as the snapshot before has it.
    ///
    /// # Errors
    /// It has none of that key, the key does not ascend, or the part cannot be copied where it has to be.
    pub fn keep(&mut self, key: u64) -> Result<(), Error> {
        let part = self.previous.as_ref().and_then(|previous| previous.manifest().part(key));
        let part = part.ok_or(Error::NoSuchPart { key })?;
        if self.dissolved.contains(&part.pack) {
            let bytes = self.previous.as_ref().map(|previous| previous.read(key)).transpose()?.flatten();
            return self.put(key, &bytes.unwrap_or_default());
        }
        self.check_key(key)?;
        self.manifest.parts.push(part);
        Ok(())
    }

    /// Makes the snapshot the one that counts. It is durable when this returns, and what was forgotten before its
    /// capture is given up.
    ///
    /// # Errors
    /// The disk does not take it; the snapshot before still counts.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        let inner = Arc::clone(&self.capture.inner);
        let (disk, life) = (&*inner.disk, self.manifest.life);
        if let Some(file) = &self.file {
            with_ballast(&inner, &names::parts(life, self.pack), || file.sync_data())?;
        }
        let bytes = self.manifest.encode(inner.options.identity);
        let (making, name) = (names::making(life), names::snapshot(life, self.manifest.meta.last));
        with_ballast(&inner, &making, || {
            let file = disk.create(&making)?;
            write_all(&*file, 0, &mut [IoSlice::new(&bytes)])?;
            file.sync_data()
        })?;
        with_ballast(&inner, &name, || disk.rename(&making, &name).and_then(|()| disk.sync_directory()))?;
        self.is_finished = true;
        let manifest = Arc::new(self.manifest.clone());
        {
            let mut engine = inner.lock();
            // Unless it was removed meanwhile.
            if let Some(found) = engine.partitions.get_mut(&life.partition).filter(|found| found.birth == life.birth) {
                found.snapshot = Some(Arc::clone(&manifest));
                if self.capture.is_separate {
                    found.begin_sweep();
                }
            }
        }
        inner.wake_maintenance();
        if let Some(previous) = &self.previous {
            remove_replaced(disk, previous.manifest(), &manifest);
        }
        Ok(())
    }

    fn check_key(&self, key: u64) -> Result<(), Error> {
        let count = self.manifest.parts.len();
        if count >= PARTS_PER_SNAPSHOT_MAX {
            return Err(Error::TooLarge { what: "number of parts", size: count + 1, max: PARTS_PER_SNAPSHOT_MAX });
        }
        if self.manifest.parts.last().is_some_and(|last| last.key >= key) {
            return Err(Error::PositionsUnordered);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let inner = &self.capture.inner;
        let name = names::parts(self.manifest.life, self.pack);
        let (file, offset, buffer) = (&mut self.file, self.offset, &self.buffer);
        with_ballast(inner, &name, || {
            let file = match file {
                Some(file) => file,
                None => file.insert(inner.disk.create(&name)?),
            };
            write_all(&**file, offset, &mut [IoSlice::new(buffer)])
        })?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Drop for SnapshotWriter {
    fn drop(&mut self) {
        if !self.is_finished {
            // Whatever cannot be removed now is at the next start.
            let (disk, life) = (&self.capture.inner.disk, self.manifest.life);
            drop(disk.remove(&names::making(life)));
            if self.file.is_some() {
                drop(disk.remove(&names::parts(life, self.pack)));
            }
        }
    }
}

/// Removes what only the snapshot before needed. What cannot be removed now is at the next start.
fn remove_replaced(disk: &dyn crate::disk::Disk, old: &Manifest, new: &Manifest) {
    if old.meta.last != new.meta.last {
        drop(disk.remove(&names::snapshot(old.life, old.meta.last)));
    }
    let needed = new.packs();
    for number in old.packs().into_keys().filter(|number| !needed.contains_key(number)) {
        drop(disk.remove(&names::parts(old.life, number)));
    }
}
