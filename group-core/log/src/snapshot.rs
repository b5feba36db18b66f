//! Snapshots: a partition's state without bodies, in parts, of which only the changed ones are written (guide, rule 27).
//!
//! ```text
//! parts-<life>-<number>     the bytes of parts, one after the other
//! snapshot-<life>-<index>   manifest: for each part its key, and where its bytes are, with their checksum
//! ```
//!
//! A new snapshot writes one new parts file and a manifest that also refers to older files. The manifest gets its name
//! when everything is synced; then the one before it goes, with the files that nothing refers to any more. So at any
//! instant there is exactly one that counts: the one with the highest index.
//!
//! The owner's thread does the IO. Apply never waits for it.

mod cleanup;
mod disk;
mod manifest;
mod reader;
mod writer;

use braid_types::{LogIndex, PartitionId, Term};
use bytes::Bytes;

pub(crate) use cleanup::{load, remove_files};
pub(crate) use manifest::Manifest;
pub use reader::SnapshotReader;
pub use writer::SnapshotWriter;

use crate::inner::Inner;

/// What a snapshot is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotMeta {
    /// The last entry in it.
    pub last: LogIndex,
    /// Its term.
    pub term: Term,
    /// What else the owner wants to know of it (the membership).
    pub note: Bytes,
}

/// The moment that a snapshot is of. Made while the state is: between applying its last entry and the next one, when
/// everything that was forgotten by then has been reported.
#[derive(Debug)]
pub struct Capture {
    inner: std::sync::Arc<Inner>,
    partition: PartitionId,
    /// What was forgotten before can be told from what is forgotten since.
    is_separate: bool,
}

impl Capture {
    pub(crate) fn new(inner: std::sync::Arc<Inner>, partition: PartitionId, is_separate: bool) -> Self {
        Self { inner, partition, is_separate }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if let Some(partition) = self.inner.lock().partitions.get_mut(&self.partition) {
            partition.sweep.is_captured = false;
        }
    }
}
