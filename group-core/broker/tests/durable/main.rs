//! Partitions that have a log, over a disk that crashes, fails, rots and fills up, through the broker's public API. Both
//! kinds: one replica straight on the log, and a Raft group with one voter.
//!
//! A client-side ledger says what must be there, what may be there and what must not; it knows nothing of how the broker
//! keeps it. The log's writer runs on its own thread, so a run is not the same twice: the ledger holds for all of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that does not hold should stop")]

mod client;
mod crash;
mod damage;
mod failure;
mod full;
mod generated;
mod ledger;
mod letters;
mod memory;
mod node;
mod player;
mod random;
mod recovery;
mod sessions;
mod sets;
mod snapshots;
mod time;
