//! The contract of replicated state machines (group partitions, the catalog).
//!
//! `apply` is total: for any decodable command it gives a reply and effects, the same on every replica; it never
//! fails, never panics, reads no clock. Effects are carried out by the leader alone.

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};

use crate::Stamp;

/// Bytes that should have been ours, but are not what was written. Who reads them takes that piece out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {what}")]
pub struct CorruptBytes {
    /// What was to be decoded.
    pub what: &'static str,
}

/// A value with one byte form: the same bytes go to log, wire and disk.
pub trait Wire: Sized {
    /// Appends the byte form.
    fn encode(&self, out: &mut BytesMut);

    /// Reads it back, consuming it from `input`.
    ///
    /// # Errors
    /// The bytes are not such a value.
    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes>;
}

/// A deterministic state machine.
pub trait Machine: Sized {
    /// What changes it.
    type Command;
    /// What the proposer of a command is told.
    type Reply;
    /// What the leader has to do.
    type Effect;

    /// Applies one command.
    fn apply(&mut self, stamp: Stamp, command: Self::Command, effects: &mut Vec<Self::Effect>) -> Self::Reply;

    /// Appends the whole state, without message bodies.
    fn snapshot(&self, out: &mut BytesMut);

    /// The machine whose `snapshot` this is.
    ///
    /// # Errors
    /// The bytes are not a snapshot of this machine.
    fn restore(snapshot: &mut Bytes) -> Result<Self, CorruptBytes>;
}
