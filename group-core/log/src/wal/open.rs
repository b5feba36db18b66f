//! Opening the log: recovery, ending what a crash left open, and files to go on with.

use std::{collections::VecDeque, io, ops::Range, sync::Arc};

use super::Wal;
use crate::{
    Error, Maintenance, Options, Recovery, Writer,
    disk::{Disk, DiskFile, fill_with_zeros, is_full, read_exact, write_all},
    engine::{Engine, Pool, Ready},
    files,
    format::{BLOCK_BYTES, Kind, Mark, Place},
    inner::Inner,
    names::{self, FileKind},
    recovery::{self, Last},
    snapshot,
    writer::{Current, make, write_end},
};

/// An open log. Writer and maintenance must be driven: by threads ([`Writer::spawn`], [`Maintenance::spawn`]) or step
/// by step.
#[derive(Debug)]
pub struct Opened {
    /// The handle.
    pub wal: Wal,
    /// Writes what is submitted.
    pub writer: Writer,
    /// Does the rest.
    pub maintenance: Maintenance,
    /// What was found.
    pub recovery: Recovery,
}

impl Wal {
    /// Opens the log on a disk, or makes it on an empty one.
    ///
    /// # Errors
    /// It is another's, cannot be read at all, or there is no room for anything.
    pub fn open(options: Options, disk: Arc<dyn Disk>) -> Result<Opened, Error> {
        options.check()?;
        // What is seen in the directory may not be on the disk yet, when the process before was killed.
        disk.sync_directory().map_err(|error| Error::io("the log's directory", &error))?;
        let names = disk.list().map_err(|error| Error::io("the log's directory", &error))?;
        let found: Vec<FileKind> = names.iter().filter_map(|name| names::kind_of(name)).collect();
        let mut engine = Engine::new(&options);
        let segments: Vec<u32> =
            numbers(&found, |kind| if let FileKind::Segment(number) = kind { Some(number) } else { None });
        let mut tail = recovery::recover(&*disk, &options, &segments, &mut engine)?;
        snapshot::load(&*disk, options.identity, &found, &mut engine)?;
        // Mixed with what every run changes: a number that a removed file had never comes with the same salt again.
        let seed = options.seed ^ tail.number.rotate_left(32);
        prepare_pool(&*disk, &options, &found, (&tail.unused, seed), &mut engine.pool)?;
        let first = match take_first(&*disk, &options, &mut engine.pool) {
            Err(Error::DiskFull) => {
                engine.pool.is_full = true;
                go_on_in_tail(&mut tail, &mut engine)?
            }
            first => {
                let first = Current::new(first?);
                end_last_segment(&mut tail)?;
                first
            }
        };
        let inner = Inner::new(disk, options, engine);
        let writer = Writer::new(Arc::clone(&inner), first, tail.number + 1);
        let maintenance = Maintenance::new(Arc::clone(&inner));
        Ok(Opened { wal: Self { inner }, writer, maintenance, recovery: tail.recovery })
    }
}

fn numbers(found: &[FileKind], of: impl Fn(FileKind) -> Option<u32>) -> Vec<u32> {
    found.iter().filter_map(|kind| of(*kind)).collect()
}

/// Ends the segment that was written last, so that whatever is torn behind its end is never looked at again.
fn end_last_segment(tail: &mut recovery::Tail) -> Result<(), Error> {
    let Some(Last { scanned, segment, salt, file }) = tail.last.take() else { return Ok(()) };
    if !scanned.is_ended {
        tail.number += 1;
    }
    let (extent, previous) = (scanned.end, scanned.previous);
    let end = Mark { kind: Kind::End, number: tail.number, extent, own: Vec::new(), previous };
    write_again(&*file, scanned.last_batch..extent)
        .and_then(|()| write_end(&*file, &end, Place { segment, salt, offset: extent }))
        .map_err(|error| Error::io(&names::segment(segment), &error))
}

/// Writes what is there once more. The last batch may have been read from the operating system's cache only: when the
/// process was killed before its sync, or the sync failed. Written again and synced, it is known to be on the disk.
fn write_again(file: &dyn DiskFile, range: Range<u32>) -> io::Result<()> {
    let mut buffer = vec![0; BLOCK_BYTES];
    for at in range.step_by(BLOCK_BYTES) {
        // What cannot be read is damaged, and stays so.
        if read_exact(file, at.into(), &mut buffer).is_ok() {
            write_all(file, at.into(), &mut [io::IoSlice::new(&buffer)])?;
        }
    }
    Ok(())
}

/// On a full disk: makes the rest of the segment that was written last as if it had never been written, and goes on
/// there.
fn go_on_in_tail(tail: &mut recovery::Tail, engine: &mut Engine) -> Result<Current, Error> {
    let last = tail.last.take().filter(|last| !last.scanned.is_ended);
    let Some(Last { scanned, segment, salt, file }) = last else { return Err(Error::DiskFull) };
    let (offset, previous) = (scanned.end, scanned.previous);
    let Some(found) = engine.segments.get_mut(segment) else { return Err(Error::DiskFull) };
    let size_bytes = found.size_bytes;
    let current = Current { segment, salt, size_bytes, file: Arc::clone(&file), offset, previous };
    if current.room_bytes() < BLOCK_BYTES {
        return Err(Error::DiskFull);
    }
    write_again(&*file, scanned.last_batch..offset)
        .and_then(|()| fill_with_zeros(&*file, offset.into()..size_bytes.into()))
        .and_then(|()| file.sync_data())
        .map_err(|error| Error::io(&names::segment(segment), &error))?;
    found.is_closed = false;
    found.file = Some(file);
    Ok(current)
}

/// Gathers the files that can be used again, and makes the reserve.
fn prepare_pool(
    disk: &dyn Disk,
    options: &Options,
    found: &[FileKind],
    (unused, seed): (&[u32], u64),
    pool: &mut Pool,
) -> Result<(), Error> {
    let all = numbers(found, |kind| match kind {
        FileKind::Segment(number) | FileKind::Spare(number) => Some(number),
        _ => None,
    });
    pool.begin(all.iter().max().map_or(1, |last| last.saturating_add(1)), seed);
    pool.has_ballast = found.contains(&FileKind::Ballast);
    let mut spares: VecDeque<u32> =
        numbers(found, |kind| if let FileKind::Spare(number) = kind { Some(number) } else { None }).into();
    for number in unused {
        let name = names::segment(*number);
        disk.rename(&name, &names::spare(*number)).map_err(|error| Error::io(&name, &error))?;
        spares.push_back(*number);
    }
    if !unused.is_empty() {
        disk.sync_directory().map_err(|error| Error::io("the log's directory", &error))?;
    }
    for number in spares {
        let name = names::spare(number);
        let size = disk.open(&name).and_then(|file| file.size_bytes());
        if size.map_err(|error| Error::io(&name, &error))? == u64::from(options.segment_bytes) {
            pool.spares.push_back(number);
        } else {
            disk.remove(&name).map_err(|error| Error::io(&name, &error))?;
        }
    }
    Ok(())
}

/// The segment to begin with; and as many as are kept back for a full disk.
fn take_first(disk: &dyn Disk, options: &Options, pool: &mut Pool) -> Result<Ready, Error> {
    let first = match obtain(disk, options, pool) {
        Ok(ready) => ready,
        Err(error) if is_full(&error) => return Err(Error::DiskFull),
        Err(error) => return Err(Error::io("a new segment", &error)),
    };
    while pool.ready.len() < options.reserve_segments {
        match obtain(disk, options, pool) {
            Ok(ready) => pool.ready.push_back(ready),
            Err(error) if is_full(&error) => {
                pool.is_full = true;
                break;
            }
            Err(error) => return Err(Error::io("a new segment", &error)),
        }
    }
    Ok(first)
}

/// A segment made of a spare file, or a new one.
fn obtain(disk: &dyn Disk, options: &Options, pool: &mut Pool) -> io::Result<Ready> {
    let number = pool.next();
    match pool.spares.pop_front() {
        Some(spare) => {
            let name = names::spare(spare);
            let file = disk.open(&name)?;
            files::make_ready(disk, &name, file, number, options)
        }
        None => make(disk, number, options),
    }
}
