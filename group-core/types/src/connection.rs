//! Who a client says it is, who it turned out to be, and why a connection is ended from inside.

use bytes::Bytes;

/// What a client offered to prove who it is. Never logged: `Debug` hides secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// None at all (MQTT without user name, NATS without credentials).
    Anonymous,
    /// A name and a password (SASL PLAIN and AMQPLAIN, MQTT, NATS).
    Password {
        /// The user name; MQTT's may name a vhost as `vhost:user`, which the gateway splits.
        user: Bytes,
        /// The password.
        password: Bytes,
    },
}

impl core::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Anonymous => f.write_str("Anonymous"),
            Self::Password { user, .. } => f.debug_struct("Password").field("user", user).finish_non_exhaustive(),
        }
    }
}

/// Who the client is, as the gateway found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's name.
    pub user: Bytes,
    /// The vhost that the connection works in until it opens another.
    pub vhost: Bytes,
}

/// Why the broker ends a connection by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The node stops.
    ShuttingDown,
    /// Another connection took over the client id.
    TakenOver,
    /// The client does not read what it asked for.
    SlowConsumer,
    /// An operator closed it.
    Administrative,
    /// Something inside went wrong; the connection cannot go on.
    Internal,
}
