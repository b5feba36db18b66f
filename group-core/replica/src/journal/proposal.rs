//! What is proposed to a journal.

use braid_log::{Body, limits::BODIES_PER_ENTRY_MAX};
use bytes::Bytes;

use crate::{
    Error,
    limits::{BODY_OVERHEAD_BYTES, ENTRY_BYTES_MAX},
};

/// One entry: a batch of commands, and the bodies that they bring.
#[derive(Clone, Default)]
pub struct Proposal {
    /// The batch, as the owner encodes it; what is handed out when another run proposed it.
    pub payload: Bytes,
    /// The bodies, by ascending position. They go to the log and are read there.
    pub bodies: Vec<Body>,
}

impl std::fmt::Debug for Proposal {
    /// Its size: what clients sent is not for everybody.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proposal({} bytes, {} bodies)", self.payload.len(), self.bodies.len())
    }
}

impl Proposal {
    /// Bytes that it takes in the log, at most.
    pub(super) fn size_bytes(&self) -> usize {
        self.payload.len() + self.bodies.iter().map(|body| body.size_bytes() + BODY_OVERHEAD_BYTES).sum::<usize>()
    }

    /// Whether a log can take it. What a Raft log has once taken, it must be able to write.
    pub(super) fn check(&self) -> Result<(), Error> {
        let size_bytes = self.size_bytes();
        if size_bytes > ENTRY_BYTES_MAX {
            return Err(Error::TooLarge { size_bytes, max_bytes: ENTRY_BYTES_MAX });
        }
        let ascends = self.bodies.is_sorted_by(|one, next| one.position < next.position);
        if !ascends || self.bodies.len() > BODIES_PER_ENTRY_MAX {
            return Err(Error::Unloggable("its bodies are too many, or their positions do not ascend"));
        }
        Ok(())
    }
}
