//! Frames (AMQP 0-9-1, 4.2.3), borrowed from the buffer that they were read into.
//!
//! ```text
//! octet   0      1       3         7                 7+size
//!         +------+-------+---------+-----------------+-----+
//!         | type |channel|  size   |     payload     | 206 |
//!         | u8   | u16   |  u32    |   size octets   | u8  |
//!         +------+-------+---------+-----------------+-----+
//!
//! type 1  method     class u16 | method u16 | arguments
//! type 2  header     class u16 | weight u16 (0) | body size u64 | property flags u16 | property list
//! type 3  body       body octets
//! type 8  heartbeat  nothing, on channel 0
//! ```
//! A content is a method frame that carries one (`basic.publish`), a header frame, and as many body frames as it takes to
//! make up the body size: none when it is 0. Frames of other channels may come in between.

use bytes::Bytes;

use crate::{DecodeError, method::MethodId};

/// Octets before the payload.
pub const FRAME_HEAD_BYTES: usize = 7;

/// The octet after the payload.
pub const FRAME_END: u8 = 206;

/// What a client sends first, and what it gets back if it sent something else (4.2.2).
pub const PROTOCOL_HEADER: [u8; 8] = *b"AMQP\x00\x00\x09\x01";

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A method with its arguments.
    Method,
    /// The size and properties of a content.
    Header,
    /// A piece of a body.
    Body,
    /// A sign of life.
    Heartbeat,
}

impl FrameKind {
    /// The kind that the first octet of a frame names.
    #[must_use]
    pub const fn from_octet(octet: u8) -> Option<Self> {
        Some(match octet {
            1 => Self::Method,
            2 => Self::Header,
            3 => Self::Body,
            8 => Self::Heartbeat,
            _ => return None,
        })
    }

    /// The first octet of such frames.
    #[must_use]
    pub const fn octet(self) -> u8 {
        match self {
            Self::Method => 1,
            Self::Header => 2,
            Self::Body => 3,
            Self::Heartbeat => 8,
        }
    }
}

/// A complete frame. `payload` lies within `batch`, so that parts of it can be kept without a copy.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Its type.
    pub kind: FrameKind,
    /// Its channel; 0 is the connection.
    pub channel: u16,
    /// Its payload.
    pub payload: &'a [u8],
    /// The bytes that `payload` is a part of.
    pub batch: &'a Bytes,
}

impl<'a> Frame<'a> {
    /// The method that a method frame carries, and its arguments.
    ///
    /// # Errors
    /// The payload is shorter than two ids.
    pub fn method(&self) -> Result<(MethodId, &'a [u8]), DecodeError> {
        let (ids, arguments) = self.payload.split_first_chunk::<4>().ok_or(DecodeError::Truncated)?;
        let [a, b, c, d] = *ids;
        Ok((MethodId { class: u16::from_be_bytes([a, b]), method: u16::from_be_bytes([c, d]) }, arguments))
    }
}
