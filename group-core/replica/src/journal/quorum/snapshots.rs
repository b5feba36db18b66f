//! The owner's snapshots of a quorum journal: asked for one at a time, and known to the group when they are durable.

use std::{future::pending, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::{Error, SnapshotRequest, store::record::snapshot_meta, types::SnapshotMeta};

/// See the file's head.
#[derive(Debug)]
pub(super) struct Snapshots {
    is_wanted: bool,
    /// What the snapshot is of that the owner makes, and its answer.
    making: Option<(SnapshotMeta, oneshot::Receiver<Result<(), Error>>)>,
    /// What the last durable one is of, for the group to see.
    durable: Arc<Mutex<SnapshotMeta>>,
}

/// Whether there is a new durable snapshot.
pub(super) type Made = Result<(), Error>;

impl Snapshots {
    pub(super) fn new(durable: Arc<Mutex<SnapshotMeta>>) -> Self {
        Self { is_wanted: false, making: None, durable }
    }

    /// Wants one, unless one is being made.
    pub(super) fn want(&mut self) {
        self.is_wanted = self.making.is_none();
    }

    /// The request for the one that is wanted.
    pub(super) fn request(&mut self, handed_out: &SnapshotMeta) -> Option<SnapshotRequest> {
        if !std::mem::take(&mut self.is_wanted) {
            return None;
        }
        let (request, answer) = SnapshotRequest::new(snapshot_meta(handed_out));
        self.making = Some((handed_out.clone(), answer));
        Some(request)
    }

    /// The owner's answer. Cancel safe; waits for ever if there was no request.
    pub(super) async fn answer(&mut self) -> Made {
        let answer = match &mut self.making {
            Some((_, answer)) => answer.await.unwrap_or_else(|_| Err(unanswered())),
            None => pending().await,
        };
        self.end(answer)
    }

    /// The owner's answer, if it is there.
    pub(super) fn try_answer(&mut self) -> Option<Made> {
        let answer = match self.making.as_mut()?.1.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Closed) => Err(unanswered()),
            Err(TryRecvError::Empty) => return None,
        };
        Some(self.end(answer))
    }

    fn end(&mut self, answer: Made) -> Made {
        let made = self.making.take();
        answer?;
        if let Some((made, _)) = made {
            *self.durable.lock() = made;
        }
        Ok(())
    }
}

/// A request that was dropped counts as failed.
fn unanswered() -> Error {
    Error::Failed("nobody made it".to_owned())
}
