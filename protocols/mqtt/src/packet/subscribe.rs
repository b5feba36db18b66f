//! SUBSCRIBE (MQTT 5, 3.8): a packet identifier, properties, and filters with their options.

use alloc::vec::Vec;

use bytes::Bytes;

use super::check_identifier;
use crate::{
    Fault, Version,
    codec::Reader,
    properties::{self, Carrier, id},
    subscriptions::SubscribeOptions,
};

/// A SUBSCRIBE. Filters are owned copies, for they live as long as the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscribe {
    /// Not 0.
    pub(crate) packet_id: u16,
    /// Subscription identifier, for all filters.
    pub(crate) identifier: Option<u32>,
    /// At least one. The filters are not validated yet.
    pub(crate) filters: Vec<(Bytes, SubscribeOptions)>,
}

impl Subscribe {
    /// Reads what follows the fixed header.
    pub(crate) fn decode(body: &[u8], version: Version) -> Result<Self, Fault> {
        let mut reader = Reader::new(body);
        let packet_id = check_identifier(reader.two()?)?;
        let mut identifier = None;
        if version.is_5() {
            let block = properties::block(&mut reader)?;
            properties::walk(block, Carrier::Subscribe, |property, value, _| {
                if property == id::SUBSCRIPTION_IDENTIFIER {
                    identifier = Some(value.number());
                }
            })?;
        }
        if reader.is_empty() {
            return Err(Fault::Malformed("SUBSCRIBE without a filter"));
        }
        let mut filters = Vec::new();
        while !reader.is_empty() {
            let filter = Bytes::copy_from_slice(reader.binary()?);
            let options = SubscribeOptions::decode(reader.byte()?, version)?;
            filters.push((filter, options));
        }
        Ok(Self { packet_id, identifier, filters })
    }
}
