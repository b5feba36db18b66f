//! Named limits of this crate, each with its reason. Sizes in bytes, times in milliseconds or seconds as named.

/// Packets that a client may have open towards us when it is MQTT 5 (Receive Maximum in CONNACK). Large enough to keep
/// a pipeline full over a fsync, small enough that one client cannot park thousands of messages in the broker.
pub const RECEIVE_MAXIMUM: u16 = 1000;

/// Topic aliases that a client may set. Mosquitto's default, which its wire vectors rely on.
pub const TOPIC_ALIAS_MAXIMUM: u16 = 10;

/// Topic aliases that we set towards a client that allows them; each holds a copy of a topic.
pub const OUTGOING_ALIASES_MAX: u16 = 32;

/// Largest packet that a client may send: the largest body that the broker takes, and room for topic and properties.
pub const PACKET_BYTES_MAX: u32 = 128 * 1024 * 1024 + 256 * 1024;

/// Largest packet other than PUBLISH: a CONNECT with all its fields at their largest (about 460 KiB), a SUBSCRIBE with
/// thousands of filters. They are parsed into values, so a large one would cost several times its bytes.
pub const CONTROL_BYTES_MAX: usize = 512 * 1024;

/// SUBSCRIBEs and UNSUBSCRIBEs that the broker has not answered: as many as there are packet identifiers.
pub const CHANGES_MAX: usize = 65_535;

/// Places that an empty queue keeps. More are given back, so that a burst does not cost an idle connection its memory.
pub const IDLE_PLACES: usize = 16;

/// Bytes that the buffer for converted properties keeps.
pub const SCRATCH_BYTES_KEPT: usize = 4 * 1024;

/// Bytes that are kept of what a client sends between its CONNECT and our CONNACK (MQTT 5, 3.1.4: it may send at once).
pub const HELD_BYTES_MAX: usize = 1024 * 1024;

/// Window of a client that does not name a Receive Maximum (all of MQTT 3): enough to cover the settle loop of a logged
/// group at full speed, and what NATS uses for its acknowledged consumers.
pub const WINDOW_DEFAULT: u16 = 1000;

/// Subscriptions of one session. Matching the deliveries of a session's own group walks over them.
pub const SUBSCRIPTIONS_MAX: usize = 10_000;

/// QoS 1 and 2 deliveries that wait for a free place in the client's window and that the broker does not keep for us.
/// Those that it keeps (they have a key) are bounded by the windows already.
pub const PENDING_MESSAGES_MAX: usize = 10_000;

/// Bytes of such deliveries.
pub const PENDING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Retained messages that wait likewise: a new subscription gets all of them (CASES 31), so the limit is far higher.
pub const PENDING_RETAINED_MAX: usize = 1_000_000;

/// Bytes of such retained messages. They are shared with the retained store, which bounds them too.
pub const PENDING_RETAINED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Packet identifiers: 1 to 65,535.
pub const PACKET_IDS_MAX: usize = 65_535;

/// Depth to which nested AMQP tables and lists are written into the text of a user property.
pub const HEADER_DEPTH_MAX: usize = 8;

/// Bytes of one user property's text that is made from another protocol's header; MQTT can say no more.
pub const HEADER_TEXT_BYTES_MAX: usize = 65_535;

/// Keep alive: the client is given one and a half times its interval (MQTT 5, 3.1.2.10).
pub const KEEP_ALIVE_MS_PER_S: u64 = 1_500;
