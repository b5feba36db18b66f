//! Named limits of the broker.

/// Bytes of direct deliveries that may wait in one mailbox. Beyond it the subscriber is slow: NATS clients are
/// disconnected (as nats-server does at its 64 MiB `max_pending`), MQTT clients lose the message (as Mosquitto does).
pub const MAILBOX_DIRECT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Direct deliveries that may wait in one mailbox, whatever their size (bounds the list itself).
pub const MAILBOX_DIRECT_COUNT_MAX: usize = 1_000_000;

/// Bytes of direct deliveries in a mailbox from which on its publishers pause, so that a fast one does not outrun a
/// subscriber that does read (nats-server stalls producers for the same reason).
pub const MAILBOX_CROWDED_BYTES: usize = 2 * 1024 * 1024;

/// Direct deliveries in a mailbox from which on its publishers pause.
pub const MAILBOX_CROWDED_COUNT: usize = 16_384;

/// The longest pause of a publisher, in milliseconds. One pause per mailbox taken: a subscriber that does not read
/// at all costs its publishers this once, then its messages are dropped or it is disconnected.
pub const PUBLISHER_PAUSE_MS: u64 = 10;

/// Bodies up to this size are copied out of the read buffer when they stay in a group, so that one small message does
/// not keep a 64 KiB buffer alive.
pub const BODY_COMPACTED_BYTES_MAX: usize = 4 * 1024;

/// Deliveries of a lost connection that do not count as tried because they were never sent: they go into one command.
pub const UNSENT_DELIVERIES_MAX: usize = 32_768;

/// Submissions that a partition takes from its inbox before it hands out what came of them: bounds the latency that
/// one busy partition adds, and makes one wake-up per connection and round.
pub const ROUND_SUBMISSIONS_MAX: usize = 128;

/// Messages granted to a member that settles at hand-off.
pub const HAND_OFF_CREDIT_MESSAGES: u32 = 1_000;

/// Bytes granted to a member that settles at hand-off.
pub const HAND_OFF_CREDIT_BYTES: u64 = 1024 * 1024;

/// Retained messages of a node.
pub const RETAINED_MESSAGES_MAX: usize = 1_000_000;

/// Bytes of all retained messages of a node.
pub const RETAINED_TOTAL_BYTES_MAX: usize = 1024 * 1024 * 1024;

/// Bytes of one retained message.
pub const RETAINED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of messages that a partition with a log keeps in memory although the log has them, because they wait and are
/// likely to go out soon.
pub const RECENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Entries after which such messages give way to later ones.
pub const RECENT_ENTRIES_MAX: u64 = 8_192;

/// What one submission of small messages may keep from being given back: the buffer that they were read into.
pub const READ_BUFFER_BYTES: usize = 64 * 1024;

/// Messages of a group that are read ahead when one of them was needed and only the log had it.
pub const READ_AHEAD_MESSAGES: usize = 2_048;

/// Bytes that such a read is to have at most, as far as sizes are known.
pub const READ_AHEAD_BYTES: usize = 1024 * 1024;

/// Entries of a partition that wait for the disk at a time. What comes meanwhile is gathered for the next one: so
/// entries grow with the load, and none waits for a timer.
pub const ENTRIES_IN_FLIGHT_MAX: usize = 2;

/// Commands of one entry: bounds what is applied without looking at anything else, and the table of bodies.
pub const ENTRY_COMMANDS_MAX: usize = 16_384;

/// Bytes of messages in one entry, unless one alone has more (guide, rule 24).
pub const ENTRY_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of a message that are stored in one piece. Larger ones are cut into chunks of this size, in entries of their own.
pub const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// From so many groups on, those of a message are named by a set.
pub const GROUP_SET_MIN: usize = 8;

/// Group sets that a partition has at a time; the oldest gives way.
pub const GROUP_SETS_MAX: u32 = 256;

/// Bytes of the log that a snapshot would free, from which on one is made.
pub const SNAPSHOT_RECLAIMS_BYTES: u64 = 128 * 1024 * 1024;

/// The same while the disk is full: publishers wait for it, and acks use up the reserve (SPEC section 8, P15).
pub const SNAPSHOT_RECLAIMS_FULL_BYTES: u64 = 1024 * 1024;

/// Pause before an entry that the log could not take is offered again, in milliseconds.
pub const PROPOSE_RETRY_MS: u64 = 2;

/// How often a full disk is looked at again, in milliseconds.
pub const SPACE_CHECK_MS: u64 = 200;

/// Dead letters of a group that are under way at a time; the others wait in it. Of each group, because those that find
/// nobody to take them stay under way.
pub const DEAD_LETTERS_OF_GROUP_UNDER_WAY_MAX: usize = 64;
