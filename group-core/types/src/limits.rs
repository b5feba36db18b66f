//! Named limits that several crates share. Each crate's own limits are in its own `limits.rs`.

/// Bodies up to this size are copied into the receiver's buffer; larger ones are passed on by reference. Below it a
/// copy costs less than one more `iovec` and a reference count.
pub const BODY_COPIED_BYTES_MAX: usize = 2 * 1024;

/// Levels of an address or filter. Bounds the work of matching (CASES S4). Mosquitto takes topics with 200 separators, and
/// its test scripts rely on it.
pub const ADDRESS_LEVELS_MAX: usize = 201;

/// Bytes of an address or filter in any notation: what MQTT's length field can say.
pub const ADDRESS_BYTES_MAX: usize = 65_535;

/// Bytes of an AMQP routing key: its length is one byte on the wire.
pub const AMQP_SHORT_STRING_BYTES_MAX: usize = 255;

/// Bytes of a message's body: what clients send to the peers (CONFORMANCE: 32 MB), with room.
pub const BODY_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Time that a client has from connecting to being let in, in milliseconds.
pub const HANDSHAKE_TIMEOUT_MS: u64 = 10_000;

/// Records of a message's deaths: pairs of queue and reason. Retry topologies have a handful; it bounds the header block of
/// a message that wanders on, and ends the wandering (see [`crate::is_cycle`]).
pub const DEATHS_MAX: usize = 128;

/// Bytes of a queue, exchange or routing key in such a record. Far above AMQP's 255; a shared group's name has its filter
/// in it and may be longer, and three of them have to fit into an MQTT string, escaped.
pub const DEATH_NAME_BYTES_MAX: usize = 4_096;

/// Routing keys in such a record: a message has one, and those of its `CC` header.
pub const DEATH_ROUTING_KEYS_MAX: usize = 32;

/// Bytes of a publisher's name or of a message's token: what an AMQP short string holds. They are kept for each publisher
/// and, for a time, for each message.
pub const IDENTITY_BYTES_MAX: usize = 255;
