//! Errors, sorted by who has to act.

use std::path::PathBuf;

/// Why the meta cluster did not do something. A command that the catalog refuses is no error: its reply says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// As the replica says; among these are the ones to try again.
    #[error(transparent)]
    Replica(#[from] braid_replica::Error),
    /// The operator: the data directory is not what it was, or not this node's. Nothing was changed in it.
    #[error("{path}: {why}")]
    Identity {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The operator: the operating system refused something.
    #[error("{path}: {why}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        why: String,
    },
    /// The catalog did not take what every start needs.
    #[error("the catalog could not be prepared: {0}")]
    NotPrepared(String),
}

impl Error {
    /// It may go well when it is tried again.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Replica(braid_replica::Error::NotLeader { .. }))
    }
}
