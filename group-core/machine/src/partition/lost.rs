//! What concerns members and groups all over the partition: lost connections and nodes, and who leads.

use alloc::vec::Vec;

use braid_types::{ConnectionId, DeliveryId, GroupId, MemberId, Stamp};

use crate::command::Loss;
use crate::partition::Partition;
use crate::{Effect, Reply};

impl Partition {
    /// A connection is gone, with all its members. What paused ones keep, and what ending ones were never sent.
    pub(super) fn connection_lost(
        &mut self,
        stamp: Stamp,
        (node, connection): (u64, ConnectionId),
        (mut kept, mut unsent): (Vec<DeliveryId>, Vec<(u32, DeliveryId)>),
        effects: &mut Vec<Effect>,
    ) -> Reply {
        kept.sort_unstable();
        unsent.sort_unstable();
        let members = self.attachments.of_connection(node, connection);
        self.lose(stamp, &members, Loss::Connection { kept: &kept, unsent: &unsent }, effects)
    }

    /// A node is gone, with the members of all its connections.
    pub(super) fn node_lost(&mut self, stamp: Stamp, node: u64, effects: &mut Vec<Effect>) -> Reply {
        let members = self.attachments.of_node(node);
        self.lose(stamp, &members, Loss::Node, effects)
    }

    /// Group by group: messages do not cross groups, so nobody is handed what another member of the same connection
    /// gives back in another one.
    fn lose(
        &mut self,
        stamp: Stamp,
        members: &[(GroupId, MemberId)],
        loss: Loss<'_>,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        for in_one_group in members.chunk_by(|left, right| left.0 == right.0) {
            if let Some((id, _)) = in_one_group.first() {
                self.in_group(stamp, *id, effects, |group, context| group.lose(context, in_one_group, loss));
            }
        }
        Reply::Done
    }

    /// A node leads from now on. Only who comes first changes by it, so that nothing is handed out.
    pub(super) fn lead(&mut self, node: u64) -> Reply {
        self.leading = Some(node);
        for id in self.group_ids() {
            if let Some(group) = self.groups.get_mut(&id) {
                group.members.lead(Some(node));
            }
        }
        Reply::Done
    }
}
