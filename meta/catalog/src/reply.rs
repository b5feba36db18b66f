//! What the proposer of a command is told.

use alloc::sync::Arc;

use braid_types::Refusal;
use bytes::Bytes;

use crate::GroupRow;

/// The answer to a command. It is authoritative: nothing needs to be read afterwards.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Done, or nothing was to do.
    Done,
    /// The vhost exists.
    Vhost {
        /// Its name.
        name: Bytes,
        /// Whether this command made it.
        created: bool,
    },
    /// The group exists, with its partition, leader and epoch. All who race for it get the same row.
    Declared {
        /// The row.
        row: Arc<GroupRow>,
        /// Whether this command made it.
        created: bool,
    },
    /// Nothing changed.
    Refused(Refusal),
}
