//! Named limits of the broker.

/// Bytes of direct deliveries that may wait in one mailbox. Beyond it the subscriber is slow: NATS clients are
/// disconnected (as nats-server does at its 64 MiB `max_pending`), MQTT clients lose the message (as Mosquitto does).
pub const MAILBOX_DIRECT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Direct deliveries that may wait in one mailbox, whatever their size (bounds the list itself).
pub const MAILBOX_DIRECT_COUNT_MAX: usize = 1_000_000;

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

/// Bytes of one retained message.
pub const RETAINED_BYTES_MAX: usize = 16 * 1024 * 1024;
