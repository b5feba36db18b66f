//! What the gateway decides for a connection.

use braid_types::ConnectionId;

use crate::limits;

/// Settings of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The connection, for no local.
    pub connection: ConnectionId,
    /// Randomness for an assigned client id.
    pub seed: u64,
    /// Open QoS 1 and 2 publishes that an MQTT 5 client may have (Receive Maximum in CONNACK); not 0.
    pub receive_maximum: u16,
    /// Topic aliases that the client may set.
    pub topic_alias_maximum: u16,
    /// Largest packet that the client may send, in bytes.
    pub packet_bytes_max: u32,
    /// Longest keep alive in seconds; clients of MQTT 5 that ask for more (or for none) are told. `None`: any.
    pub keep_alive_max_s: Option<u16>,
    /// Longest session expiry in seconds; `u32::MAX`: for ever.
    pub session_expiry_max_s: u32,
    /// Window of clients that name none.
    pub window_default: u16,
}

impl Options {
    /// The defaults of [`crate::limits`].
    #[must_use]
    pub fn new(connection: ConnectionId, seed: u64) -> Self {
        Self {
            connection,
            seed,
            receive_maximum: limits::RECEIVE_MAXIMUM,
            topic_alias_maximum: limits::TOPIC_ALIAS_MAXIMUM,
            packet_bytes_max: limits::PACKET_BYTES_MAX,
            keep_alive_max_s: None,
            session_expiry_max_s: u32::MAX,
            window_default: limits::WINDOW_DEFAULT,
        }
    }
}
