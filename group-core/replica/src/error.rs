//! Errors, sorted by who has to act.

use std::path::PathBuf;

/// Why a replica did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The proposer: the command is too large for the log.
    #[error("a command of {size_bytes} bytes is larger than {max_bytes}")]
    TooLarge {
        /// Its size.
        size_bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// The proposer: the command cannot be read back from its own byte form, so it must not get into the log.
    #[error("the command cannot be read back: {0}")]
    Unreadable(braid_types::CorruptBytes),

    /// Try again, there: another node leads, or none does at the moment. Nothing was done.
    #[error("this node does not lead{}", leader.map(|id| format!("; node {id} does")).unwrap_or_default())]
    NotLeader {
        /// Who leads, if that is known.
        leader: Option<u64>,
    },
    /// Look what became of it: leadership was lost while the command was on its way, and it may or may not be applied.
    #[error("leadership was lost; the command may or may not have been applied")]
    Uncertain,
    /// The replica is shut down.
    #[error("the replica is shut down")]
    ShutDown,

    /// The operator: the file belongs to another node or disk, or another process has it open.
    #[error("{path}: {why}")]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The operator: the file is damaged, or lost. Nothing was changed in it.
    #[error("{path} is damaged: {why}. It was left as it is: restore it from a backup or replace this node")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
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
    /// The operator: the replica stopped because it could not go on safely (its disk failed, or the log holds what this
    /// version cannot read). It must be restarted.
    #[error("the replica stopped: {0}")]
    Failed(String),
}
