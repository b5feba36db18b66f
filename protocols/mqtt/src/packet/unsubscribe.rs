//! UNSUBSCRIBE (MQTT 5, 3.10): a packet identifier, properties, and filters.

use alloc::vec::Vec;

use super::check_identifier;
use crate::{
    Fault, Version,
    codec::Reader,
    properties::{self, Carrier},
    topic,
};

/// An UNSUBSCRIBE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsubscribe<'a> {
    /// Not 0.
    pub(crate) packet_id: u16,
    /// At least one; valid.
    pub(crate) filters: Vec<&'a [u8]>,
}

impl<'a> Unsubscribe<'a> {
    /// Reads what follows the fixed header.
    pub(crate) fn decode(body: &'a [u8], version: Version) -> Result<Self, Fault> {
        let mut reader = Reader::new(body);
        let packet_id = check_identifier(reader.two()?)?;
        if version.is_5() {
            let block = properties::block(&mut reader)?;
            properties::walk(block, Carrier::Unsubscribe, |_, _, _| {})?;
        }
        if reader.is_empty() {
            return Err(Fault::Malformed("UNSUBSCRIBE without a filter"));
        }
        let mut filters = Vec::new();
        while !reader.is_empty() {
            let filter = reader.binary()?;
            topic::check_filter(filter)?;
            filters.push(filter);
        }
        Ok(Self { packet_id, filters })
    }
}
