//! Routing tables: who gets a message. Pure data structures, no broker in them.
//!
//! - [`Trie`]: filters of three dialects to values; given an address, the values of all filters that match it.
//! - [`Store`]: addresses to values; given a filter, all addresses that it matches (retained messages).
//! - [`Exchange`]: the bindings of one AMQP exchange, of kind direct, fanout, topic or headers.
//!
//! This crate never does any IO, reads no clock and has no randomness: what is visited, and in which order, depends on the
//! sequence of changes alone, never on a hash seed. No function recurses. The work of a match is bounded by (nodes that can
//! match) × (levels of the address), whatever the patterns (CASES S4).
//!
//! The default exchange is not a table: the catalog looks its groups up by name.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm, clippy::float_arithmetic)]

extern crate alloc;

mod exchange;
mod hashing;
pub mod limits;
mod slots;
mod store;
mod tree;
mod trie;

pub use exchange::{BindError, BindingView, Exchange};
pub use store::Store;
pub use trie::Trie;
