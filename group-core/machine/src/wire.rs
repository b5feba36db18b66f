//! The byte form of commands: written by hand, once, by the leader; the same bytes go to log, wire and disk (guide,
//! rule 24).
//!
//! ```text
//!   command = kind (1 byte)  version (1 byte)  fields
//!   number  = 7 bits per byte, least significant first, the top bit says that more follow
//!   bytes   = number (length)  that many bytes
//!   option  = 0 | 1 value
//!   list    = number (count)  that many values
//! ```
//!
//! A kind or version that this build does not know is not guessed at: it is [`CorruptBytes`]. Changes only add kinds
//! and versions; what was ever written stays readable.

use alloc::vec::Vec;

use braid_types::{CorruptBytes, Wire};
use bytes::{Bytes, BytesMut};

use crate::Command;
use address::Addresses;

mod address;
mod command;
mod config;
mod identifier;
mod member;
mod number;

pub(crate) use number::{put_count, put_list, take_count};

/// A part of a command or snapshot with one byte form.
pub(crate) trait Field: Sized {
    /// Appends the byte form.
    fn put(&self, out: &mut BytesMut);

    /// Reads it back, consuming it from `input`.
    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes>;
}

/// Reads the commands of an entry. Messages in a row with one address share it, which costs neither time nor memory.
/// Nothing that is read keeps `input` alive, except for the names of publish identities.
///
/// # Errors
/// The bytes do not begin with `count` commands.
pub fn decode_commands(input: &mut Bytes, count: usize) -> Result<Vec<Command>, CorruptBytes> {
    // Each has a kind and a version, so that nothing is allocated for a count that is only announced.
    let mut commands = Vec::with_capacity(count.min(input.len() / 2));
    let mut addresses = Addresses::default();
    for _ in 0..count {
        commands.push(command::read(input, &mut addresses)?);
    }
    Ok(commands)
}

impl Wire for Command {
    fn encode(&self, out: &mut BytesMut) {
        command::put(self, out);
    }

    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        command::read(input, &mut Addresses::default())
    }
}
