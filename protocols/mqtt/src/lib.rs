//! The MQTT server endpoint: MQTT 3.1, 3.1.1 and 5.0 as a state machine without IO ([`Connection`]).
//!
//! ```text
//! bytes ─▶ codec ─▶ packet/* ─▶ connection/* ─▶ requests to the broker
//! bytes ◀─ wire  ◀───────────── connection/* ◀─ events of the broker
//! ```
//!
//! It never touches a socket, a clock or a log; time and randomness are given to it. The reference is the OASIS text;
//! where that leaves room, Mosquitto 2.1, whose wire vectors it agrees with.
//!
//! Invariants: a client's fault closes that client's connection and nothing else; every queue has a limit in
//! [`limits`]; topics, properties and bodies of MQTT messages come out byte for byte as they went in (but for what the
//! standard makes belong to the hop: topic alias, remaining expiry, subscription identifiers).
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm, clippy::float_arithmetic, clippy::indexing_slicing)]

extern crate alloc;

mod aliases;
mod client_id;
mod codec;
mod connection;
mod dead_letter;
mod error;
mod identity;
mod incoming;
pub mod limits;
mod outgoing;
mod packet;
mod properties;
mod reason_code;
mod subscriptions;
mod text;
mod topic;
mod version;
mod will;

pub use connection::{Connection, Counters, Options};
pub use dead_letter::{dead_letter, deaths};
pub use error::Fault;
pub use identity::publish_identity;
pub use properties::neutral::neutral;
pub use reason_code::ReasonCode;
pub use version::Version;
pub use will::due_will;
