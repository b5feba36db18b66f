//! What a (re)started node brings and what it lost.

use alloc::{sync::Arc, vec::Vec};

use braid_types::Refusal;
use bytes::Bytes;

use crate::{Catalog, GroupRow, Reply, changes::Changes};

impl Catalog {
    pub(super) fn node_started(
        &mut self,
        node: u64,
        partitions: u32,
        changes: &mut Changes<'_>,
    ) -> Result<Reply, Refusal> {
        self.placement.register(node, partitions)?;
        let of_node: Vec<Arc<GroupRow>> =
            self.by_id.values().filter(|row| row.leader == node).map(Arc::clone).collect();
        for row in of_node {
            if row.dies_with_leader() {
                self.delete_group(row.id, changes);
            } else {
                self.keep_placed(&row, changes)?;
            }
        }
        // An exchange lives on no node, but on all: it is gone with the last one. While others run, it stays.
        if self.placement.nodes.len() == 1 {
            self.drop_passing_exchanges(changes);
        }
        Ok(Reply::Done)
    }

    /// Moves a group whose partition its node no longer offers, or is of another kind than the group's class wants, to one
    /// that fits.
    fn keep_placed(&mut self, row: &GroupRow, changes: &mut Changes<'_>) -> Result<(), Refusal> {
        let kind = row.class.partition_kind();
        if self.placement.offers(row.leader, row.partition) && row.partition.kind() == Some(kind) {
            return Ok(());
        }
        if let Some(partition) = self.placement.choose_on(row.leader, kind) {
            self.placement.remove(row.leader, row.partition);
            self.placement.add(row.leader, partition);
            self.replace_group(GroupRow { partition, ..row.clone() }, changes)?;
        }
        Ok(())
    }

    fn drop_passing_exchanges(&mut self, changes: &mut Changes<'_>) {
        for vhost in self.vhosts.values_mut() {
            let passing: Vec<Bytes> = vhost
                .exchanges
                .values()
                .filter(|state| !state.row.durable)
                .map(|state| state.row.name.clone())
                .collect();
            for name in passing {
                vhost.remove_exchange(&name, changes);
            }
        }
    }
}
