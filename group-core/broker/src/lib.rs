//! The node's broker: partitions with their owner tasks, connections' mailboxes, the interest of plain subscribers, and
//! retained messages.
//!
//! It never speaks a client protocol, opens a socket or reads the catalog: the gateway wires those to it. Who owns
//! what: a partition task owns its machine and bodies; a connection task owns its mailbox's reading end; interest and
//! retained messages are behind one lock each, held for look-ups and changes only, never across an await.
#![forbid(unsafe_code)]

mod bodies;
mod broker;
mod clock;
mod counters;
mod interest;
pub mod limits;
mod listing;
mod mailbox;
mod memory;
mod outbox;
mod partition;
mod retained;
mod stored;
mod work;

pub use braid_log::Statistics;
pub use braid_machine::OnLoss;
pub use broker::{Broker, LogOptions, Options, StartError};
pub use clock::Clock;
pub use counters::{Counter, Counters};
pub use interest::{Interest, InterestKey, InterestTable, QueueKey, Subscriber};
pub use listing::{GroupListing, MemberListing};
pub use mailbox::{ConnectionInfo, Item, Mailbox, Overflow, Pushed};
pub use memory::MemoryGauge;
pub use outbox::Outbox;
pub use partition::{DeadLetter, Inspected, PartitionHandle, PartitionNote};
pub use retained::RetainedTable;
pub use work::{Answer, Submission, Task};
