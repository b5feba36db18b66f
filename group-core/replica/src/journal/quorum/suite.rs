//! openraft's own tests of a store, run on the write-ahead log.

use std::{io, sync::Arc};

use braid_log::{MaintenanceThread, Options, Wal, WriterThread, disk::SimulatedDisk};
use braid_types::PartitionId;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use openraft::{
    OptionalSend, StorageError,
    storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine},
    testing::log::{StoreBuilder, Suite},
};

use super::{
    forwarder::advance,
    storage::{Failure, Storage},
    types::QuorumTypes,
};
use crate::types::{LogId, Snapshot, SnapshotMeta, StoredMembership};

/// Knows how far it is, which is all that the tests want to know of it.
#[derive(Clone, Debug, Default)]
struct Bystander {
    applied: SnapshotMeta,
    snapshot: Option<Snapshot>,
}

impl RaftStateMachine<QuorumTypes> for Bystander {
    type SnapshotData = Bytes;
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        Ok((self.applied.last_log_id, self.applied.last_membership.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<QuorumTypes>>> + Unpin + OptionalSend,
    {
        while let Some(entry) = entries.next().await {
            let (entry, _) = entry?;
            advance(&mut self.applied, entry.log_id, &entry.payload);
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        let snapshot = Snapshot { meta: self.applied.clone(), snapshot: Bytes::new() };
        self.snapshot = Some(snapshot.clone());
        Builder(snapshot)
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, snapshot: Bytes) -> io::Result<()> {
        self.applied = meta.clone();
        self.snapshot = Some(Snapshot { meta: meta.clone(), snapshot });
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<Snapshot>> {
        Ok(self.snapshot.clone())
    }
}

struct Builder(Snapshot);

impl RaftSnapshotBuilder<QuorumTypes> for Builder {
    type SnapshotData = Bytes;

    async fn build_snapshot(&mut self) -> io::Result<Snapshot> {
        Ok(self.0.clone())
    }
}

struct Fresh;

type Threads = (WriterThread, MaintenanceThread);

impl StoreBuilder<QuorumTypes, Storage, Bystander, Threads> for Fresh {
    async fn build(&self) -> Result<(Threads, Storage, Bystander), StorageError<QuorumTypes>> {
        let options = Options { segment_bytes: 1 << 20, queue_bytes_max: 1 << 19, ..Options::new(1, 2) };
        let opened = Wal::open(options, Arc::new(SimulatedDisk::new())).unwrap();
        let threads = (opened.writer.spawn().unwrap(), opened.maintenance.spawn().unwrap());
        let storage = Storage::new(opened.wal, PartitionId(1), Failure::default());
        Ok((threads, storage, Bystander::default()))
    }
}

#[test]
fn openrafts_own_suite_passes_on_the_log() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(Suite::test_all(Fresh)).unwrap();
}
