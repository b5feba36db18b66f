//! The connections that have members in a partition: where deliveries go, and what listings call the members. What
//! becomes of them when a connection is lost, the machine knows.
//!
//! Invariant: an ended member does not stay listed, so a connection that consumes and cancels, or gets, for ever does
//! not grow.

use std::sync::Arc;

use braid_types::{ConnectionId, GroupId, MemberId};
use bytes::Bytes;
use hashbrown::HashMap;

use crate::Mailbox;

/// A member as its partition's owner knows it.
#[derive(Clone, Debug)]
pub(super) struct AttachedMember {
    pub(super) group: GroupId,
    /// The connection's number for it; `None`: nothing is to be said when it is lost.
    pub(super) attachment: Option<u32>,
    /// It ends by itself when its last delivery is settled (a get, or a cancelled consumer).
    pub(super) is_lingering: bool,
    /// For listings.
    pub(super) label: Bytes,
}

#[derive(Debug)]
pub(super) struct AttachedConnection {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) members: HashMap<MemberId, AttachedMember>,
    /// Commands that may make it a member, on their way to the log.
    attaching: usize,
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
        self.connections.entry(mailbox.connection()).or_insert_with(|| AttachedConnection {
            mailbox: Arc::clone(mailbox),
            members: HashMap::new(),
            attaching: 0,
        })
    }

    /// A command that may make it a member is on its way.
    pub(super) fn begin(&mut self, mailbox: &Arc<Mailbox>) {
        self.register(mailbox).attaching += 1;
    }

    /// It is applied.
    pub(super) fn end(&mut self, connection: ConnectionId) {
        if let Some(attached) = self.connections.get_mut(&connection) {
            attached.attaching = attached.attaching.saturating_sub(1);
        }
    }

    /// Whether the connection has members here, or will have.
    pub(super) fn concerns(&self, connection: ConnectionId) -> bool {
        let attached = self.connections.get(&connection);
        attached.is_some_and(|attached| attached.attaching > 0 || !attached.members.is_empty())
    }

    pub(super) fn member(&mut self, connection: ConnectionId, member: MemberId) -> Option<&mut AttachedMember> {
        self.connections.get_mut(&connection)?.members.get_mut(&member)
    }

    pub(super) fn remove_member(&mut self, connection: ConnectionId, member: MemberId) {
        if let Some(attached) = self.connections.get_mut(&connection) {
            attached.members.remove(&member);
        }
    }

    /// Forgets the connection.
    pub(super) fn remove(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
    }

    /// Takes all connections with the numbers of their attachments that are known here.
    pub(super) fn take_all(&mut self) -> Vec<AttachedConnection> {
        self.connections.drain().map(|(_, connection)| connection).collect()
    }
}

impl AttachedMember {
    /// A member that holds one message taken by a get.
    pub(super) fn of_get(group: GroupId) -> Self {
        Self { group, attachment: None, is_lingering: true, label: Bytes::new() }
    }
}
