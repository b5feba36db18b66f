//! Named limits of the log, each with its reason. Sizes are bytes.

/// Bytes of a segment file. Large enough that a roll (two syncs) is rare at full speed, small enough that space comes
/// back soon and that one is scanned or rewritten in a fraction of a second.
pub const SEGMENT_BYTES: u32 = 64 * 1024 * 1024;

/// The smallest segment that has room for its headers, its end and a few records. Tests use it.
pub const SEGMENT_BYTES_MIN: u32 = 64 * 1024;

/// The largest segment: offsets within one are 32 bits, with room for sums of two.
pub const SEGMENT_BYTES_MAX: u32 = 1024 * 1024 * 1024;

/// Bytes of one record. The guide's rule 24 caps entries at 1 MiB; one oversized body alone may be larger, up to this.
/// A record is checked in memory as a whole.
pub const RECORD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes that one batch gathers (a larger single record makes a batch of its own). Bounds the latency of those behind
/// it, and the memory of recovery, which checks one batch at a time.
pub const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Records in one batch. Bounds the table of its write.
pub const RECORDS_PER_BATCH_MAX: usize = 1024;

/// Partitions with records in one batch. Bounds the batch's mark, which names them all, to what fits into a block.
pub const PARTITIONS_PER_BATCH_MAX: usize = 250;

/// Bytes that wait for the writer at most. Beyond it appends with bodies are refused with `Busy`; whoever proposes must
/// hold back before that. Records without bodies, and what is promised, may wait up to twice as much.
pub const QUEUE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes of recent entries kept in memory, so that applying, replicating and delivering fresh ones reads no disk. More
/// makes appending slower: each record is then copied into memory that no processor cache has.
pub const CACHE_BYTES: usize = 8 * 1024 * 1024;

/// Bodies in one entry: positions are found by bisection in a table that is checked as a whole.
pub const BODIES_PER_ENTRY_MAX: usize = 65_536;

/// Bytes of one body: 29 bits of a slot of the index hold its length.
pub const BODY_BYTES_MAX: usize = RECORD_BYTES_MAX;

/// Bytes of a vote, a committed mark or a purge note: a few numbers of Raft.
pub const NOTE_BYTES_MAX: usize = 1024;

/// Segment files open for reading at a time, beside those that are written. Bounds file descriptors with a large
/// backlog.
pub const OPEN_SEGMENTS_MAX: usize = 256;

/// Segments that are prepared ahead of their use. One is in use while the next is made.
pub const READY_SEGMENTS: usize = 2;

/// Segments kept back for small records (acks, deletes, marks) and for what is already promised, when the disk is full.
/// They hold whatever the queue may hold, see [`QUEUE_BYTES_MAX`].
pub const RESERVE_SEGMENTS: usize = 2;

/// Files of dead segments that are kept to be used again. More than that goes back to the file system.
pub const SPARE_SEGMENTS_MAX: usize = 8;

/// A file that only takes up room, given up when a snapshot finds the disk full.
pub const BALLAST_BYTES: u64 = 16 * 1024 * 1024;

/// Bytes that one step of maintenance writes of a new segment, reads of a sparse one, or rewrites.
pub const MAINTENANCE_BYTES_PER_STEP: usize = 1024 * 1024;

/// Segments begun after a sparse one before it is rewritten. The head of a backlog that is being drained is sparse for a
/// moment and then dead: rewriting it would be in vain. So much room may be taken up by what is not needed.
pub const REWRITE_AFTER_SEGMENTS: u32 = 8;

/// Chunks of a body index that are swept under one hold of the lock: about 16,000 messages, well under a millisecond.
pub const CHUNKS_PER_SWEEP: usize = 64;

/// Bytes that one coalesced read of neighbouring bodies takes at most.
pub const READ_BYTES_MAX: usize = 1024 * 1024;

/// Bytes between two bodies that are read over rather than read apart.
pub const READ_GAP_BYTES_MAX: u32 = 4096;

/// Parts of one snapshot: a partition's groups, with room.
pub const PARTS_PER_SNAPSHOT_MAX: usize = 4 * 1024 * 1024;

/// Bytes of one part of a snapshot.
pub const PART_BYTES_MAX: usize = 1024 * 1024 * 1024;

/// Pack files that a snapshot refers to. With more, the sparsest is copied into the new one.
pub const PACKS_PER_SNAPSHOT_MAX: usize = 8;

/// Findings of damage that recovery reports per partition. The first one takes it out of service; the rest inform.
pub const DAMAGES_REPORTED_MAX: usize = 64;

/// Pieces of one vectored write: what the operating system takes (`IOV_MAX`).
pub(crate) const PIECES_PER_WRITE_MAX: usize = 1024;

/// Records up to this size are copied next to their header: below it a copy costs less than two more pieces.
pub(crate) const RECORD_COPIED_BYTES_MAX: usize = 1024;

/// Slots of a chunk of the body index: a bisection of eight steps, 6 KiB.
pub(crate) const SLOTS_PER_CHUNK_MAX: usize = 256;

/// Bytes that recovery reads at a time.
pub(crate) const WINDOW_BYTES: usize = 1024 * 1024;

/// Written records that are taken note of under one hold of the lock: some 2,000 bodies, a few tens of microseconds.
pub(crate) const RECORDS_PER_LOCK: usize = 32;
