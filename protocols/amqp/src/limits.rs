//! Named limits of the AMQP endpoint, each with its reason. Limits that other crates share are in
//! [`braid_types::limits`].

/// The smallest `frame_max` that a client may ask for, in bytes (AMQP 0-9-1, 4.2.3: frame-min-size). Widely used clients
/// ask for exactly this.
pub const FRAME_BYTES_MIN: u32 = 4096;

/// `frame_max` that is offered when the options do not say otherwise, in bytes: RabbitMQ's default.
pub const FRAME_BYTES_DEFAULT: u32 = 131_072;

/// The largest frame before tuning is done, in bytes: room for a big bearer token as password.
pub const HANDSHAKE_FRAME_BYTES_MAX: u32 = 65_536;

/// Bytes of a frame that are not payload: type, channel, size and the end marker.
pub const FRAME_OVERHEAD_BYTES: u32 = 8;

/// Highest number of open channels that is offered by default: RabbitMQ's.
pub const CHANNELS_DEFAULT: u16 = 2047;

/// Heartbeat interval that is proposed by default, in seconds: RabbitMQ's.
pub const HEARTBEAT_S_DEFAULT: u16 = 60;

/// Consumers of one channel. Bounds what a channel's end has to undo.
pub const CONSUMERS_PER_CHANNEL_MAX: usize = 16_384;

/// Calls of one connection that wait for the broker's answer. A client that pipelines more is ended with 506.
pub const PENDING_CALLS_MAX: usize = 65_536;

/// Publishes of one channel that wait for their confirm. Far above what the broker lets in at a time; a last line.
pub const UNCONFIRMED_MAX: usize = 4_194_304;

/// The window that stands for "prefetch 0, unlimited": unacked deliveries of one consumer are bounded by it.
pub const UNLIMITED_PREFETCH_MESSAGES: u32 = 1_048_576;

/// Bytes of frames held back while the handshake waits for the broker, or a channel for the name of a queue that the
/// server names. A client that pipelines more is ended with 506.
pub const HELD_FRAMES_BYTES_MAX: usize = 1_048_576;

/// Frames held back in the same situations: bounds the bookkeeping for very small frames.
pub const HELD_FRAMES_MAX: usize = 16_384;

/// Levels of tables and arrays inside each other. No client is known to send more than a few; decoding recurses.
pub const TABLE_DEPTH_MAX: usize = 32;

/// Fields of one table, those of nested tables and arrays included: a decoded field is up to 36 times as large as the
/// bytes that announce it.
pub const TABLE_FIELDS_MAX: usize = 16_384;

/// Longest reply text, exchange name, routing key, consumer tag, in bytes: what a short string holds.
pub const SHORT_STRING_BYTES_MAX: usize = 255;

/// The largest `expiration` of a message in milliseconds: RabbitMQ's (2^32 - 1).
pub const EXPIRATION_MS_MAX: u64 = 4_294_967_295;

/// Time that a peer has to answer `connection.close`, in milliseconds.
pub const CLOSE_TIMEOUT_MS: u64 = 10_000;

/// Time for which the socket stays open after a fault that makes the rest of the input unreadable, in milliseconds, so
/// that the client can read `connection.close` before the reset.
pub const UNREADABLE_LINGER_MS: u64 = 1_000;
