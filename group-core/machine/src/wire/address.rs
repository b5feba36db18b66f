//! Addresses and filters, in their own byte forms.

use braid_types::{Address, CorruptBytes, Filter, Wire};
use bytes::{Buf, Bytes, BytesMut};

use super::Field;

impl Field for Address {
    fn put(&self, out: &mut BytesMut) {
        self.encode(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Self::decode(input)
    }
}

/// Reads addresses that often repeat: one that equals the last is shared with it. What is read never keeps the input
/// alive; this does, and so lives no longer than the input is read.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// The byte form of the last, whose length is part of it, and the address.
    last: Option<(Bytes, Address)>,
}

impl Addresses {
    /// Reads an address.
    pub(super) fn read(&mut self, input: &mut Bytes) -> Result<Address, CorruptBytes> {
        if let Some((encoded, address)) = &self.last
            && input.starts_with(encoded)
        {
            input.advance(encoded.len());
            return Ok(address.clone());
        }
        let mut encoded = input.clone();
        let address = Address::decode(input)?;
        encoded.truncate(encoded.len() - input.len());
        self.last = Some((encoded, address.clone()));
        Ok(address)
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
