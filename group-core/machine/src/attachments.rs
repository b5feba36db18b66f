//! Which members each connection has, over all groups, so that the loss of a connection costs what its own members cost
//! and no look at all groups.
//!
//! Invariant: it names exactly the members that are in groups, attached, paused or ended, each once under its present
//! owner. It follows from the groups and is in no snapshot.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use braid_types::{ConnectionId, GroupId, LogIndex, MemberId};

use crate::Owner;

const FIRST: (GroupId, MemberId) = (GroupId(0), MemberId { index: LogIndex(0), position: 0 });
const LAST: (GroupId, MemberId) = (GroupId(u64::MAX), MemberId { index: LogIndex(u64::MAX), position: u32::MAX });

/// A member, by its node and connection first. 40 bytes each, and nothing for connections without members.
type Entry = (u64, ConnectionId, (GroupId, MemberId));

/// Members by owner.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Attachments {
    members: BTreeSet<Entry>,
}

impl Attachments {
    /// A connection has one more member.
    pub(crate) fn insert(&mut self, owner: Owner, group: GroupId, member: MemberId) {
        self.members.insert((owner.node, owner.connection, (group, member)));
    }

    /// A member is gone, or has another owner.
    pub(crate) fn remove(&mut self, owner: Owner, group: GroupId, member: MemberId) {
        self.members.remove(&(owner.node, owner.connection, (group, member)));
    }

    /// The members of a connection, in order of groups.
    pub(crate) fn of_connection(&self, node: u64, connection: ConnectionId) -> Vec<(GroupId, MemberId)> {
        let members = self.members.range((node, connection, FIRST)..=(node, connection, LAST));
        members.map(|(_, _, member)| *member).collect()
    }

    /// The members of all connections of a node, in order of groups.
    pub(crate) fn of_node(&self, node: u64) -> Vec<(GroupId, MemberId)> {
        let members = self.members.range((node, ConnectionId(0), FIRST)..=(node, ConnectionId(u64::MAX), LAST));
        let mut members: Vec<(GroupId, MemberId)> = members.map(|(_, _, member)| *member).collect();
        members.sort_unstable();
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(index: u64) -> MemberId {
        MemberId { index: LogIndex(index), position: 0 }
    }

    #[test]
    fn connections_of_one_number_on_two_nodes_are_two() {
        let mut attachments = Attachments::default();
        let owner = |node, connection| Owner { node, connection: ConnectionId(connection), attachment: 0 };
        attachments.insert(owner(1, 7), GroupId(9), member(1));
        attachments.insert(owner(2, 7), GroupId(9), member(2));
        attachments.insert(owner(1, 7), GroupId(3), member(3));
        attachments.insert(owner(1, 8), GroupId(5), member(4));
        let expected = [(GroupId(3), member(3)), (GroupId(9), member(1))];
        assert_eq!(attachments.of_connection(1, ConnectionId(7)), expected);
        let expected = [(GroupId(3), member(3)), (GroupId(5), member(4)), (GroupId(9), member(1))];
        assert_eq!(attachments.of_node(1), expected);
        attachments.remove(owner(1, 7), GroupId(3), member(3));
        assert_eq!(attachments.of_connection(1, ConnectionId(7)), [(GroupId(9), member(1))]);
        assert_eq!(attachments.of_node(3), []);
    }
}
