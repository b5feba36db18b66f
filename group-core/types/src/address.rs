//! Canonical addresses (SPEC section 4): a list of levels that AMQP topic keys, MQTT topics and NATS subjects are three
//! notations of. Never a joined string.

use alloc::{sync::Arc, vec::Vec};

use bytes::{Bytes, BytesMut};

use crate::Protocol;

/// The bytes of one level in canonical form.
pub type Level = [u8];

/// A canonical address. Cheap to clone; equal addresses are equal byte for byte, so it hashes and orders.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    levels: Arc<[Arc<[u8]>]>,
}

/// Why bytes are not an address or filter, or cannot be written in a notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// More levels than [`crate::limits::ADDRESS_LEVELS_MAX`].
    #[error("too many levels")]
    TooManyLevels,
    /// Longer than the notation can hold.
    #[error("too long")]
    TooLong,
    /// Not allowed in the notation (a wildcard in a topic name, an empty NATS token, a wildcard that is not alone).
    #[error("malformed")]
    Malformed,
}

impl Address {
    /// Reads the notation of `protocol`.
    ///
    /// # Errors
    /// The bytes are not an address there.
    pub fn from_notation(protocol: Protocol, text: &[u8]) -> Result<Self, AddressError> {
        let separator = if protocol == Protocol::Mqtt { b'/' } else { b'.' };
        let levels: Vec<Arc<[u8]>> = text.split(|byte| *byte == separator).map(Arc::from).collect();
        Ok(Self { levels: levels.into() })
    }

    /// Writes it in the notation of `protocol`.
    ///
    /// # Errors
    /// It is longer than the notation can hold (AMQP: 255 bytes).
    pub fn to_notation(&self, protocol: Protocol) -> Result<Bytes, AddressError> {
        let separator = if protocol == Protocol::Mqtt { b'/' } else { b'.' };
        let mut out = BytesMut::new();
        for (position, level) in self.levels.iter().enumerate() {
            if position > 0 {
                out.extend_from_slice(&[separator]);
            }
            out.extend_from_slice(level);
        }
        Ok(out.freeze())
    }

    /// Its levels, in order. There is at least one.
    pub fn levels(&self) -> impl Iterator<Item = &Level> {
        self.levels.iter().map(AsRef::as_ref)
    }
}
