//! Addresses and filters, in their own byte forms.

use braid_types::{Address, CorruptBytes, Filter, Wire};
use bytes::{Bytes, BytesMut};

use super::Field;

impl Field for Address {
    fn put(&self, out: &mut BytesMut) {
        self.encode(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Self::decode(input)
    }
}

impl Field for Filter {
    fn put(&self, out: &mut BytesMut) {
        self.encode(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Self::decode(input)
    }
}
