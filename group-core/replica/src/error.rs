//! Errors, sorted by who has to act.

use std::path::PathBuf;

use braid_types::{LogIndex, PartitionId};

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

    /// The proposer: an entry that no log can take.
    #[error("the entry cannot be logged: {0}")]
    Unloggable(&'static str),
    /// The owner: a log is purged no further than its durable snapshot reaches.
    #[error("entry {} is not in the durable snapshot, which reaches to {:?}", index.0, snapshot.map(|last| last.0))]
    NotInSnapshot {
        /// How far it was to be purged.
        index: LogIndex,
        /// The last entry of the snapshot, if there is one.
        snapshot: Option<LogIndex>,
    },

    /// Try again: too much is on its way.
    #[error("too much is on its way to the log")]
    Busy,
    /// Try again: the disk is full.
    #[error("the disk is full")]
    DiskFull,
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
    /// The operator: a disk journal was opened as a quorum one, or the other way round. Nothing was changed in it.
    #[error("the log of partition {} is of another kind", partition.0)]
    OtherKind {
        /// Whose log.
        partition: PartitionId,
    },
    /// The operator: the log of a partition is damaged, and out of service. Nothing was changed in it.
    #[error("the log of partition {} is damaged: {why}", partition.0)]
    LogDamaged {
        /// Whose log.
        partition: PartitionId,
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

impl Error {
    /// What an error of the node's write-ahead log means for the journal of a partition.
    pub(crate) fn of_log(partition: PartitionId, error: &braid_log::Error) -> Self {
        use braid_log::Error as Log;
        match error {
            Log::TooLarge { size, max, .. } => Self::TooLarge { size_bytes: *size, max_bytes: *max },
            Log::PositionsUnordered => Self::Unloggable("the positions of its bodies do not ascend"),
            Log::Busy => Self::Busy,
            Log::BodiesRefused | Log::DiskFull => Self::DiskFull,
            Log::Damaged(damage) => Self::LogDamaged { partition, why: damage.to_string() },
            Log::Failed(why) => Self::Failed(why.to_string()),
            Log::ShutDown => Self::ShutDown,
            Log::Io { file, why } => Self::Io { path: file.into(), why: why.clone() },
            Log::NotOurs { file, why } => Self::NotOurs { path: file.into(), why: why.clone() },
            Log::NotContiguous { .. } | Log::Gone { .. } | Log::NoSuchPart { .. } | Log::InvalidOption(_) => {
                Self::Failed(error.to_string())
            }
        }
    }

    /// Whether nothing more can come after it: trying again is of no use.
    pub(crate) fn stops_a_journal(&self) -> bool {
        matches!(self, Self::LogDamaged { .. } | Self::Failed(_) | Self::ShutDown | Self::Io { .. })
    }
}
