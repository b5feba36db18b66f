//! Reading the log after a start: what is there, what was torn, what is damaged.
//!
//! Segments are read in the order in which they were written, batch by batch, and applied to an empty engine as they
//! were submitted. Nothing is written, and no body stays in memory.
//!
//! A batch that is not whole is torn if nothing was begun after it: then it was never confirmed, and is cut off. If
//! anything was begun after it, it had been synced, and what is not whole in it is damaged: whose it is say the records
//! themselves, the marks around them, and the numbers of the partitions' chains. Only where all of these are gone are
//! partitions suspected that may be whole.

mod doubts;
mod replay;
mod scan;
mod walk;

use std::sync::Arc;

use braid_types::PartitionId;

pub(crate) use replay::Replay;
pub(crate) use scan::Scanned;

use crate::{
    Damage, Error, Options,
    disk::{Disk, DiskFile, read_exact},
    engine::{Engine, Segment},
    format::{BLOCK_BYTES, DATA_OFFSET, SegmentHeader},
    names,
    window::Window,
};

/// What a start found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// All partitions that there are, damaged ones too.
    pub partitions: Vec<PartitionId>,
    /// Everything that was found damaged, also where nothing of it is needed any more. The partitions that it takes out
    /// of service say so when they are asked for anything.
    pub damages: Vec<Damage>,
    /// Places (segment and byte) where it cannot be told whose records are lost. All partitions that cannot show that
    /// they lost nothing there are out of service; one whose records were all there is not known any more, so a
    /// partition that should be here and is not must not begin anew.
    pub unattributed: Vec<(u32, u32)>,
    /// A batch that a crash had torn was cut off: segment and byte.
    pub torn_at: Option<(u32, u32)>,
    /// Segments that hold something.
    pub segments: usize,
    /// Records read.
    pub records: u64,
    /// Bytes read of them.
    pub size_bytes: u64,
}

/// A segment file as it was found.
struct Candidate {
    segment: u32,
    salt: u32,
    size_bytes: u32,
    file: Arc<dyn DiskFile>,
    /// Of the first mark.
    number: u64,
}

/// The segment that was written last.
#[derive(Debug)]
pub(crate) struct Last {
    pub(crate) scanned: Scanned,
    pub(crate) segment: u32,
    pub(crate) salt: u32,
    pub(crate) file: Arc<dyn DiskFile>,
}

/// What the log's end is like.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) recovery: Recovery,
    /// Of the last mark.
    pub(crate) number: u64,
    /// The last segment.
    pub(crate) last: Option<Last>,
    /// Segments that hold nothing.
    pub(crate) unused: Vec<u32>,
}

/// Reads the segments of these numbers into `engine`.
pub(crate) fn recover(
    disk: &dyn Disk,
    options: &Options,
    segments: &[u32],
    engine: &mut Engine,
) -> Result<Tail, Error> {
    let mut candidates = Vec::new();
    let mut unused = Vec::new();
    let mut unreadable = Vec::new();
    for segment in segments {
        match examine(disk, options, *segment)? {
            Examined::Holds(candidate) => candidates.push(candidate),
            Examined::Unused => unused.push(*segment),
            Examined::Unreadable => unreadable.push(*segment),
        }
    }
    candidates.sort_by_key(|candidate| candidate.number);
    let mut replay = Replay::new(engine);
    let (mut number, mut last) = (0, None);
    let count = candidates.len();
    for (place, candidate) in candidates.into_iter().enumerate() {
        let is_last = place + 1 == count;
        let Candidate { segment, salt, size_bytes, file, .. } = candidate;
        // It stays closed until somebody reads from it.
        replay.begin_segment(segment, Segment::new(salt, size_bytes, None));
        let window = Window::new(Arc::clone(&file), size_bytes);
        let scanned = scan::Scan::new(window, segment, salt, number).run(is_last, &mut replay);
        replay.end_segment(segment, scanned.end);
        number = scanned.number;
        last = Some(Last { scanned, segment, salt, file });
    }
    for segment in unreadable {
        replay.lose_segment(segment);
    }
    let mut recovery = replay.finish();
    recovery.segments = count;
    recovery.torn_at = last.as_ref().filter(|last| last.scanned.is_torn).map(|last| (last.segment, last.scanned.end));
    Ok(Tail { recovery, number, last, unused })
}

enum Examined {
    Holds(Candidate),
    Unused,
    /// Its header is gone, twice: what it held cannot be told.
    Unreadable,
}

fn examine(disk: &dyn Disk, options: &Options, segment: u32) -> Result<Examined, Error> {
    let name = names::segment(segment);
    let file = disk.open(&name).map_err(|error| Error::io(&name, &error))?;
    let mut head = vec![0; DATA_OFFSET as usize];
    for block in 0..2 {
        // One that cannot be read stays zero; the other copy may do.
        if let Some(copy) = head.get_mut(block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES) {
            let read = read_exact(&*file, (block * BLOCK_BYTES) as u64, copy);
            if read.is_err() {
                copy.fill(0);
            }
        }
    }
    let Some(header) = SegmentHeader::decode(&head).filter(|header| header.segment == segment) else {
        return Ok(Examined::Unreadable);
    };
    if header.identity != options.identity {
        return Err(Error::NotOurs { file: name, why: "it was written by another node or disk".to_owned() });
    }
    let SegmentHeader { salt, size_bytes, .. } = header;
    let window = Window::new(Arc::clone(&file), size_bytes);
    let first = scan::Scan::new(window, segment, salt, 0).first_number();
    Ok(first.map_or(Examined::Unused, |number| Examined::Holds(Candidate { segment, salt, size_bytes, file, number })))
}
