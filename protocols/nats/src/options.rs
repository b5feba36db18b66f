//! What the server side of a connection is told when it is made.

use alloc::sync::Arc;

use braid_types::ConnectionId;

use crate::limits::{PAYLOAD_BYTES_MAX_DEFAULT, PING_INTERVAL_MS, PINGS_OUT_MAX};

/// The settings of one connection, most of which are shown to the client in `INFO`. Texts are shared, so that a
/// listener makes them once.
#[derive(Clone, Debug)]
pub struct Options {
    /// Identity of the node, unique in the cluster.
    pub server_id: Arc<str>,
    /// Name of the node.
    pub server_name: Arc<str>,
    /// The nats-server version whose behaviour clients may rely on. They read it as a semantic version.
    pub version: Arc<str>,
    /// Host of the listener.
    pub host: Arc<str>,
    /// Port of the listener.
    pub port: u16,
    /// Largest payload (headers and body) that the client may publish, in bytes.
    pub max_payload_bytes: usize,
    /// The number of this connection.
    pub client_id: ConnectionId,
    /// The client's address, without port.
    pub client_ip: Arc<str>,
    /// Only a `CONNECT` with credentials is let in.
    pub auth_required: bool,
    /// Time without activity after which the client is asked for a sign of life; 0: never.
    pub ping_interval_ms: u64,
    /// Unanswered `PING`s after which the connection is stale.
    pub pings_out_max: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            server_id: Arc::from("BRAIDMQ"),
            server_name: Arc::from("braidmq"),
            version: Arc::from("2.15.1"),
            host: Arc::from("0.0.0.0"),
            port: 4222,
            max_payload_bytes: PAYLOAD_BYTES_MAX_DEFAULT,
            client_id: ConnectionId(0),
            client_ip: Arc::from(""),
            auth_required: false,
            ping_interval_ms: PING_INTERVAL_MS,
            pings_out_max: PINGS_OUT_MAX,
        }
    }
}
