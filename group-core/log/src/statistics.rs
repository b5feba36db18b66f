//! What the log has done so far, counted.

/// What the log has done in this run. Sizes are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Batches written; each is one sync.
    pub batches: u64,
    /// Records written.
    pub records: u64,
    /// Bytes of records written.
    pub record_bytes: u64,
    /// Segments ended; each is one sync more.
    pub rolls: u64,
    /// Dead segments whose files are used again.
    pub retired: u64,
    /// Bytes of records that were written again because their segments were sparse.
    pub rewritten_bytes: u64,
    /// Segments that hold something, at the moment.
    pub segments: u64,
    /// Bodies that are not forgotten, at the moment.
    pub live_bodies: u64,
    /// Bytes of them.
    pub live_bytes: u64,
    /// Segments that are prepared, at the moment.
    pub ready_segments: u64,
    /// Bytes that wait for the writer, at the moment.
    pub queued_bytes: u64,
    /// Bytes of recent entries in memory, at the moment.
    pub recent_bytes: u64,
}
