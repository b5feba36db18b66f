//! Segments to come: made of spare files, or written with zeros once, so that later writes change no metadata.

use std::{io, sync::Arc};

use super::Maintenance;
use crate::{
    Error,
    disk::{DiskFile, fill_with_zeros},
    engine::{Engine, Ready},
    files,
    limits::{MAINTENANCE_BYTES_PER_STEP, SPARE_SEGMENTS_MAX},
    names,
};

/// A file that is written with zeros.
#[derive(Debug)]
pub(super) struct Growing {
    number: u32,
    file: Arc<dyn DiskFile>,
    offset: u64,
}

/// What is to be done.
enum Job {
    UseSpare(u32, (u32, u32)),
    RemoveSpare(u32),
    Begin(u32),
    MakeBallast,
    Resume,
}

impl Maintenance {
    /// Does one thing for the segments to come. Whether there was any.
    pub(super) fn prepare(&mut self) -> Result<bool, Error> {
        if self.growing.is_some() {
            return self.grow();
        }
        let Some(job) = self.next_job(&mut self.inner.lock()) else { return Ok(false) };
        match job {
            Job::UseSpare(spare, number) => self.use_spare(spare, number),
            Job::RemoveSpare(spare) => {
                let name = names::spare(spare);
                self.settle(&name, self.inner.disk.remove(&name))
            }
            Job::Begin(number) => self.begin(number),
            Job::MakeBallast => {
                let worked = self.settle(names::BALLAST, make_ballast(&self.inner))?;
                self.inner.lock().pool.has_ballast = worked;
                Ok(worked)
            }
            Job::Resume => {
                self.inner.lock().pool.is_full = false;
                Ok(true)
            }
        }
    }

    fn next_job(&self, engine: &mut Engine) -> Option<Job> {
        let options = &self.inner.options;
        let pool = &mut engine.pool;
        if pool.ready.len() < options.ready_segments + options.reserve_segments {
            return Some(match pool.spares.pop_front() {
                Some(spare) => Job::UseSpare(spare, pool.next()),
                None => Job::Begin(pool.next().0),
            });
        }
        if !pool.has_ballast && options.ballast_bytes > 0 {
            return Some(Job::MakeBallast);
        }
        if pool.is_full {
            return Some(Job::Resume);
        }
        if pool.spares.len() > SPARE_SEGMENTS_MAX {
            return pool.spares.pop_back().map(Job::RemoveSpare);
        }
        None
    }

    fn use_spare(&self, spare: u32, number: (u32, u32)) -> Result<bool, Error> {
        let (disk, name) = (&*self.inner.disk, names::spare(spare));
        let made = disk.open(&name).and_then(|file| files::make_ready(disk, &name, file, number, &self.inner.options));
        self.keep(&name, made, Some(spare))
    }

    /// Takes a segment that was made ready; otherwise its file, if it is still whole, for another time.
    fn keep(&self, name: &str, made: io::Result<Ready>, spare: Option<u32>) -> Result<bool, Error> {
        match made {
            Ok(ready) => {
                self.inner.lock().pool.ready.push_back(ready);
                Ok(true)
            }
            Err(error) => {
                self.inner.lock().pool.spares.extend(spare);
                self.settle(name, Err(error))
            }
        }
    }

    fn begin(&mut self, number: u32) -> Result<bool, Error> {
        let name = names::spare(number);
        let size_bytes = u64::from(self.inner.options.segment_bytes);
        // The room first, so that a full disk shows before it is filled to the last byte.
        let made = self.inner.disk.create(&name).and_then(|file| file.preallocate(size_bytes).map(|()| file));
        if let Ok(file) = &made {
            self.growing = Some(Growing { number, file: Arc::clone(file), offset: 0 });
        } else {
            drop(self.inner.disk.remove(&name));
        }
        self.settle(&name, made.map(drop))
    }

    /// Writes some more zeros; at the end the file is a spare one.
    fn grow(&mut self) -> Result<bool, Error> {
        let Some(growing) = &mut self.growing else { return Ok(false) };
        let name = names::spare(growing.number);
        let size = u64::from(self.inner.options.segment_bytes);
        let done = growing.write_some(size);
        self.moved_bytes += MAINTENANCE_BYTES_PER_STEP;
        let is_complete = growing.offset >= size;
        if done.is_err() {
            self.growing = None;
            // What is left of it is removed at the next start, if not now.
            drop(self.inner.disk.remove(&name));
        } else if is_complete && let Some(growing) = self.growing.take() {
            self.inner.lock().pool.spares.push_front(growing.number);
        }
        self.settle(&name, done)
    }
}

impl Growing {
    fn write_some(&mut self, size: u64) -> io::Result<()> {
        let upto = size.min(self.offset + MAINTENANCE_BYTES_PER_STEP as u64);
        fill_with_zeros(&*self.file, self.offset..upto)?;
        self.offset = upto;
        // A little at a time, so that the disk is never busy with it for long.
        self.file.sync_data()
    }
}

/// Makes the file that is given up when a snapshot finds the disk full.
fn make_ballast(inner: &crate::inner::Inner) -> io::Result<()> {
    let file = inner.disk.create(names::BALLAST)?;
    let made = file.preallocate(inner.options.ballast_bytes).and_then(|()| inner.disk.sync_directory());
    if made.is_err() {
        drop(inner.disk.remove(names::BALLAST));
    }
    made
}
