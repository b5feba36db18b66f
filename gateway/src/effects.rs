//! Carries out what the catalog decides: partitions learn of groups in the order of the commits, and filtered
//! subscriptions whose answer changed are noted for their move.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use braid_broker::PartitionHandle;
use braid_catalog::{Catalog, DispatchStrategy, Effect, GroupOptions, GroupRow, Overflow, StorageClass};
use braid_machine::{Command, GroupConfig, RetryDelay, Strategy};
use braid_types::{GroupId, PartitionId};
use bytes::Bytes;
use hashbrown::HashMap;
use tokio::sync::mpsc;

use crate::node::Node;

/// A (vhost, share name) whose answer may have changed.
pub(crate) type Change = (Bytes, Bytes);

/// Where the catalog's effects go. Called inside the commit, before its proposer is answered.
pub(crate) struct Sink {
    /// Known once the node's log is open, which needs the catalog's identity: until then nothing concerns groups.
    partitions: Arc<OnceLock<Vec<PartitionHandle>>>,
    changes: mpsc::UnboundedSender<Change>,
}

impl Sink {
    pub(crate) fn new(partitions: Arc<OnceLock<Vec<PartitionHandle>>>, changes: mpsc::UnboundedSender<Change>) -> Self {
        Self { partitions, changes }
    }

    pub(crate) fn carry_out(&self, effect: &Effect) {
        match effect {
            Effect::GroupCreated(row) | Effect::GroupChanged(row) => {
                if let (Some(partition), Some(config)) = (self.partition(row.partition), config(row)) {
                    partition.command(Command::CreateGroup { group: row.id, config: Box::new(config) });
                }
            }
            Effect::GroupDeleted(row) => {
                let command = Command::DeleteGroup { group: row.id, if_unused: false, if_empty: false };
                if let Some(partition) = self.partition(row.partition) {
                    partition.command(command);
                }
            }
            Effect::RoutesChanged => {}
            Effect::ResolutionChanged { vhost, share } => {
                if self.changes.send((vhost.clone(), share.clone())).is_err() {
                    tracing::debug!("the node has stopped");
                }
            }
        }
    }

    fn partition(&self, id: PartitionId) -> Option<&PartitionHandle> {
        self.partitions.get()?.iter().find(|partition| partition.id() == id)
    }
}

/// Has the partitions agree with the catalog as it was opened: its effects ran in an earlier process, perhaps not to the
/// end.
pub(crate) async fn restore(node: &Arc<Node>) {
    let mut wanted: HashMap<PartitionId, Vec<(GroupId, GroupConfig)>> = HashMap::new();
    let upto = {
        let catalog = node.meta.catalog();
        for row in catalog.all_groups() {
            if let Some(config) = config(row) {
                wanted.entry(row.partition).or_default().push((row.id, config));
            }
        }
        catalog.last_group()
    };
    for partition in node.broker.partitions() {
        partition.reconcile(wanted.remove(&partition.id()).unwrap_or_default(), upto).await;
    }
}

/// The partitions with a log that the catalog has groups in.
pub(crate) fn logged_partitions(catalog: &Catalog) -> BTreeSet<PartitionId> {
    catalog.all_groups().filter(|row| row.class >= StorageClass::Disk).map(|row| row.partition).collect()
}

/// What the machine does of a group's options; `None`: it is in no partition.
fn config(row: &GroupRow) -> Option<GroupConfig> {
    if row.class == StorageClass::Direct {
        return None;
    }
    let options = &row.options;
    Some(GroupConfig {
        // Quorum groups have 32 priorities without being asked, others as many as they declare (SPEC section 3).
        priority_max: (row.class != StorageClass::Quorum).then(|| options.max_priority.unwrap_or(0)),
        delivery_limit: options.delivery_limit,
        strategy: strategy(options),
        single_active: options.single_active_consumer,
        messages_max: options.max_length,
        size_bytes_max: options.max_length_bytes,
        overflow: overflow(options),
        message_ttl_ms: options.message_ttl_ms,
        expires_ms: options.expires_ms,
        retry: options
            .delayed_retry
            .map(|retry| RetryDelay { delay_ms_min: retry.shortest_ms, delay_ms_max: retry.longest_ms }),
        member_timeout_ms: options.consumer_timeout_ms,
        token_window_ms: options.deduplication_window_ms,
        keeps_dead_letters: options.dead_letter_exchange.is_some(),
    })
}

fn strategy(options: &GroupOptions) -> Strategy {
    match options.dispatch_strategy {
        DispatchStrategy::RoundRobin => Strategy::RoundRobin,
        DispatchStrategy::LeastUnacked => Strategy::LeastUnacked,
        DispatchStrategy::Random => Strategy::Random,
        DispatchStrategy::LocalFirst => Strategy::LocalFirst,
        DispatchStrategy::Key => Strategy::Key,
    }
}

fn overflow(options: &GroupOptions) -> braid_machine::Overflow {
    match options.overflow {
        Overflow::DropHead => braid_machine::Overflow::DropHead,
        Overflow::RejectPublish => braid_machine::Overflow::RejectPublish,
        Overflow::RejectPublishDeadLetter => braid_machine::Overflow::RejectPublishDeadLetter,
    }
}
