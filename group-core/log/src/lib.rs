//! The write-ahead log of a node: one set of files for all its partitions.
//!
//! Whoever appends is told when it is on disk; all who wait at the same time share one write and one sync. Bodies are
//! stored once, by (entry, position), and outlive their entry: the log of Raft is purged as it likes, a body stays until
//! it is forgotten. Per body 24 bytes are in memory, never the body itself (recent entries are, bounded).
//!
//! ```text
//! segment    header copy (4096) | header copy (4096) | batch… | end end         each at a multiple of 4096
//! batch      mark | record… | zeros                                             each at a multiple of 64
//! record     header (64, own crc) | head (crc): table of bodies, payload | bodies (a crc each) | zeros
//! mark       header (64, own crc) | partitions of this batch, and of the one before, with their last record's number
//! ```
//!
//! This crate never decides what is committed, never interprets payloads or bodies, and never repairs: a torn tail is
//! cut, any other damage takes its partition out of service, alone, and says where. Only `disk::RealDisk` does IO; there
//! is no clock and no randomness but the seed in [`Options`].
//!
//! Invariants:
//! 1. a callback is called with success only after the sync that covers its record, and in order;
//! 2. after a failed write or sync nothing is written, and everything that waits is told;
//! 3. nothing that is synced is ever written over; a segment's file is used again only when nothing in it is needed by
//!    any index, by the last durable snapshot of any partition, or by a reader;
//! 4. what is read was checked, and was written under that name (P2);
//! 5. a record is only taken for one in the place and life of the segment that it was written in.
//!
//! Sizes and offsets are bytes.
#![forbid(unsafe_code)]

mod append;
pub mod disk;
mod engine;
mod error;
mod files;
mod format;
mod index;
mod inner;
pub mod limits;
mod maintenance;
mod names;
mod options;
mod recovery;
mod snapshot;
mod statistics;
mod wal;
mod window;
mod writer;

pub use append::{Append, Body, Callback, PurgeMark};
pub use error::{Damage, Error};
pub use maintenance::{Maintenance, MaintenanceThread};
pub use options::Options;
pub use recovery::Recovery;
pub use snapshot::{Capture, SnapshotMeta, SnapshotReader, SnapshotWriter};
pub use statistics::Statistics;
pub use wal::{Content, Entry, Opened, PartitionStatus, Pin, Space, Wal};
pub use writer::{Step, Writer, WriterThread};
