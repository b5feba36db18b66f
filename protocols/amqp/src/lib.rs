//! The AMQP 0-9-1 server endpoint: bytes, events and time in; bytes, requests and deadlines out.
//!
//! Reference behaviour is RabbitMQ 4.3's, then the AMQP 0-9-1 specification. This crate never touches a socket, a clock,
//! a file or a random source (`no_std` + alloc makes the compiler say so), and never decides where a message goes: it
//! turns methods into [`braid_types::Request`]s and [`braid_types::Event`]s into frames.
//!
//! Reading order: [`frame`] (layout), [`codec`], [`method`], [`field_table`], [`properties`], then [`Connection`].
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm, clippy::float_arithmetic, clippy::indexing_slicing)]

extern crate alloc;

mod channel;
pub mod codec;
mod connection;
mod content;
mod dead_letter;
mod error;
pub mod field_table;
pub mod frame;
mod identity;
pub mod limits;
pub mod method;
mod options;
pub mod properties;
mod reader;
mod reply_code;
mod writer;

pub use connection::Connection;
pub use dead_letter::{dead_letter, deaths};
pub use error::{ConversionError, DecodeError, Exception, FrameError};
pub use identity::publish_identity;
pub use options::Options;
pub use reader::Reader;
pub use reply_code::ReplyCode;
pub use writer::Writer;
