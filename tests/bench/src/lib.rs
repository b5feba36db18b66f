//! Load on raw sockets: one scene against this broker and against a peer in turn, and the ratios of the two.
//!
//! The clients here are as cheap as clients can be (templates, batches, no allocation per message), so that what is
//! measured is the broker. They are no libraries: they speak just what a scene needs, to a broker that behaves.
//!
//! Nothing here judges a time: only ratios within one run say something, and they are printed, not asserted. But a run
//! in which a message was lost or came twice does not count: it is an error, not a figure.
//!
//! Units: sizes in bytes, latencies in nanoseconds, CPU in microseconds per message, all named so.
#![forbid(unsafe_code)]

mod amqp;
mod broker;
mod clients;
mod figures;
mod flow;
mod histogram;
mod http;
mod link;
mod load;
mod log_figures;
mod mqtt;
mod nats;
mod pace;
mod payload;
mod process;
mod report;
mod scene;
mod target;
mod tracker;
mod trial;

pub use histogram::Histogram;
pub use load::{Durations, Measure, run};
pub use log_figures::LogFigures;
pub use report::compare;
pub use scene::{Protocol, SCENES, Scene};
pub use target::Target;
pub use trial::{Plan, TRIALS, Trial};
