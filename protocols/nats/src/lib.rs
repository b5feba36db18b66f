//! The server side of the NATS client protocol, as nats-server 2.15 speaks it: one connection's state without IO.
//!
//! [`Connection`] implements [`braid_types::Endpoint`]: bytes, events and time go in; bytes, requests and a deadline
//! come out. [`neutral`] gives the protocol-neutral view of a message that a NATS client published.
//!
//! It never reads a clock, opens a socket, knows about groups or routing, or holds a secret longer than one request.
//!
//! | file | what |
//! |---|---|
//! | `op`, `parser` | control lines and payloads out of the read buffer, resumable at any byte |
//! | `connect`, `info` | the two JSON objects of the handshake |
//! | `connection` | the protocol's rules |
//! | `answers` | `+OK`, `PONG`, `-ERR` and 503 in the order of what they answer |
//! | `subscriptions`, `subject` | the client's own subscriptions and the text form of subjects |
//! | `encoder`, `headers`, `reply` | `MSG` and `HMSG`, and the crossing to and from the other protocols |
//! | `dead_letter`, `identity` | the headers that remember deaths, and those that make a publish known again |
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm, clippy::float_arithmetic, clippy::indexing_slicing)]

extern crate alloc;

mod answers;
mod connect;
mod connection;
mod dead_letter;
mod encoder;
mod error;
mod headers;
mod identity;
mod info;
pub mod limits;
mod op;
mod options;
mod parser;
mod reply;
mod subject;
mod subscriptions;

pub use connection::Connection;
pub use dead_letter::{dead_letter, deaths};
pub use headers::neutral;
pub use identity::publish_identity;
pub use options::Options;
