//! Carries out what the catalog decides: partitions learn of groups in the order of the commits, and filtered
//! subscriptions whose answer changed are noted for their move.

use std::sync::Arc;

use braid_broker::PartitionHandle;
use braid_catalog::{Effect, GroupRow, Overflow, StorageClass};
use braid_machine::{Command, GroupConfig};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::node::Node;

/// A (vhost, share name) whose answer may have changed.
pub(crate) type Change = (Bytes, Bytes);

/// Where the catalog's effects go. Called inside the commit, before its proposer is answered.
pub(crate) struct Sink {
    partitions: Vec<PartitionHandle>,
    changes: mpsc::UnboundedSender<Change>,
}

impl Sink {
    pub(crate) fn new(partitions: Vec<PartitionHandle>, changes: mpsc::UnboundedSender<Change>) -> Self {
        Self { partitions, changes }
    }

    pub(crate) fn carry_out(&self, effect: &Effect) {
        match effect {
            Effect::GroupCreated(row) | Effect::GroupChanged(row) => create(&self.partitions, row),
            Effect::GroupDeleted(row) => {
                let command = Command::DeleteGroup { group: row.id, if_unused: false, if_empty: false };
                if let Some(partition) = self.partitions.get(row.partition.0 as usize) {
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
}

/// Makes the groups that the catalog had when it was opened: their effects ran in an earlier process.
pub(crate) fn restore(node: &Arc<Node>) {
    for row in node.meta.catalog().all_groups() {
        create(node.broker.partitions(), row);
    }
}

fn create(partitions: &[PartitionHandle], row: &GroupRow) {
    if row.class == StorageClass::Direct {
        return;
    }
    if let Some(partition) = partitions.get(row.partition.0 as usize) {
        partition.command(Command::CreateGroup { group: row.id, config: Box::new(config(row)) });
    }
}

/// What the machine does of a group's options. Dead-letter options are kept and not acted on yet (README): what they
/// would dead-letter is dropped and counted.
fn config(row: &GroupRow) -> GroupConfig {
    let options = &row.options;
    GroupConfig {
        // Quorum groups have 32 priorities without being asked, others as many as they declare (SPEC section 3).
        priority_max: (row.class != StorageClass::Quorum).then(|| options.max_priority.unwrap_or(0)),
        delivery_limit: options.delivery_limit,
        single_active: options.single_active_consumer,
        messages_max: options.max_length,
        size_bytes_max: options.max_length_bytes,
        overflow: match options.overflow {
            Overflow::DropHead => braid_machine::Overflow::DropHead,
            Overflow::RejectPublish => braid_machine::Overflow::RejectPublish,
            Overflow::RejectPublishDeadLetter => braid_machine::Overflow::RejectPublishDeadLetter,
        },
        message_ttl_ms: options.message_ttl_ms,
        expires_ms: options.expires_ms,
        member_timeout_ms: options.consumer_timeout_ms,
        ..GroupConfig::default()
    }
}
