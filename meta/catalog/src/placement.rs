//! Where groups live: the nodes, the partitions that they offer, and how many groups each carries.
//!
//! A node's partitions are numbered from a base of its own, as many of each kind, so that a number means the same
//! partition after a restart with more or fewer of them; the first node's in memory are 0, 1, 2, … Ties go to the lowest
//! number: placement is a function of the log.

use alloc::collections::BTreeMap;

use braid_types::{PartitionId, PartitionKind, Refusal, RefusalKind};

use crate::{
    limits::{NODES_MAX, PARTITIONS_PER_KIND_MAX},
    refusals,
};

/// A node that was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its place in the order of registration; its partitions start at this times the most a node may have.
    pub slot: u32,
    /// Partitions of each kind.
    pub per_kind: u32,
    /// The partitions that it offers, with the number of groups in each.
    pub partitions: BTreeMap<PartitionId, u64>,
}

impl Node {
    pub(crate) fn new(slot: u32, partitions: u32) -> Self {
        Self { slot, per_kind: partitions, partitions: Self::numbers(slot, partitions).map(|id| (id, 0)).collect() }
    }

    /// Groups on it.
    #[must_use]
    pub fn groups(&self) -> u64 {
        self.partitions.values().sum()
    }

    fn numbers(slot: u32, partitions: u32) -> impl Iterator<Item = PartitionId> {
        let of_kind = move |kind| (0..partitions).map(move |number| PartitionId::new(slot, kind, number));
        PartitionKind::ALL.into_iter().flat_map(of_kind)
    }

    fn least_loaded(&self, kind: PartitionKind) -> Option<PartitionId> {
        let of_kind = self.partitions.iter().filter(|(id, _)| id.kind() == Some(kind));
        of_kind.min_by_key(|(id, groups)| (**groups, **id)).map(|(id, _)| *id)
    }
}

/// All nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) nodes: BTreeMap<u64, Node>,
}

impl Placement {
    /// Registers a node, or changes what it offers. Groups in partitions that it no longer offers have to be placed
    /// anew by the caller.
    pub(crate) fn register(&mut self, node: u64, partitions: u32) -> Result<(), Refusal> {
        if partitions == 0 || partitions > PARTITIONS_PER_KIND_MAX {
            return Err(refusals::limit("partitions per node"));
        }
        if let Some(known) = self.nodes.get_mut(&node) {
            let numbers = Node::numbers(known.slot, partitions);
            known.per_kind = partitions;
            known.partitions = numbers.map(|id| (id, known.partitions.get(&id).copied().unwrap_or(0))).collect();
            return Ok(());
        }
        if self.nodes.len() >= NODES_MAX {
            return Err(refusals::limit("nodes"));
        }
        let slot = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.insert(node, Node::new(slot, partitions));
        Ok(())
    }

    /// The place for a new group: on the node with the fewest groups, in its partition of that kind with the fewest.
    pub(crate) fn choose(&self, kind: PartitionKind) -> Result<(u64, PartitionId), Refusal> {
        let best = self.nodes.iter().min_by_key(|(id, node)| (node.groups(), **id));
        best.and_then(|(id, node)| Some((*id, node.least_loaded(kind)?)))
            .ok_or_else(|| Refusal::new(RefusalKind::Unavailable, "no node offers a partition yet"))
    }

    /// A partition of `node` for a group that stays there.
    pub(crate) fn choose_on(&self, node: u64, kind: PartitionKind) -> Option<PartitionId> {
        self.nodes.get(&node)?.least_loaded(kind)
    }

    pub(crate) fn offers(&self, node: u64, partition: PartitionId) -> bool {
        self.nodes.get(&node).is_some_and(|known| known.partitions.contains_key(&partition))
    }

    pub(crate) fn add(&mut self, node: u64, partition: PartitionId) {
        if let Some(groups) = self.load(node, partition) {
            *groups += 1;
        }
    }

    pub(crate) fn remove(&mut self, node: u64, partition: PartitionId) {
        if let Some(groups) = self.load(node, partition) {
            *groups = groups.saturating_sub(1);
        }
    }

    fn load(&mut self, node: u64, partition: PartitionId) -> Option<&mut u64> {
        self.nodes.get_mut(&node)?.partitions.get_mut(&partition)
    }
}
