//! Named limits of replicas and journals.

use braid_log::limits::{RECORD_BYTES_MAX, SEGMENT_BYTES};

/// Bytes of one encoded command. A log entry is read, checked and sent as a whole (guide, rule 24).
pub const COMMAND_BYTES_MAX: usize = 1024 * 1024;

/// Proposals that wait for their reply at a time; further proposers wait for a place. With commands of full size this
/// is what they can hold in memory: 4 GiB; real ones have a few hundred bytes.
pub const PROPOSALS_PENDING_MAX: usize = 4_096;

/// Entries after which a snapshot is taken. At a few hundred bytes each that is a few megabytes of log, and a fraction
/// of a second to apply again at a start.
pub const ENTRIES_PER_SNAPSHOT: u64 = 8_192;

/// Entries kept in the log although a snapshot holds them, so that a peer that is a little behind need not be sent it.
pub const ENTRIES_KEPT: u64 = 1_024;

/// Entries that are read from the log at a time. Bounds the memory of reading: openraft asks again for the rest.
pub const ENTRIES_READ_MAX: usize = 1_024;

/// Memory for pages of the file. The log's tail and the indexes above it fit; snapshots are read once.
pub const FILE_CACHE_BYTES: usize = 32 * 1024 * 1024;

/// Voters and learners of a group in a stored membership. A record that claims more is damaged.
pub const MEMBERS_MAX: usize = 4_096;

/// How long a start may take from reading the file to having applied all that is committed, in milliseconds.
pub const RECOVERY_TIMEOUT_MS: u64 = 60_000;

/// How often a leader says that it is there, in milliseconds.
pub(crate) const HEARTBEAT_INTERVAL_MS: u64 = 250;

/// The least time without a leader before a replica stands for election, in milliseconds: four missed heartbeats.
pub(crate) const ELECTION_TIMEOUT_MIN_MS: u64 = 1_000;

/// The most time without a leader before a replica stands for election, in milliseconds (P8: a failover takes 5 s at
/// most, with a second round where votes split).
pub(crate) const ELECTION_TIMEOUT_MAX_MS: u64 = 2_000;

/// Bytes of one entry of a journal, with its bodies. An oversized body is an entry alone (guide, rule 24), so this is
/// nearly what a record of the log can have in segments of the usual size. A quorum journal must know before: what Raft
/// has taken cannot be refused.
pub const ENTRY_BYTES_MAX: usize = 15 * 1024 * 1024;

/// Bytes that the log adds to a body: its row in the table, and what aligns it.
pub(crate) const BODY_OVERHEAD_BYTES: usize = 24;

const _: () = assert!(ENTRY_BYTES_MAX < RECORD_BYTES_MAX - 512 * 1024);
const _: () = assert!(ENTRY_BYTES_MAX < SEGMENT_BYTES as usize / 4 - 512 * 1024);

/// Bytes of entries that are read from the log at a time, when what a former run left is applied again.
pub(crate) const READ_BYTES_MAX: usize = 1024 * 1024;

/// Entries that a quorum journal has handed to Raft and not handed out. The owner has a few in flight; this only bounds
/// what a mistake can take.
pub const PENDING_ENTRIES_MAX: usize = 1_024;

/// Bytes of them: about what the log lets wait for the disk.
pub const PENDING_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Calls that wait for the task of a group: proposals, and a few others.
pub(crate) const CALLS_PER_GROUP_MAX: u64 = 1_024;

/// Committed entries that wait for the owner of a journal. They are in memory: payloads, without bodies.
pub(crate) const ENTRIES_FORWARDED_MAX: usize = 64;

/// Entries that a quorum journal keeps although a snapshot holds them: none, as long as there are no peers that could be
/// a little behind.
pub(crate) const ENTRIES_KEPT_IN_JOURNAL: u64 = 0;

/// Between two tries to append to a log that is full, or for which too much waits, in milliseconds. Both are rare, and
/// the disk takes longer than that to make room.
pub(crate) const FULL_LOG_PAUSE_MS: u64 = 2;
