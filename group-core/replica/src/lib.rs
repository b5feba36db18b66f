//! The Raft host. [`Replica`] keeps the commands of a [`braid_types::Machine`] in a replicated, fsynced log, applies what
//! is committed, in order, and hands the machine's effects to its owner: for the catalog, which is small, its log, vote
//! and snapshots are in one redb file. [`Journal`] is the log of a partition on the node's write-ahead log, and applies
//! nothing: for the groups, whose owner batches, applies and delivers by itself.
//!
//! This is the only crate that names openraft; nothing of it is visible from outside. So far both are the only voter of
//! their group and reach no peer. This crate never decides anything that a machine could, and never repairs or deletes
//! what it cannot read (SPEC section 8, P3).
//!
//! Invariants of a replica (those of a journal stand with it):
//! 1. a proposer gets its reply when the command is on disk and applied here, and after the effects of it were handed
//!    over (P4);
//! 2. effects are handed over in the order of the log, each at most once per run, never for what a former run applied;
//! 3. every record on disk carries a checksum and its own name, and is read through it (P2);
//! 4. the log is purged only as far as a durable snapshot reaches, and holds every entry after that;
//! 5. the time in [`braid_types::Stamp`] never goes back along the log, whatever the wall clock does (P17).
//!
//! Times are milliseconds, sizes bytes.
#![forbid(unsafe_code)]

mod clock;
mod error;
mod host;
mod hosted;
mod journal;
pub mod limits;
mod network;
mod options;
mod replica;
#[cfg(test)]
mod sample;
mod store;
mod types;

pub use clock::EntryClock;
pub use error::Error;
pub use hosted::Hosted;
pub use journal::{Committed, Journal, JournalEvent, Proposal, SnapshotRequest};
pub use options::Options;
pub use replica::{EffectSink, Replica};
