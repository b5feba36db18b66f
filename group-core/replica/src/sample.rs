//! A machine for unit tests.

use braid_types::{CorruptBytes, Machine, Stamp, Wire};
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Counts its commands.
#[derive(Debug, Default)]
pub(crate) struct Counter(pub(crate) u64);

/// A command of so many bytes.
pub(crate) struct Filling(pub(crate) usize);

impl Wire for Filling {
    fn encode(&self, out: &mut BytesMut) {
        out.put_bytes(0, self.0);
    }

    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(input.split_to(input.len()).len()))
    }
}

impl Machine for Counter {
    type Command = Filling;
    type Reply = u64;
    type Effect = u64;

    fn apply(&mut self, _stamp: Stamp, _command: Filling, effects: &mut Vec<u64>) -> u64 {
        self.0 += 1;
        effects.push(self.0);
        self.0
    }

    fn snapshot(&self, out: &mut BytesMut) {
        out.put_u64_le(self.0);
    }

    fn restore(snapshot: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(snapshot.try_get_u64_le().map_err(|_| CorruptBytes { what: "counter" })?))
    }
}
