//! Named limits of a replica.

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
