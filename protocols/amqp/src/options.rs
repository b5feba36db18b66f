//! What an endpoint is told when it is made.
//!
//! Invariant: nothing here changes during the life of a connection.

use braid_types::ConnectionId;
use bytes::Bytes;

use crate::limits::{CHANNELS_DEFAULT, FRAME_BYTES_DEFAULT, HEARTBEAT_S_DEFAULT};

/// Settings of one connection. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Options {
    /// The connection, as publisher of its messages (no-local).
    pub connection: ConnectionId,
    /// Makes the consumer tags that the server chooses hard to guess and unlike those of other connections.
    pub seed: u64,
    /// Heartbeat interval to propose, in seconds; 0: none.
    pub heartbeat_s: u16,
    /// Largest frame to propose, in bytes, at least [`crate::limits::FRAME_BYTES_MIN`].
    pub frame_bytes_max: u32,
    /// Largest number of open channels to propose, at least 1.
    pub channel_max: u16,
    /// Server property `product`.
    pub product: Bytes,
    /// Server property `version`.
    pub version: Bytes,
    /// The node's name: server property `cluster_name`.
    pub node: Bytes,
}

impl Options {
    /// The defaults for `connection`.
    #[must_use]
    pub fn new(connection: ConnectionId, seed: u64) -> Self {
        Self {
            connection,
            seed,
            heartbeat_s: HEARTBEAT_S_DEFAULT,
            frame_bytes_max: FRAME_BYTES_DEFAULT,
            channel_max: CHANNELS_DEFAULT,
            product: Bytes::from_static(b"BraidMQ"),
            version: Bytes::from_static(env!("CARGO_PKG_VERSION").as_bytes()),
            node: Bytes::from_static(b"braidmq"),
        }
    }
}
