//! The connections that have members in a partition, and what becomes of those when a connection is lost.
//!
//! Invariant: an ended member does not stay listed, so a connection that consumes and cancels, or gets, for ever does
//! not grow.

use std::sync::Arc;

use braid_types::{ConnectionId, GroupId, MemberId, Outcome};
use bytes::Bytes;
use hashbrown::HashMap;

use crate::Mailbox;
use crate::work::OnLoss;

/// A member as its partition's owner knows it.
#[derive(Clone, Debug)]
pub(super) struct AttachedMember {
    pub(super) group: GroupId,
    pub(super) on_loss: OnLoss,
    /// It ends by itself when its last delivery is settled (a get, or a cancelled consumer).
    pub(super) is_lingering: bool,
    /// For listings.
    pub(super) label: Bytes,
}

#[derive(Debug)]
pub(super) struct AttachedConnection {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) members: HashMap<MemberId, AttachedMember>,
}

/// All connections with members here.
#[derive(Debug, Default)]
pub(super) struct Attached {
    connections: HashMap<ConnectionId, AttachedConnection>,
}

impl Attached {
    pub(super) fn mailbox(&self, connection: ConnectionId) -> Option<&Arc<Mailbox>> {
        self.connections.get(&connection).map(|attached| &attached.mailbox)
    }

    pub(super) fn connection(&self, connection: ConnectionId) -> Option<&AttachedConnection> {
        self.connections.get(&connection)
    }

    /// The label of a member, for listings.
    pub(super) fn label(&self, connection: ConnectionId, member: MemberId) -> String {
        let attached = self.connections.get(&connection).and_then(|attached| attached.members.get(&member));
        attached.map(|member| String::from_utf8_lossy(&member.label).into_owned()).unwrap_or_default()
    }

    pub(super) fn insert(&mut self, mailbox: &Arc<Mailbox>, member: MemberId, attached: AttachedMember) {
        self.register(mailbox).members.insert(member, attached);
    }

    /// The connection gets answers and deliveries of this partition from now on.
    pub(super) fn register(&mut self, mailbox: &Arc<Mailbox>) -> &mut AttachedConnection {
        self.connections
            .entry(mailbox.connection())
            .or_insert_with(|| AttachedConnection { mailbox: Arc::clone(mailbox), members: HashMap::new() })
    }

    pub(super) fn member(&mut self, connection: ConnectionId, member: MemberId) -> Option<&mut AttachedMember> {
        self.connections.get_mut(&connection)?.members.get_mut(&member)
    }

    pub(super) fn remove_member(&mut self, connection: ConnectionId, member: MemberId) {
        if let Some(attached) = self.connections.get_mut(&connection) {
            attached.members.remove(&member);
        }
    }

    /// Forgets the connection; returns its members in the order in which they came.
    pub(super) fn remove(&mut self, connection: ConnectionId) -> Vec<(MemberId, AttachedMember)> {
        let mut members: Vec<_> = self
            .connections
            .remove(&connection)
            .map(|attached| attached.members.into_iter().collect())
            .unwrap_or_default();
        members.sort_unstable_by_key(|(member, _)| *member);
        members
    }
}

impl AttachedMember {
    /// A member that holds one message taken by a get.
    pub(super) fn of_get(group: GroupId, on_loss: Outcome) -> Self {
        Self { group, on_loss: OnLoss::Detach(on_loss), is_lingering: true, label: Bytes::new() }
    }
}
