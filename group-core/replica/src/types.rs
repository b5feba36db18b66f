//! What openraft is told about our commands, replies and nodes.

use std::{any::Any, fmt};

use braid_types::Timestamp;
use bytes::Bytes;
use openraft::{alias, impls::BasicNode};

openraft::declare_raft_types!(
    /// The types of our Raft groups. They do not depend on the machine: to Raft a command is bytes, and what comes back
    /// is opaque.
    pub(crate) Types:
        D = Proposal,
        R = Answer,
        NodeId = u64,
        Node = BasicNode,
);

pub(crate) type Entry = alias::EntryOf<Types>;
pub(crate) type Vote = alias::VoteOf<Types>;
pub(crate) type LogId = alias::LogIdOf<Types>;
pub(crate) type LeaderId = alias::CommittedLeaderIdOf<Types>;
pub(crate) type Membership = openraft::Membership<u64, BasicNode>;
pub(crate) type StoredMembership = alias::StoredMembershipOf<Types>;
pub(crate) type SnapshotMeta = alias::SnapshotMetaOf<Types>;
pub(crate) type Snapshot = alias::SnapshotOf<Types, Bytes>;

/// A command in the log.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// When its leader took it.
    pub(crate) time: Timestamp,
    /// Its byte form.
    pub(crate) command: Bytes,
}

/// Commands may hold secrets, so only their size is ever shown.
impl fmt::Debug for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {} ms", self.command.len(), self.time.0)
    }
}

/// What applying an entry gave, for its proposer on this node.
pub(crate) enum Answer {
    /// The entry was none of ours.
    Nothing,
    /// The machine's reply; its type is known to the one host and the one proposer of a group.
    Reply(Box<dyn Any + Send + Sync>),
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "Nothing",
            Self::Reply(_) => "Reply",
        })
    }
}
