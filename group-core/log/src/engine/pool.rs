//! Files for segments to come: ready ones, dead ones to be used again, and whether the disk has room for more.

use std::{collections::VecDeque, sync::Arc};

use crate::disk::DiskFile;

/// A segment that can be written at once: its header is durable.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) segment: u32,
    pub(crate) salt: u32,
    pub(crate) size_bytes: u32,
    pub(crate) file: Arc<dyn DiskFile>,
}

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) ready: VecDeque<Ready>,
    /// Files of full size that hold nothing any more, by their number.
    pub(crate) spares: VecDeque<u32>,
    /// The disk was full at the last attempt to make a file.
    pub(crate) is_full: bool,
    pub(crate) has_ballast: bool,
    next: u32,
    seed: u64,
}

impl Pool {
    pub(crate) fn begin(&mut self, next: u32, seed: u64) {
        self.next = next;
        self.seed = seed;
    }

    /// A number that no file ever had, and a salt that nobody can guess without the seed.
    pub(crate) fn next(&mut self) -> (u32, u32) {
        let segment = self.next;
        self.next += 1;
        (segment, salt(self.seed, segment))
    }
}

/// The salt of a segment: a mix of the run's seed and its number.
fn salt(seed: u64, segment: u32) -> u32 {
    let mut mixed = seed ^ u64::from(segment).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    u32::try_from(mixed >> 32).unwrap_or_default()
}
