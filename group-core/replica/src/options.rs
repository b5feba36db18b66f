//! What a replica is started with.

use std::path::PathBuf;

use crate::limits::ENTRIES_PER_SNAPSHOT;

/// What a replica is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file that holds its log, vote and snapshot.
    pub path: PathBuf,
    /// Who it is among the voters. Written into the file when it is made; a file of another is refused.
    pub node_id: u64,
    /// Names the disk that the file belongs to, so that one that was exchanged shows. Written into the file when it is
    /// made; a file with another is refused.
    pub identity: u128,
    /// Make the file when there is none. Otherwise its absence is an error: somebody lost it.
    pub create: bool,
    /// Entries after which a snapshot is taken and older ones are purged.
    pub entries_per_snapshot: u64,
}

impl Options {
    /// A replica in `path` that makes its file at the first start.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, node_id: u64) -> Self {
        Self { path: path.into(), node_id, identity: 0, create: true, entries_per_snapshot: ENTRIES_PER_SNAPSHOT }
    }
}
