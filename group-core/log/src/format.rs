//! The form of what is on disk. Numbers are little endian; see the crate's head for the drawing.
//!
//! Reading trusts nothing: every length that is followed stands in a checked header or table.

mod header;
mod mark;
mod record;
mod segment_header;
mod state;

pub(crate) use header::{HEADER_BYTES, Header, Kind, Place};
pub(crate) use mark::{ChainEnd, MARK_BYTES_MAX, Mark};
pub(crate) use record::{ROW_BYTES, Record, Row, read_rows};
pub(crate) use segment_header::SegmentHeader;
pub(crate) use state::State;

/// Batches begin at multiples of this: what is synced is never written over, and damage is stepped over.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// Records begin at multiples of this.
pub(crate) const ALIGNMENT_BYTES: usize = 64;

/// Where batches begin: behind two copies of the segment's header.
pub(crate) const DATA_OFFSET: u32 = 8192;

const _: () = assert!(DATA_OFFSET as usize == 2 * BLOCK_BYTES);

/// Room that is left for the two copies of the mark that ends a segment, each in a block of its own.
pub(crate) const END_BYTES: usize = 2 * BLOCK_BYTES;

/// Bytes of a segment that no record can have.
pub(crate) const SEGMENT_OVERHEAD_BYTES: usize = DATA_OFFSET as usize + MARK_BYTES_MAX + END_BYTES;

/// `size` up to the next multiple of `unit`.
pub(crate) const fn round_up(size: usize, unit: usize) -> usize {
    size.div_ceil(unit) * unit
}

/// A length as it is stored. All lengths are bounded by `limits` long before this matters.
pub(crate) fn length_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
