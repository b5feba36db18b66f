//! A message as commands bring it: a small header, and what its publish is known by. Never a body.

use braid_types::{Address, Timestamp};
use bytes::Bytes;

/// What the machine knows of a message. The body stays outside (ARCHITECTURE, INV-4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// Bytes that count for limits and byte credit.
    pub size_bytes: u32,
    /// 0 to 31; higher first.
    pub priority: u8,
    /// Partition time after which it is never delivered.
    pub expires_at: Option<Timestamp>,
    /// For filtered members; `None` when it was published without one.
    pub address: Option<Address>,
}

/// What makes a publish the same as an earlier one, within a group (SPEC section 3, exactly-once publishing). The names
/// are made unique in vhost and user by who proposes the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishIdentity {
    /// A publisher that numbers its messages: up to the last number that the group took, they are known.
    Sequence {
        /// Its name, at most [`crate::limits::IDENTITY_BYTES_MAX`] bytes.
        publisher: Bytes,
        /// The number of the message. Numbers rise; gaps are allowed.
        sequence: u64,
    },
    /// A name for this message alone, known for a time.
    Token {
        /// At most [`crate::limits::IDENTITY_BYTES_MAX`] bytes.
        token: Bytes,
    },
}
