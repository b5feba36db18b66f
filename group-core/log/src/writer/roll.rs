//! Going on to the next segment.

use std::{io, sync::Arc};

use super::{Current, Sealed, Writer, advance};
use crate::{
    Error,
    disk::{Disk, is_full},
    engine::Ready,
    files,
    format::{BLOCK_BYTES, Kind, Mark},
};

impl Writer {
    /// Ends the segment and begins the next one.
    pub(super) fn roll(&mut self) -> Result<(), Error> {
        let offset = self.current.offset;
        let previous = std::mem::take(&mut self.current.previous);
        let end = Mark { kind: Kind::End, number: self.number, extent: offset, own: Vec::new(), previous };
        write_end(&*self.current.file, &end, self.current.place(offset))
            .map_err(|error| self.fail(&error, Vec::new()))?;
        self.number += 1;
        let next = match self.take_ready() {
            Ok(Some(next)) => next,
            Ok(None) => {
                let full = io::Error::new(io::ErrorKind::StorageFull, "the disk is full, and so is the reserve");
                return Err(self.fail(&full, Vec::new()));
            }
            Err(error) => return Err(self.fail(&error, Vec::new())),
        };
        let mut engine = self.inner.lock();
        engine.segments.close(self.current.segment, offset);
        engine.statistics.rolls += 1;
        self.current = Current::new(next);
        self.sealed = Sealed::Synced;
        self.publish(&mut engine);
        drop(engine);
        self.inner.wake_maintenance();
        Ok(())
    }

    /// The next segment: a ready one that is not reserved, else one made now, else, on a full disk, a reserved one.
    fn take_ready(&self) -> io::Result<Option<Ready>> {
        let number = {
            let mut engine = self.inner.lock();
            let pool = &mut engine.pool;
            if pool.is_full || pool.ready.len() > self.inner.options.reserve_segments {
                return Ok(pool.ready.pop_front());
            }
            pool.next()
        };
        match make(&*self.inner.disk, number, &self.inner.options) {
            Ok(ready) => Ok(Some(ready)),
            Err(error) if is_full(&error) => {
                let mut engine = self.inner.lock();
                engine.pool.is_full = true;
                Ok(engine.pool.ready.pop_front())
            }
            Err(error) => Err(error),
        }
    }
}

/// Makes a segment that has its room, but was not written before: the first writes of each block cost more.
pub(crate) fn make(disk: &dyn Disk, (segment, salt): (u32, u32), options: &crate::Options) -> io::Result<Ready> {
    let name = crate::names::spare(segment);
    let file = disk.create(&name)?;
    let made = file
        .preallocate(u64::from(options.segment_bytes))
        .and_then(|()| files::make_ready(disk, &name, Arc::clone(&file), (segment, salt), options));
    if made.is_err() {
        // What is left of it is removed at the next start, if not now.
        drop(disk.remove(&name));
    }
    made
}

/// Writes both copies of the mark that ends a segment, and syncs.
pub(crate) fn write_end(file: &dyn crate::disk::DiskFile, end: &Mark, place: crate::format::Place) -> io::Result<()> {
    let mut blocks = Vec::with_capacity(2 * BLOCK_BYTES);
    for copy in 0..2 {
        let offset = advance(place.offset, copy * BLOCK_BYTES);
        end.encode(crate::format::Place { offset, ..place }, &mut blocks);
        blocks.resize((copy + 1) * BLOCK_BYTES, 0);
    }
    crate::disk::write_all(file, u64::from(place.offset), &mut [io::IoSlice::new(&blocks)])?;
    file.sync_data()
}
