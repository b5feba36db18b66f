//! Named limits of a partition. Each is refused by [`crate::Refused::LimitReached`], never by a panic; all are far
//! above what a sane client needs and exist so that one group cannot take the partition down.

/// Groups of a partition: 100,000 sessions and more all in one partition, with room. An idle one takes less than 600
/// bytes.
pub const GROUPS_PER_PARTITION_MAX: usize = 262_144;

/// Groups that one enqueue names. A fan-out to more is cut into several commands by the proposer; it keeps the command
/// under a quarter of an entry's 1 MiB.
pub const GROUPS_PER_ENQUEUE_MAX: usize = 16_384;

/// Sets of groups that a partition knows: at most 128 MiB, if each of them is as large as it may be.
pub const GROUP_SETS_MAX: usize = 1_024;

/// Dead letters that one command ends: a quarter of an entry's 1 MiB or less.
pub const DEAD_LETTERS_PER_END_MAX: usize = 16_384;

/// Attached members of a group. Every member costs about 300 bytes on every replica.
pub const MEMBERS_PER_GROUP_MAX: usize = 16_384;

/// Messages of a group that `Get` handed out and nobody has settled. They cost a member each.
pub const HELD_GETS_PER_GROUP_MAX: usize = 65_536;

/// Distinct filters of a group's members: one bit each in the mask of a match class.
pub const FILTERS_PER_GROUP_MAX: usize = 64;

/// Messages of a group: ready, delayed, handed out, and dead letters. About 64 bytes each on every replica, whatever their size.
pub const MESSAGES_PER_GROUP_MAX: u64 = 1 << 28;

/// Deliveries that one settle names: half an entry's 1 MiB.
pub const DELIVERIES_PER_SETTLE_MAX: usize = 65_536;

/// Publishers of a group whose last sequence number it remembers. About 150 bytes each on every replica.
pub const PUBLISHERS_PER_GROUP_MAX: usize = 65_536;

/// Milliseconds without a publish after which a publisher's sequence is forgotten: a day, so that a publisher that was
/// down overnight still finds its place.
pub const PUBLISHER_IDLE_MS: u64 = 24 * 60 * 60 * 1_000;

/// Tokens of a group that it remembers: 2,000 a second over the default window, with room.
pub const TOKENS_PER_GROUP_MAX: usize = 262_144;

/// Milliseconds for which a token is remembered, unless the group says otherwise: JetStream's default window.
pub const TOKEN_WINDOW_DEFAULT_MS: u64 = 120_000;

/// Bytes of a publisher's name or a token, with the user that makes it unique in front; a longer one is refused.
pub const IDENTITY_BYTES_MAX: usize = 1_024;

/// Messages that go at once when a group is purged or deleted; more go in steps.
pub const REMOVED_AT_ONCE_MAX: u64 = 16_384;

/// How many of those go with each entry of the log: about a millisecond's work, and a mebibyte of effects.
pub(crate) const DOOMED_PER_ENTRY: usize = 16_384;

/// Messages of a group that expire at a time; more expire in steps, and nothing is handed out before them.
pub const EXPIRED_AT_ONCE_MAX: usize = 16_384;

/// Levels of message priority; a higher priority is lowered to the highest level (SPEC section 3).
pub const PRIORITY_LEVELS: u8 = 32;

/// Messages of a chunk of a queue: 14 KiB.
pub(crate) const CHUNK_MESSAGES: usize = 256;

/// Slots that an emptied queue keeps, for the next message; beyond it the memory is given back.
pub(crate) const QUEUE_CAPACITY_KEPT: usize = 32;

/// Empty match classes that a group keeps for the next message, so that a class that runs empty with every message is
/// not made anew with every message.
pub(crate) const EMPTY_CLASSES_KEPT: usize = 16;

/// Slots of a member's recent deliveries below which holes are left alone.
pub(crate) const UNACKED_HOLES_MIN: usize = 128;

/// Tickets and delivery ids beyond which a snapshot is not believed: no group lives that long, and counting on from
/// there must not overflow.
pub(crate) const SEQUENCE_MAX: u64 = 1 << 62;
