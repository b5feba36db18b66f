//! The state machine of a journal's Raft group: it has no state, and hands on what is committed to the owner.
//!
//! The channel is bounded: an owner that is slow holds applying back, and nothing else. Snapshots are the owner's: to the
//! group there is always the last durable one, and building one is to look which that is.

use std::{io, sync::Arc};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use openraft::{
    OptionalSend,
    storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine},
};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::types::{Entry, Payload, QuorumTypes};
use crate::types::{LogId, Snapshot, SnapshotMeta, StoredMembership};

/// See the file's head.
#[derive(Debug)]
pub(super) struct Forwarder {
    owner: mpsc::Sender<Entry>,
    /// What a snapshot would be of after all that was handed on.
    handed_on: SnapshotMeta,
    snapshot: DurableSnapshot,
}

impl Forwarder {
    /// `snapshot`: what the owner's durable snapshot is of; nothing up to there is handed on.
    pub(super) fn new(owner: mpsc::Sender<Entry>, snapshot: Arc<Mutex<SnapshotMeta>>) -> Self {
        let handed_on = snapshot.lock().clone();
        Self { owner, handed_on, snapshot: DurableSnapshot(snapshot) }
    }
}

/// Keeps what a snapshot is of in step with the entries that were handed out.
pub(super) fn advance(meta: &mut SnapshotMeta, log_id: LogId, payload: &Payload) {
    meta.last_log_id = Some(log_id);
    if let Payload::Membership(membership) = payload {
        meta.last_membership = StoredMembership::new(Some(log_id), membership.clone());
    }
}

impl RaftStateMachine<QuorumTypes> for Forwarder {
    /// The owner keeps it, and so far there is nobody to send it to.
    type SnapshotData = Bytes;
    type SnapshotBuilder = DurableSnapshot;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        Ok((self.handed_on.last_log_id, self.handed_on.last_membership.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<QuorumTypes>>> + Unpin + OptionalSend,
    {
        while let Some(entry) = entries.next().await {
            let (entry, responder) = entry?;
            // openraft takes its word for it when a log ends early.
            let next = self.handed_on.last_log_id.map_or(0, |last| last.index + 1);
            if entry.log_id.index != next {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("entry {next} of the log is missing")));
            }
            advance(&mut self.handed_on, entry.log_id, &entry.payload);
            // When the journal is closed, its group is about to end, and what it still applies is of no interest: the
            // next run begins at the snapshot again.
            drop(self.owner.send(entry).await);
            if let Some(responder) = responder {
                responder.send(());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> DurableSnapshot {
        self.snapshot.clone()
    }

    async fn install_snapshot(&mut self, _meta: &SnapshotMeta, _snapshot: Bytes) -> io::Result<()> {
        Err(io::Error::other("a group with one voter has nobody to send it a snapshot"))
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<Snapshot>> {
        let meta = self.snapshot.0.lock().clone();
        Ok(meta.last_log_id.is_some().then_some(Snapshot { meta, snapshot: Bytes::new() }))
    }
}

/// What the owner's durable snapshot is of.
#[derive(Clone, Debug)]
pub(super) struct DurableSnapshot(Arc<Mutex<SnapshotMeta>>);

impl RaftSnapshotBuilder<QuorumTypes> for DurableSnapshot {
    type SnapshotData = Bytes;

    async fn build_snapshot(&mut self) -> io::Result<Snapshot> {
        Ok(Snapshot { meta: self.0.lock().clone(), snapshot: Bytes::new() })
    }
}
