//! Errors, sorted by who has to act, and findings of damage.

use std::{fmt, sync::Arc};

use braid_types::{LogIndex, MessageId, PartitionId};

/// Bytes on disk that are not what was written, and where. Takes its partition out of service, no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Whose data it was.
    pub partition: PartitionId,
    /// The segment; 0 when it is not in one.
    pub segment: u32,
    /// Byte in the segment's file where the damaged piece begins.
    pub offset: u32,
    /// The entry, where that is known.
    pub index: Option<LogIndex>,
    /// The body within the entry, when it is only that.
    pub position: Option<u32>,
    /// What was found.
    pub what: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition {}: {}", self.partition.0, self.what)?;
        if self.segment != 0 {
            write!(f, ", segment {:08x} at byte {}", self.segment, self.offset)?;
        }
        if let Some(index) = self.index {
            write!(f, ", entry {}", index.0)?;
        }
        if let Some(position) = self.position {
            write!(f, ", body {position}")?;
        }
        Ok(())
    }
}

/// Why the log did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The caller: an entry must follow the last one of its partition.
    #[error("entry {} of partition {} does not follow {last:?}", index.0, partition.0)]
    NotContiguous {
        /// Whose log.
        partition: PartitionId,
        /// The entry that was to be appended.
        index: LogIndex,
        /// The last one that is there.
        last: Option<LogIndex>,
    },
    /// The caller: larger than a named limit.
    #[error("{what} of {size} is larger than {max}")]
    TooLarge {
        /// What is.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        max: usize,
    },
    /// The caller: positions of an entry's bodies must ascend.
    #[error("the positions of an entry's bodies do not ascend")]
    PositionsUnordered,
    /// The caller: no such body, or it is forgotten.
    #[error("body {} of entry {} of partition {} is gone", message.position, message.index.0, partition.0)]
    Gone {
        /// Whose.
        partition: PartitionId,
        /// Which.
        message: MessageId,
    },
    /// The caller: a part was to be kept that the last snapshot does not have.
    #[error("the last snapshot has no part {key}")]
    NoSuchPart {
        /// The part.
        key: u64,
    },
    /// The caller: an option is out of its range.
    #[error("option {0} is out of its range")]
    InvalidOption(&'static str),

    /// Try again: too much waits for the disk.
    #[error("too much waits for the disk")]
    Busy,
    /// Try again: the disk is full, so bodies are not taken for now. Records without bodies are.
    #[error("the disk is full: no bodies are taken for now")]
    BodiesRefused,
    /// Try again: the disk is full, and so is the reserve.
    #[error("the disk is full")]
    DiskFull,

    /// The partition's owner: its log is damaged, it is out of service.
    #[error("out of service: {0}")]
    Damaged(Damage),

    /// The node: a write or sync failed. Nothing more is taken until a restart; what was not confirmed may or may not
    /// be on disk.
    #[error("the log stopped: {0}")]
    Failed(Arc<str>),
    /// The log is shut down.
    #[error("the log is shut down")]
    ShutDown,
    /// The operator: the operating system refused something.
    #[error("{file}: {why}")]
    Io {
        /// The file.
        file: String,
        /// What it said.
        why: String,
    },
    /// The operator: the directory belongs to another node or disk, or to another version.
    #[error("{file} is not ours: {why}")]
    NotOurs {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
}

impl Error {
    pub(crate) fn io(file: &str, error: &std::io::Error) -> Self {
        Self::Io { file: file.to_owned(), why: error.to_string() }
    }
}
