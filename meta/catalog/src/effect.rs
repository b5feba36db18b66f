//! What a node has to do after a command. Within one command: groups first, then routes, then resolutions.

use alloc::sync::Arc;

use bytes::Bytes;

use crate::GroupRow;

/// Something that changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A group was made.
    GroupCreated(Arc<GroupRow>),
    /// A group's row changed: its class was raised, or it was placed anew.
    GroupChanged(Arc<GroupRow>),
    /// A group is gone, with its bindings.
    GroupDeleted(Arc<GroupRow>),
    /// Some publish may be routed otherwise than before.
    RoutesChanged,
    /// [`crate::Catalog::resolve`] gives another answer for this share name (and some filter) than before: its members
    /// have to look again.
    ResolutionChanged {
        /// In which vhost.
        vhost: Bytes,
        /// The share name.
        share: Bytes,
    },
}
