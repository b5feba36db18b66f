//! The harness of the conformance tests: starts one broker per test on free ports, and speaks to it only through
//! clients that nobody here wrote (lapin, rumqttc, async-nats) or through raw sockets.
//!
//! It never reaches into the broker: what it knows comes over a socket or from the command line. It ends only the
//! processes that it started, through their handles. Every wait is bounded by [`PATIENCE`]; nothing here measures time.
//!
//! With `CONFORMANCE_AMQP`, `CONFORMANCE_MQTT` or `CONFORMANCE_NATS` set to an address, the tests of that protocol run
//! against what listens there instead: that is how a test is checked against a peer before it judges this broker.
#![forbid(unsafe_code)]

pub mod amqp;
mod binary;
mod broker;
mod failure;
pub mod group;
pub mod http;
pub mod mqtt;
pub mod nats;
mod ports;
pub mod raw;
mod say;
mod wait;
mod wire;

pub use binary::binary;
pub use broker::{Broker, Options};
pub use failure::{Failure, Outcome};
pub use ports::{Port, Ports};
pub use say::say;
pub use wait::{PATIENCE, unique, within};
pub use wire::Wire;
