//! The catalog: what all nodes agree on about vhosts, users, exchanges, bindings, groups and where they live, as one
//! pure state machine (SPEC sections 3 and 7).
//!
//! [`Catalog`] takes [`Command`]s in the order of the meta log, gives each a [`Reply`] and says in [`Effect`]s what
//! changed. It never waits, never reads a clock, never touches a disk or a socket, and knows no messages. Maps are
//! ordered, so the same log gives the same state, replies and snapshot bytes on every node.
//!
//! Invariants, checked by [`Catalog::check_invariants`] and the property tests:
//! 1. both ends of every binding exist, and a shared group has none;
//! 2. a name names one group in its vhost, whatever made it; a group is found by name and by id as the same row;
//! 3. a [`braid_types::GroupId`] is never used twice, not even after its group is gone;
//! 4. the load counted per partition is the number of groups placed there;
//! 5. every index is a consequence of the rows: a restored snapshot answers as the original does;
//! 6. a shared group gets messages exactly while a `$share` of its name and filter would resolve to it.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm, clippy::float_arithmetic)]

extern crate alloc;

mod arguments;
mod binding;
mod catalog;
mod changes;
mod codec;
mod command;
mod effect;
mod exchange;
mod group;
mod invariants;
pub mod limits;
mod options;
mod placement;
pub mod refusals;
mod reply;
mod snapshot;
mod user;
mod vhost;
mod wire;

pub use binding::Binding;
pub use catalog::{Catalog, Publish, RouteError};
pub use command::Command;
pub use effect::Effect;
pub use exchange::ExchangeRow;
pub use group::{GroupKind, GroupRow, StorageClass};
pub use options::{DeadLetterStrategy, DelayedRetry, DispatchStrategy, GroupOptions, Overflow};
pub use placement::Node;
pub use reply::Reply;
pub use user::UserRow;
