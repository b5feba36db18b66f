//! What a journal tells its owner.

use braid_types::{LogIndex, Term};
use bytes::Bytes;
use tokio::sync::oneshot;

use crate::Error;

/// What a journal tells its owner.
#[derive(Debug)]
pub enum JournalEvent {
    /// An entry is committed: in the order of the log, each once.
    Committed {
        /// Its place.
        index: LogIndex,
        /// The term that it was proposed in.
        term: Term,
        /// Whose it is.
        entry: Committed,
    },
    /// What former runs committed has been handed out, and this node leads: proposals are taken from now on. A leader
    /// runs no effect before that (guide, rule 22).
    Leads {
        /// The epoch that fences.
        term: Term,
    },
    /// A snapshot is wanted now, of the state after exactly the entries that were handed out before this. Quorum only.
    Snapshot(SnapshotRequest),
    /// Nothing more comes: the log has failed or is damaged, or leadership is lost. Proposals that were not handed out
    /// may or may not be committed. A journal that has none on their way may learn of it only with the next.
    Stopped(Error),
}

/// Whose entry it is.
#[derive(Clone, PartialEq, Eq)]
pub enum Committed {
    /// The oldest proposal of this journal that was not handed out yet.
    Own,
    /// One that another run, or another node, proposed: its payload.
    Other(Bytes),
}

impl std::fmt::Debug for Committed {
    /// Its size: what clients sent is not for everybody.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own => f.write_str("Own"),
            Self::Other(payload) => write!(f, "Other({} bytes)", payload.len()),
        }
    }
}

/// A snapshot that is wanted. Dropped without an answer it counts as failed.
#[derive(Debug)]
pub struct SnapshotRequest {
    note: Bytes,
    answer: oneshot::Sender<Result<(), Error>>,
}

impl SnapshotRequest {
    pub(super) fn new(note: Bytes) -> (Self, oneshot::Receiver<Result<(), Error>>) {
        let (answer, receiver) = oneshot::channel();
        (Self { note, answer }, receiver)
    }

    /// What the snapshot must have as its note.
    #[must_use]
    pub fn note(&self) -> Bytes {
        self.note.clone()
    }

    /// Says that the snapshot is durable, or why it is not: then the one before still counts, and another can be asked
    /// for.
    pub fn done(self, result: Result<(), Error>) {
        // Nobody listens any more once the journal is closed.
        drop(self.answer.send(result));
    }
}
