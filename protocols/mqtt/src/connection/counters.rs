//! What an endpoint dropped (SPEC, promise P12: every drop is counted). Plain numbers, read by the gateway.

/// Deliveries that did not reach the client, by reason. All of them are settled as accepted where they have a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Larger than the client's maximum packet size.
    pub too_large: u64,
    /// Expired before they could be sent.
    pub expired: u64,
    /// The address of a message of another protocol is no MQTT topic.
    pub unconvertible: u64,
    /// No place in the client's window, and no room to wait.
    pub no_room: u64,
    /// No subscription matches any more.
    pub unmatched: u64,
    /// Publishes to topics that are the broker's own.
    pub reserved_topic: u64,
}
