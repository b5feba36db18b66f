//! Checks the numbered invariants of the crate. Called by the property tests after every command, and on every snapshot
//! that is read.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    sync::Arc,
};

use braid_types::PartitionId;

use crate::{Catalog, GroupKind, vhost::Vhost};

impl Catalog {
    /// Checks all invariants.
    ///
    /// # Errors
    /// One is broken; the text says which, and where.
    pub fn check_invariants(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for vhost in self.vhosts.values() {
            self.check_groups(vhost, &mut seen)?;
            check_bindings(vhost)?;
            check_shares(vhost)?;
        }
        if seen.len() != self.by_id.len() {
            return Err(format!("{} groups have an id, {} a name", self.by_id.len(), seen.len()));
        }
        self.check_placement()
    }

    fn check_groups(&self, vhost: &Vhost, seen: &mut BTreeSet<braid_types::GroupId>) -> Result<(), String> {
        for (name, row) in &vhost.groups {
            if row.name != *name || row.vhost != vhost.name {
                return Err(format!("group {:?} is found under {name:?}", row.name));
            }
            if !self.by_id.get(&row.id).is_some_and(|other| Arc::ptr_eq(other, row)) {
                return Err(format!("group {name:?} is another row by its id"));
            }
            if !seen.insert(row.id) || row.id.0 == 0 || row.id.0 > self.last_group {
                return Err(format!("group {name:?} has an id that is not its own"));
            }
        }
        Ok(())
    }

    fn check_placement(&self) -> Result<(), String> {
        let mut counted: BTreeMap<(u64, PartitionId), u64> = BTreeMap::new();
        for row in self.by_id.values() {
            if !self.placement.offers(row.leader, row.partition) {
                return Err(format!("group {:?} lives where no partition is", row.name));
            }
            if row.partition.kind() != Some(row.class.partition_kind()) {
                return Err(format!("group {:?} lives in a partition of another kind", row.name));
            }
            *counted.entry((row.leader, row.partition)).or_default() += 1;
        }
        for (id, node) in &self.placement.nodes {
            for (partition, groups) in &node.partitions {
                if counted.get(&(*id, *partition)).copied().unwrap_or(0) != *groups {
                    return Err(format!("partition {partition:?} of node {id} is said to have {groups} groups"));
                }
            }
        }
        Ok(())
    }
}

fn check_bindings(vhost: &Vhost) -> Result<(), String> {
    let mut by_group = 0;
    for binding in vhost.bindings.iter() {
        if !vhost.exchanges.contains_key(&binding.exchange) {
            return Err(format!("a binding of {:?} has no exchange", binding.group_name));
        }
        let row = vhost.groups.get(&binding.group_name);
        if !row.is_some_and(|row| row.id == binding.group && !row.is_shared()) {
            return Err(format!("a binding on {:?} has no group", binding.exchange));
        }
    }
    for row in vhost.groups.values() {
        by_group += vhost.bindings.of_group(row.id).count();
    }
    if by_group != vhost.bindings.len() {
        return Err(format!("{} bindings by exchange, {by_group} by group", vhost.bindings.len()));
    }
    Ok(())
}

fn check_shares(vhost: &Vhost) -> Result<(), String> {
    let mut shared = 0;
    for row in vhost.shared_groups() {
        shared += 1;
        if !vhost.groups.get(&row.name).is_some_and(|other| Arc::ptr_eq(other, row)) {
            return Err(format!("shared group {:?} is another row by its name", row.name));
        }
        let GroupKind::Shared { share, filter } = &row.kind else {
            return Err(format!("{:?} is not shared", row.name));
        };
        let resolves = vhost.resolve(share, filter).is_some_and(|other| other.id == row.id);
        if resolves != vhost.is_routed_to(row.id) {
            return Err(format!("shared group {:?} resolves: {resolves}, and is routed to otherwise", row.name));
        }
    }
    if shared != vhost.groups.values().filter(|row| row.is_shared()).count() {
        return Err(format!("a shared group of {:?} is not found by its pair", vhost.name));
    }
    Ok(())
}
