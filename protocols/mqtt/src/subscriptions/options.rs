//! The options byte of SUBSCRIBE (MQTT 5, 3.8.3.1).
//!
//! ```text
//! | reserved 2 | retain handling 2 | retain as published 1 | no local 1 | QoS 2 |
//! ```

use crate::{Fault, Version};

/// Options of a subscription. Invariant: QoS and retain handling are 0 to 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SubscribeOptions(u8);

impl SubscribeOptions {
    /// Validates a byte; MQTT 3 has the QoS only.
    pub(crate) fn decode(byte: u8, version: Version) -> Result<Self, Fault> {
        let reserved = if version.is_5() { 0b1100_0000 } else { 0b1111_1100 };
        let is_valid = byte & reserved == 0 && byte & 0b11 != 3 && byte & 0b11_0000 != 0b11_0000;
        if is_valid { Ok(Self(byte)) } else { Err(Fault::Malformed("subscription options")) }
    }

    /// The options of a bridge's subscription.
    pub(crate) fn for_bridge(self) -> Self {
        Self(self.0 | 0b1100)
    }

    /// From a byte that was validated before. A broken one asks for the least.
    pub(crate) fn from_byte(byte: u8) -> Self {
        Self::decode(byte, Version::V5).unwrap_or_default()
    }

    /// The byte.
    pub(crate) fn to_byte(self) -> u8 {
        self.0
    }

    /// Highest QoS to deliver with.
    pub(crate) fn qos(self) -> u8 {
        self.0 & 0b11
    }

    /// Not what the client itself published.
    pub(crate) fn no_local(self) -> bool {
        self.0 & 0b100 != 0
    }

    /// Deliver with the retain flag of the publish.
    pub(crate) fn retain_as_published(self) -> bool {
        self.0 & 0b1000 != 0
    }

    /// 0: retained messages at each subscribe; 1: only if it is new; 2: never.
    pub(crate) fn retain_handling(self) -> u8 {
        (self.0 >> 4) & 0b11
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_bits_and_values_are_refused() {
        let options = SubscribeOptions::decode(0b10_1110, Version::V5).expect("valid");
        assert_eq!((options.qos(), options.retain_handling()), (2, 2));
        assert!(options.no_local() && options.retain_as_published());
        for (byte, version) in [(3, Version::V5), (0x30, Version::V5), (0x40, Version::V5), (4, Version::V311)] {
            assert!(SubscribeOptions::decode(byte, version).is_err(), "{byte}");
        }
    }
}
