//! Removing the bodies that were forgotten before the snapshot that is durable now.

use super::Maintenance;
use crate::engine::Engine;

impl Maintenance {
    /// Sweeps some chunks of one partition. Whether there was anything to sweep.
    pub(super) fn sweep(&mut self) -> bool {
        let mut engine = self.inner.lock();
        let due = engine.partitions.iter().find(|(_, partition)| partition.is_sweep_due()).map(|(id, _)| *id);
        due.is_some_and(|id| sweep_some(&mut engine, id))
    }
}

/// Sweeps some chunks of a partition. Whether it was due.
pub(crate) fn sweep_some(engine: &mut Engine, id: braid_types::PartitionId) -> bool {
    let Engine { partitions, segments, .. } = engine;
    partitions.get_mut(&id).is_some_and(|partition| partition.sweep_some(segments))
}
