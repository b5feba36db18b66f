//! The protocol versions that this endpoint speaks.

/// A version of MQTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// MQTT 3.1: protocol name `MQIsdp`, level 3.
    V31,
    /// MQTT 3.1.1: protocol name `MQTT`, level 4.
    V311,
    /// MQTT 5.0: protocol name `MQTT`, level 5.
    V5,
}

impl Version {
    /// Whether packets carry properties and reason codes.
    #[must_use]
    pub const fn is_5(self) -> bool {
        matches!(self, Self::V5)
    }
}
