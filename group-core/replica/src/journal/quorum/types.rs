//! What openraft is told about the entries of a journal.

use std::fmt;

use braid_log::Body;
use bytes::Bytes;
use openraft::{alias, impls::BasicNode};

openraft::declare_raft_types!(
    /// The types of a journal's Raft group. Nothing is answered to a proposal: the owner sees it come back.
    pub(crate) QuorumTypes:
        D = Proposed,
        R = (),
        NodeId = u64,
        Node = BasicNode,
);

pub(super) type Entry = alias::EntryOf<QuorumTypes>;
pub(super) type Payload = openraft::EntryPayload<Proposed, u64, BasicNode>;

/// An entry of a partition's owner.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proposed {
    /// How many the leader had proposed before it. With the leader's id, which is another in each run, it names the
    /// proposal, so that its owner knows it again.
    pub(crate) number: u64,
    /// The batch of commands.
    pub(crate) payload: Bytes,
    /// What they bring, on the way to the log only: entries that are read from it come without.
    pub(crate) bodies: Vec<Body>,
}

/// What clients sent is not for everybody, so only its size is ever shown.
impl fmt::Debug for Proposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Proposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "number {}: {} bytes, {} bodies", self.number, self.payload.len(), self.bodies.len())
    }
}
