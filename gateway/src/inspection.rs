//! What the HTTP side may look at: groups with their members, and counters.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use braid_broker::{GroupListing, Statistics};
use braid_catalog::{GroupKind, GroupRow, StorageClass};

use crate::http::Inspect;
use crate::node::{Node, show};

/// Name, kind, help text and value.
type Sample = (&'static str, &'static str, &'static str, u64);

/// A view of a node.
#[derive(Debug)]
pub(crate) struct Inspection {
    node: Arc<Node>,
}

impl Inspection {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        Self { node }
    }

    async fn groups(&self, vhost: Option<String>) -> Vec<GroupListing> {
        let rows: Vec<Arc<GroupRow>> = match &vhost {
            Some(vhost) => self.node.meta.catalog().groups(vhost.as_bytes()).cloned().collect(),
            None => self.node.meta.catalog().all_groups().cloned().collect(),
        };
        let mut listings: Vec<GroupListing> = rows.iter().map(|row| listing(row)).collect();
        for partition in self.node.broker.partitions() {
            let here: Vec<usize> =
                (0..rows.len()).filter(|at| rows.get(*at).is_some_and(|row| row.partition == partition.id())).collect();
            let groups = here.iter().filter_map(|at| rows.get(*at).map(|row| row.id)).collect();
            for (group, inspected) in partition.inspect(Some(groups)).await {
                let position = here.iter().find(|at| rows.get(**at).is_some_and(|row| row.id == group));
                if let Some(listing) = position.and_then(|at| listings.get_mut(*at)) {
                    inspected.fill(listing);
                }
            }
        }
        listings
    }
}

impl Inspect for Inspection {
    fn list_groups(&self, vhost: Option<String>) -> Pin<Box<dyn Future<Output = Vec<GroupListing>> + Send + '_>> {
        Box::pin(self.groups(vhost))
    }

    fn samples(&self) -> Vec<Sample> {
        let broker = &self.node.broker;
        let mut samples = broker.counters.samples();
        samples.extend(broker.log_statistics().iter().flat_map(log_samples));
        for (name, _, _, value) in &mut samples {
            match *name {
                "bodies_held_bytes" => *value = broker.memory.held_bytes() as u64,
                "retained_messages" => *value = broker.retained.count() as u64,
                "sessions_kept" => *value = self.node.sessions.kept_count() as u64,
                _ => {}
            }
        }
        samples
    }

    fn is_ready(&self) -> bool {
        self.node.is_ready.load(Ordering::Relaxed)
    }
}

fn log_samples(log: &Statistics) -> [Sample; 9] {
    [
        ("log_syncs_total", "counter", "Times that the log was synced to the disk.", log.batches + log.rolls),
        ("log_batches_total", "counter", "Batches written to the log, each with one sync.", log.batches),
        ("log_records_total", "counter", "Records written to the log.", log.records),
        ("log_record_bytes_total", "counter", "Bytes of records written to the log.", log.record_bytes),
        ("log_rewritten_bytes_total", "counter", "Bytes written again to free sparse files.", log.rewritten_bytes),
        ("log_segments", "gauge", "Files of the log that hold something.", log.segments),
        ("log_live_bodies", "gauge", "Messages that the log keeps.", log.live_bodies),
        ("log_live_bytes", "gauge", "Bytes of messages that the log keeps.", log.live_bytes),
        ("log_queued_bytes", "gauge", "Bytes that wait to be written to the log.", log.queued_bytes),
    ]
}

fn listing(row: &GroupRow) -> GroupListing {
    GroupListing {
        vhost: show(&row.vhost).into_owned(),
        name: show(&row.name).into_owned(),
        kind: match row.kind {
            GroupKind::Declared => "declared",
            GroupKind::Shared { .. } => "shared",
        },
        class: match row.class {
            StorageClass::Direct => "direct",
            StorageClass::Memory => "memory",
            StorageClass::Disk => "disk",
            StorageClass::Quorum => "quorum",
        },
        partition: row.partition.0,
        leader: row.leader,
        epoch: row.epoch.0,
        ready: 0,
        unacked: 0,
        members: Vec::new(),
    }
}
