//! The state machine of a journal's Raft group: it has no state, and hands on what is committed to the owner.
//!
//! The channel is bounded: an owner that is slow holds applying back, and nothing else.

use std::{io, sync::Arc};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use openraft::{
    OptionalSend,
    storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine},
};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::types::{Entry, Payload, QuorumTypes};
use crate::{
    Error, SnapshotRequest,
    store::record::snapshot_meta,
    types::{LogId, Snapshot, SnapshotMeta, StoredMembership},
};

/// What goes to the owner.
#[derive(Debug)]
pub(super) enum Forwarded {
    /// The next committed entry.
    Entry(Entry),
    /// A snapshot is wanted, of the state after the last entry.
    Snapshot(SnapshotRequest),
}

/// See the file's head.
#[derive(Debug)]
pub(super) struct Forwarder {
    owner: mpsc::Sender<Forwarded>,
    /// What was handed on.
    handed_on: SnapshotMeta,
    /// What the owner's durable snapshot is of.
    snapshot: Arc<Mutex<SnapshotMeta>>,
}

impl Forwarder {
    /// `snapshot`: what the owner's durable snapshot is of; nothing up to there is handed on.
    pub(super) fn new(owner: mpsc::Sender<Forwarded>, snapshot: SnapshotMeta) -> Self {
        Self { owner, handed_on: snapshot.clone(), snapshot: Arc::new(Mutex::new(snapshot)) }
    }

    async fn send(&self, forwarded: Forwarded) {
        // When the journal is closed, its group is about to end, and what it still applies is of no interest: the next
        // run begins at the snapshot again.
        drop(self.owner.send(forwarded).await);
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
    /// The owner keeps it, and nobody is sent one so far.
    type SnapshotData = Bytes;
    type SnapshotBuilder = Builder;

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
            self.send(Forwarded::Entry(entry)).await;
            if let Some(responder) = responder {
                responder.send(());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        let meta = self.handed_on.clone();
        let (request, answer) = SnapshotRequest::new(snapshot_meta(&meta));
        self.send(Forwarded::Snapshot(request)).await;
        Builder { meta, answer, snapshot: Arc::clone(&self.snapshot) }
    }

    async fn install_snapshot(&mut self, _meta: &SnapshotMeta, _snapshot: Bytes) -> io::Result<()> {
        Err(io::Error::other("a group with one voter has nobody to send it a snapshot"))
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<Snapshot>> {
        let meta = self.snapshot.lock().clone();
        Ok(meta.last_log_id.is_some().then_some(Snapshot { meta, snapshot: Bytes::new() }))
    }
}

/// Waits for the owner's snapshot.
#[derive(Debug)]
pub(super) struct Builder {
    meta: SnapshotMeta,
    answer: oneshot::Receiver<Result<(), Error>>,
    snapshot: Arc<Mutex<SnapshotMeta>>,
}

impl RaftSnapshotBuilder<QuorumTypes> for Builder {
    type SnapshotData = Bytes;

    /// A snapshot that could not be made is none to stop for: the one before still counts.
    async fn build_snapshot(&mut self) -> io::Result<Snapshot> {
        // A request that is dropped counts as failed.
        let answer = (&mut self.answer).await.unwrap_or(Err(Error::ShutDown));
        if let Err(error) = answer {
            tracing::warn!(%error, "a snapshot was not made");
            return Ok(Snapshot { meta: self.snapshot.lock().clone(), snapshot: Bytes::new() });
        }
        *self.snapshot.lock() = self.meta.clone();
        Ok(Snapshot { meta: self.meta.clone(), snapshot: Bytes::new() })
    }
}
