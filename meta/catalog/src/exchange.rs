//! The row of an exchange, and those that every vhost has from birth.

use braid_types::{ExchangeKind, Headers};
use bytes::Bytes;

/// The exchange that MQTT and NATS publish to, and whose bindings `$share` looks at (SPEC sections 3 and 4).
pub(crate) const TOPIC: &[u8] = b"amq.topic";

/// Exchanges that each vhost has and nobody can delete. The default exchange, named by the empty string, is not a row:
/// it routes by group name.
pub(crate) const PREDECLARED: [(&[u8], ExchangeKind); 5] = [
    (b"amq.direct", ExchangeKind::Direct),
    (b"amq.fanout", ExchangeKind::Fanout),
    (TOPIC, ExchangeKind::Topic),
    (b"amq.headers", ExchangeKind::Headers),
    (b"amq.match", ExchangeKind::Headers),
];

/// An exchange as the catalog knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeRow {
    /// Its vhost.
    pub vhost: Bytes,
    /// Its name, unique in the vhost.
    pub name: Bytes,
    /// How it routes.
    pub kind: ExchangeKind,
    /// Outlives a restart.
    pub durable: bool,
    /// Goes with its last binding.
    pub auto_delete: bool,
    /// Cannot be published to.
    pub internal: bool,
    /// Arguments, as declared.
    pub arguments: Headers,
}

impl ExchangeRow {
    /// It was there from the vhost's birth.
    #[must_use]
    pub fn is_predeclared(&self) -> bool {
        PREDECLARED.iter().any(|(name, _)| *name == self.name.as_ref())
    }
}
