//! The row of a group: its identity, properties and place. Never its messages or members.

use braid_types::{ConnectionId, Epoch, Filter, GroupId, Headers, PartitionId, PartitionKind};
use bytes::Bytes;

use crate::GroupOptions;

/// What made a group (SPEC section 3, Identity).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// Somebody declared it by name.
    Declared,
    /// The first `$share` subscriber of this pair.
    Shared {
        /// The share name.
        share: Bytes,
        /// The filter whose messages it gets.
        filter: Filter,
    },
}

/// Where a group's messages are kept (SPEC section 3, Storage class). Ordered: a class is only ever raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StorageClass {
    /// Nowhere: to a connected member now, or gone.
    Direct,
    /// In the leader's memory.
    Memory,
    /// In one replica's log.
    Disk,
    /// In the logs of a majority.
    Quorum,
}

impl StorageClass {
    /// The kind of partition that carries such a group. (A direct group is in none; it has a place for when it is raised.)
    #[must_use]
    pub fn partition_kind(self) -> PartitionKind {
        match self {
            Self::Direct | Self::Memory => PartitionKind::Memory,
            Self::Disk => PartitionKind::Disk,
            Self::Quorum => PartitionKind::Quorum,
        }
    }
}

/// A group as the catalog knows it. Shared by reference count; a change makes a new row.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// Its id.
    pub id: GroupId,
    /// Its vhost.
    pub vhost: Bytes,
    /// Its name, unique in the vhost; `$share/<share>/<filter>` for a shared group.
    pub name: Bytes,
    /// What made it.
    pub kind: GroupKind,
    /// Where its messages are kept, as resolved when it was declared.
    pub class: StorageClass,
    /// Outlives a restart.
    pub durable: bool,
    /// Goes with its last consumer.
    pub auto_delete: bool,
    /// The connection that it belongs to.
    pub exclusive: Option<ConnectionId>,
    /// Arguments, as declared.
    pub arguments: Headers,
    /// What the arguments mean.
    pub options: GroupOptions,
    /// The partition that carries it.
    pub partition: PartitionId,
    /// The node that leads it.
    pub leader: u64,
    /// Fences the leader.
    pub epoch: Epoch,
}

impl GroupRow {
    /// A `$share` subscription made it.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.kind, GroupKind::Shared { .. })
    }

    /// Nothing of it is left when its leader's process ends.
    #[must_use]
    pub fn dies_with_leader(&self) -> bool {
        match self.kind {
            GroupKind::Declared => !self.durable || self.exclusive.is_some(),
            GroupKind::Shared { .. } => self.class <= StorageClass::Memory,
        }
    }

    /// `$share` may resolve to it by its name. Not to an exclusive group: it takes no member of another connection, so
    /// its bare name must not take the share away from those who use it.
    #[must_use]
    pub fn is_joinable_by_share(&self) -> bool {
        matches!(self.kind, GroupKind::Declared) && self.exclusive.is_none()
    }
}
