//! What is submitted.

use braid_types::{LogIndex, PartitionId, Term};
use bytes::Bytes;

use crate::Error;

/// Told when what it was given with is on disk, or will never be known to be. Runs on the writer's thread, one after
/// the other: it must be short, must not wait, and must not panic.
pub type Callback = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// A body that an entry brings.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    /// The command in the entry that it belongs to. With partition and index it names the body for ever.
    pub position: u32,
    /// What is stored in front of `bytes`, so that a small header need not be copied together with a large body; may be
    /// empty. Reading gives both in one piece.
    pub prefix: Bytes,
    /// The body.
    pub bytes: Bytes,
}

impl Body {
    /// A body in one piece.
    #[must_use]
    pub fn new(position: u32, bytes: Bytes) -> Self {
        Self { position, prefix: Bytes::new(), bytes }
    }

    /// Bytes of both pieces.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.prefix.len() + self.bytes.len()
    }
}

/// An entry to append.
pub struct Append {
    /// Whose log.
    pub partition: PartitionId,
    /// Its term.
    pub term: Term,
    /// Its index: the one after the last, whatever it likes in an empty log.
    pub index: LogIndex,
    /// The entry without its bodies.
    pub payload: Bytes,
    /// Its bodies, by ascending position.
    pub bodies: Vec<Body>,
    /// It was promised before (proposed, or sent by a leader), so it may draw on the reserve when the disk is full.
    /// Otherwise bodies are refused then.
    pub is_promised: bool,
    /// Called when the entry, and with it all before it, is on disk. Of several entries the last one's is enough.
    pub done: Option<Callback>,
}

impl std::fmt::Debug for Body {
    /// Its size: what clients sent is not for everybody.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body({}: {} bytes)", self.position, self.size_bytes())
    }
}

impl std::fmt::Debug for Append {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Append")
            .field("partition", &self.partition)
            .field("term", &self.term)
            .field("index", &self.index)
            .field("payload_bytes", &self.payload.len())
            .field("bodies", &self.bodies.len())
            .field("is_promised", &self.is_promised)
            .finish_non_exhaustive()
    }
}

/// How far a log is purged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeMark {
    /// The last purged entry.
    pub index: LogIndex,
    /// Its term.
    pub term: Term,
    /// What else the owner wants to know of it.
    pub note: Bytes,
}
