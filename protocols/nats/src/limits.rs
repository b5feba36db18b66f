//! Named limits of the NATS endpoint, each with its reason. Sizes in bytes, times in milliseconds.

/// Longest control line, from the byte after the operation's name to the line's end, as in nats-server
/// (`max_control_line`). It bounds what is kept of an unfinished line, `CONNECT` before authentication included.
pub const CONTROL_LINE_BYTES_MAX: usize = 4096;

/// Largest payload (headers and body) that a client may publish unless configured otherwise: nats-server's default.
pub const PAYLOAD_BYTES_MAX_DEFAULT: usize = 1024 * 1024;

/// Digits of a size or count in a control line, as in nats-server: larger numbers are refused, so none overflows.
pub const NUMBER_DIGITS_MAX: usize = 9;

/// Arguments of a control line: `HPUB subject reply header-size total-size` has the most.
pub const ARGUMENTS_MAX: usize = 4;

/// Open subscriptions of one connection. nats-server sets none; about 64 MiB per connection is where this one stops.
pub const SUBSCRIPTIONS_MAX: usize = 262_144;

/// Answers (`+OK`, `PONG`, `-ERR`) that may wait for the broker. Beyond it, operations wait as bytes.
pub const ANSWERS_MAX: usize = 65_536;

/// Answers that may wait while publishes still ask for a no-responders notice. Beyond it, requests are published
/// without one (their senders then find out by their own timeout) rather than holding up the connection.
pub const ANSWERS_FOR_REQUESTS_MAX: usize = 8_192;

/// Bytes that may wait for the broker's word on who the client is, or behind [`ANSWERS_MAX`]. More than a read
/// buffer's worth; only bytes that were received count, never announced ones.
pub const HELD_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Own subscriptions that are compared with a reply subject for a no-responders notice. Clients keep their inbox
/// among the first ones; it bounds the work that one publish can cause (CASES S4).
pub const REPLY_SCAN_MAX: usize = 4_096;

/// Header lines that are converted for the other protocols. Bounds the memory that a block of tiny lines turns into.
pub const HEADER_LINES_MAX: usize = 4_096;

/// Depth to which a table or list among an AMQP message's headers is written out for NATS.
pub const HEADER_DEPTH_MAX: usize = 16;

/// Room that is kept between two conversions of headers.
pub const SCRATCH_BYTES_KEPT: usize = 8 * 1024;

/// Time between two checks whether the client is still there: nats-server's default.
pub const PING_INTERVAL_MS: u64 = 120_000;

/// Unanswered `PING`s after which a connection is stale: nats-server's default.
pub const PINGS_OUT_MAX: u32 = 2;

/// Time that a connection which broke the protocol waits for the answers that come before its last `-ERR`.
pub const ENDING_TIMEOUT_MS: u64 = 5_000;
