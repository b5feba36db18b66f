//! Where things are: entries that are not purged, and bodies that are not forgotten. In memory, rebuilt by recovery;
//! never a body itself.

mod bodies;
mod chunk;
mod entries;

pub(crate) use bodies::BodyIndex;
pub(crate) use chunk::{Epoch, Slot};
pub(crate) use entries::{EntryIndex, EntrySlot};

/// The segment of what is not written yet. In its slots the offset holds the low bits of the record's chain number.
pub(crate) const PENDING: u32 = 0;

/// What stands for the offset of something that is not written yet.
pub(crate) fn pending_offset(chain: u64) -> u32 {
    // Only equality counts, among the few records that wait: the low bits are enough.
    u32::try_from(chain & u64::from(u32::MAX)).unwrap_or(0)
}
