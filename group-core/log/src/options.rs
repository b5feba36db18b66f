//! What a log is opened with.

use crate::{
    Error,
    format::{BLOCK_BYTES, SEGMENT_OVERHEAD_BYTES},
    limits,
};

/// What a log is opened with. Sizes are bytes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names the disk, so that one that was exchanged shows. Written into each segment; a segment with another one is
    /// refused.
    pub identity: u128,
    /// Randomness for the salts of this run's segments: unpredictable in production, so that no client can write a
    /// body that looks like a record; fixed in a simulation.
    pub seed: u64,
    /// Size of a segment file; a multiple of 4,096.
    pub segment_bytes: u32,
    /// Segments that are prepared ahead of their use.
    pub ready_segments: usize,
    /// Segments kept back for the time when the disk is full.
    pub reserve_segments: usize,
    /// Size of the file that is given up when a snapshot finds the disk full.
    pub ballast_bytes: u64,
    /// Memory for recent entries.
    pub cache_bytes: usize,
    /// Bytes that may wait for the writer.
    pub queue_bytes_max: usize,
    /// Segments begun after a sparse one before it is rewritten, unless the disk is full.
    pub rewrite_after_segments: u32,
}

impl Options {
    /// The defaults for a disk.
    #[must_use]
    pub fn new(identity: u128, seed: u64) -> Self {
        Self {
            identity,
            seed,
            segment_bytes: limits::SEGMENT_BYTES,
            ready_segments: limits::READY_SEGMENTS,
            reserve_segments: limits::RESERVE_SEGMENTS,
            ballast_bytes: limits::BALLAST_BYTES,
            cache_bytes: limits::CACHE_BYTES,
            queue_bytes_max: limits::QUEUE_BYTES_MAX,
            rewrite_after_segments: limits::REWRITE_AFTER_SEGMENTS,
        }
    }

    /// Bytes of the largest record that fits: four to a segment, so that a roll never wastes most of one.
    #[must_use]
    pub fn record_bytes_max(&self) -> usize {
        (self.room_bytes() / 4).min(limits::RECORD_BYTES_MAX)
    }

    /// Bytes of a segment that batches can have.
    pub(crate) fn room_bytes(&self) -> usize {
        (self.segment_bytes as usize).saturating_sub(SEGMENT_OVERHEAD_BYTES)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let is_in_range = (limits::SEGMENT_BYTES_MIN..=limits::SEGMENT_BYTES_MAX).contains(&self.segment_bytes);
        if !is_in_range || !(self.segment_bytes as usize).is_multiple_of(BLOCK_BYTES) {
            return Err(Error::InvalidOption("segment_bytes"));
        }
        if self.ready_segments == 0 {
            return Err(Error::InvalidOption("ready_segments"));
        }
        // When the disk turns out to be full, everything that may wait then must still fit.
        let usable = self.room_bytes().saturating_sub(self.record_bytes_max());
        if self.reserve_segments.saturating_mul(usable) < self.queue_bytes_max.saturating_mul(2) {
            return Err(Error::InvalidOption("reserve_segments"));
        }
        Ok(())
    }
}
