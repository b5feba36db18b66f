//! The AMQP endpoint against a scripted client and broker: in memory, with simulated time, no sockets.
//!
//! Every script that runs under [`driver::golden`] is run again with its input split at every byte, and has to give the
//! same requests and the same bytes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    unreachable_pub,
    missing_docs,
    reason = "a test may fail loudly, and its helpers are nobody's API"
)]

mod bad_inputs;
mod confirm;
mod consume;
mod content;
mod crossing;
mod driver;
mod end;
mod field_types;
mod handshake;
mod heartbeat;
mod prefetch;
mod publish;
mod random;
mod settle;
mod topology;
