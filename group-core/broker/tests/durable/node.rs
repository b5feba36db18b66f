//! A node of one partition of each kind over a simulated disk.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use braid_broker::{Broker, LogOptions, Options, PartitionHandle, PartitionNote, StartError, Statistics};
use braid_log::disk::{Disk, SimulatedDisk};
use braid_machine::{Command, GroupConfig, Reply};
use braid_types::{GroupId, PartitionId, PartitionKind};
use tokio::sync::mpsc;

/// The number of the node.
pub(crate) const NODE: u64 = 3;

/// Bytes of a segment: a few dozen entries fill one.
pub(crate) const SEGMENT_BYTES: usize = 96 * 1024;

/// The kinds of partitions that have a log.
pub(crate) const BOTH: [PartitionKind; 2] = [PartitionKind::Disk, PartitionKind::Quorum];

/// Ends a test that hangs.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("this should have come long ago")
}

/// Waits for something that nobody tells.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within(wait).await;
}

/// A log of small segments.
pub(crate) fn small() -> braid_log::Options {
    braid_log::Options {
        segment_bytes: u32::try_from(SEGMENT_BYTES).unwrap(),
        ready_segments: 1,
        reserve_segments: 2,
        ballast_bytes: 16 * 1024,
        cache_bytes: 16 * 1024,
        queue_bytes_max: 48 * 1024,
        rewrite_after_segments: 0,
        ..braid_log::Options::new(7, 11)
    }
}

/// A log whose entries may be large.
pub(crate) fn large() -> braid_log::Options {
    braid_log::Options {
        segment_bytes: 8 * 1024 * 1024,
        queue_bytes_max: 1024 * 1024,
        rewrite_after_segments: 0,
        cache_bytes: 256 * 1024,
        ballast_bytes: 1024 * 1024,
        ..braid_log::Options::new(7, 11)
    }
}

/// A running broker.
pub(crate) struct Node {
    pub(crate) broker: Broker,
    pub(crate) notes: mpsc::UnboundedReceiver<PartitionNote>,
}

impl Node {
    /// With small segments.
    pub(crate) async fn start(disk: &SimulatedDisk) -> Result<Self, StartError> {
        Self::start_with(Arc::new(disk.clone()), small()).await
    }

    /// With small segments, and partitions that must be in the log.
    pub(crate) async fn start_requiring(
        disk: &SimulatedDisk,
        required: impl IntoIterator<Item = PartitionId>,
    ) -> Result<Self, StartError> {
        let required = required.into_iter().collect();
        Self::start_on(LogOptions { log: small(), disk: Arc::new(disk.clone()), required }).await
    }

    pub(crate) async fn start_with(disk: Arc<dyn Disk>, log: braid_log::Options) -> Result<Self, StartError> {
        Self::start_on(LogOptions { log, disk, required: BTreeSet::new() }).await
    }

    async fn start_on(log: LogOptions) -> Result<Self, StartError> {
        let log = Some(log);
        let options = Options { node: NODE, partitions: 1, memory_bytes_max: usize::MAX, seed: 7, log };
        let (broker, notes) = within(Broker::start(options)).await?;
        Ok(Self { broker, notes })
    }

    pub(crate) fn partition(&self, kind: PartitionKind) -> PartitionHandle {
        self.broker.partition(PartitionId::new(0, kind, 0)).unwrap().clone()
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.broker.log_statistics().unwrap()
    }

    pub(crate) fn out_of_service(&self) -> u64 {
        self.broker.counters.partitions_out_of_service.get()
    }
}

/// Makes a group of a partition.
pub(crate) async fn create(partition: &PartitionHandle, group: GroupId, config: GroupConfig) {
    let command = Command::CreateGroup { group, config: Box::new(config) };
    assert_eq!(within(partition.request(command)).await, Some(Reply::Done));
}

/// Waits until all that was submitted before is carried out and handed over: what is asked second is in a later round
/// than what is asked first.
pub(crate) async fn quiet(partition: &PartitionHandle) {
    for _ in 0..2 {
        within(partition.inspect(Some(Vec::new()))).await;
    }
}

/// Ready and unacked messages of a group.
pub(crate) async fn counts(partition: &PartitionHandle, group: GroupId) -> (u64, u64) {
    let inspected = within(partition.inspect(Some(vec![group]))).await;
    inspected.first().map(|(_, inspected)| (inspected.ready, inspected.unacked)).expect("the group is there")
}
