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
