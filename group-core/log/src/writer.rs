//! The one writer of the log: takes all that waits, writes it as one batch, syncs once, tells all.
//!
//! It is a loop without a clock: a batch closes because the disk is idle, never because time passed. [`Writer::spawn`]
//! drives it with a thread; a simulation calls [`Writer::step`].
//!
//! Invariants: a batch is only begun when all before it are synced; nothing that is synced is ever written over; after a
//! failed write or sync nothing is written any more.

mod batch;
mod roll;
mod thread;

use std::{io, sync::Arc};

use crate::{
    Callback, Error,
    disk::DiskFile,
    engine::{Ready, Take, complete::Written},
    format::{BLOCK_BYTES, ChainEnd, DATA_OFFSET, END_BYTES, Kind, MARK_BYTES_MAX, Mark, Place, length_u32, round_up},
    inner::Inner,
    limits::RECORDS_PER_LOCK,
    names,
};

pub(crate) use roll::{make, write_end};
pub use thread::WriterThread;

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something. There may be more.
    Worked,
    /// Nothing: there is nothing to do for now.
    Idle,
    /// Nothing, and there will never be anything: the log is closed or failed.
    Stopped,
}

/// The segment that is written.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) segment: u32,
    pub(crate) salt: u32,
    pub(crate) size_bytes: u32,
    pub(crate) file: Arc<dyn DiskFile>,
    /// Where the next batch goes; a multiple of a block.
    pub(crate) offset: u32,
    /// What the last batch held.
    pub(crate) previous: Vec<ChainEnd>,
}

impl Current {
    pub(crate) fn new(ready: Ready) -> Self {
        let Ready { segment, salt, size_bytes, file } = ready;
        Self { segment, salt, size_bytes, file, offset: DATA_OFFSET, previous: Vec::new() }
    }

    /// Bytes that records can still have.
    pub(crate) fn room_bytes(&self) -> usize {
        ((self.size_bytes - self.offset) as usize).saturating_sub(END_BYTES + MARK_BYTES_MAX)
    }

    fn place(&self, offset: u32) -> Place {
        Place { segment: self.segment, salt: self.salt, offset }
    }

    fn name(&self) -> String {
        names::segment(self.segment)
    }
}

/// See the file's head.
#[derive(Debug)]
pub struct Writer {
    inner: Arc<Inner>,
    current: Current,
    /// Of the next mark.
    number: u64,
    sealed: Sealed,
}

/// Whether the disk knows that the last batch was synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sealed {
    No,
    /// It will, if there is no power loss soon.
    Written,
    Synced,
}

impl Writer {
    pub(crate) fn new(inner: Arc<Inner>, current: Current, number: u64) -> Self {
        let writer = Self { inner, current, number, sealed: Sealed::Synced };
        writer.publish(&mut writer.inner.lock());
        writer
    }

    /// Writes one batch of what waits, or, when nothing does, what says that all before it was synced.
    pub fn step(&mut self) -> Step {
        let taken = self.inner.lock().take(self.current.room_bytes());
        match taken {
            Take::Batch(batch, ends) => self.write_batch(batch, ends),
            Take::NoRoom => self.roll(),
            Take::Nothing if self.sealed != Sealed::No => return Step::Idle,
            Take::Nothing => self.seal(Sealed::Written),
            Take::Stop if self.sealed == Sealed::Synced || self.inner.lock().failure.is_some() => return Step::Stopped,
            Take::Stop => self.seal(Sealed::Synced),
        }
        .map_or(Step::Stopped, |()| Step::Worked)
    }

    /// Says that the last batch was synced, so that damage of it is not taken for a torn tail. The next batch is written
    /// over it. Not synced, unless it is the last thing of a run: it is a hint.
    fn seal(&mut self, sealed: Sealed) -> Result<(), Error> {
        let offset = self.current.offset;
        let previous = self.current.previous.clone();
        let mark = Mark { kind: Kind::Seal, number: self.number, extent: offset, own: Vec::new(), previous };
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        mark.encode(self.current.place(offset), &mut block);
        block.resize(round_up(block.len(), BLOCK_BYTES), 0);
        let mut written = self.write(offset, &block);
        if sealed == Sealed::Synced && written.is_ok() {
            written = self.current.file.sync_data();
        }
        self.sealed = sealed;
        written.map_err(|error| self.fail(&error, Vec::new()))
    }

    fn write(&self, offset: u32, bytes: &[u8]) -> io::Result<()> {
        crate::disk::write_all(&*self.current.file, u64::from(offset), &mut [io::IoSlice::new(bytes)])
    }

    /// Tells the engine which segment is written, and how much room it has.
    fn publish(&self, engine: &mut crate::engine::Engine) {
        let current = &self.current;
        engine.room_bytes = current.room_bytes();
        if engine.segments.get(current.segment).is_none() {
            let file = Some(Arc::clone(&current.file));
            engine
                .segments
                .insert(current.segment, crate::engine::Segment::new(current.salt, current.size_bytes, file));
        }
    }

    fn fail(&self, error: &io::Error, others: Vec<Callback>) -> Error {
        self.inner.fail(&format!("{}: {error}", self.current.name()), others)
    }

    /// Takes note of what is on disk, and tells all who waited for it.
    fn complete(&mut self, batch: Vec<Written>) {
        let mut callbacks = Vec::with_capacity(batch.len());
        let mut rest = batch.into_iter().peekable();
        while rest.peek().is_some() {
            // Some at a time: who appends meanwhile does not wait for all of a large batch.
            let mut engine = self.inner.lock();
            engine.complete(self.current.segment, rest.by_ref().take(RECORDS_PER_LOCK), &mut callbacks);
            if rest.peek().is_none() {
                engine.statistics.batches += 1;
                self.publish(&mut engine);
            }
        }
        for done in callbacks {
            done(Ok(()));
        }
    }
}

/// A position in a segment that is known to fit.
fn advance(offset: u32, bytes: usize) -> u32 {
    offset.saturating_add(length_u32(bytes))
}
