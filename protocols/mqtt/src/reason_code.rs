//! Reason codes (MQTT 5, 2.4) and the return codes of MQTT 3 that stand for some of them. Only numbers with names.

/// A reason code of MQTT 5. From 0x80 on it is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReasonCode(pub u8);

impl ReasonCode {
    /// Done; normal disconnection; granted QoS 0.
    pub const SUCCESS: Self = Self(0x00);
    /// The client left but wants its will to be published.
    pub const DISCONNECT_WITH_WILL: Self = Self(0x04);
    /// Published, but nobody listens.
    pub const NO_MATCHING_SUBSCRIBERS: Self = Self(0x10);
    /// UNSUBSCRIBE named a filter that was not subscribed to.
    pub const NO_SUBSCRIPTION_EXISTED: Self = Self(0x11);
    /// No other code fits.
    pub const UNSPECIFIED: Self = Self(0x80);
    /// Bytes that are not a packet.
    pub const MALFORMED_PACKET: Self = Self(0x81);
    /// A packet that may not come here, or a value that is out of range.
    pub const PROTOCOL_ERROR: Self = Self(0x82);
    /// The server does not do this.
    pub const IMPLEMENTATION_SPECIFIC: Self = Self(0x83);
    /// Not a version that the server speaks.
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(0x84);
    /// The client id is not acceptable.
    pub const CLIENT_IDENTIFIER_NOT_VALID: Self = Self(0x85);
    /// Wrong credentials.
    pub const BAD_USER_NAME_OR_PASSWORD: Self = Self(0x86);
    /// The user may not do this.
    pub const NOT_AUTHORIZED: Self = Self(0x87);
    /// Try again later.
    pub const SERVER_UNAVAILABLE: Self = Self(0x88);
    /// The server stops.
    pub const SERVER_SHUTTING_DOWN: Self = Self(0x8B);
    /// The authentication method is not supported.
    pub const BAD_AUTHENTICATION_METHOD: Self = Self(0x8C);
    /// Nothing came for one and a half times the keep alive.
    pub const KEEP_ALIVE_TIMEOUT: Self = Self(0x8D);
    /// Another connection uses the client id now.
    pub const SESSION_TAKEN_OVER: Self = Self(0x8E);
    /// The filter is well formed, but not acceptable.
    pub const TOPIC_FILTER_INVALID: Self = Self(0x8F);
    /// The topic is well formed, but not acceptable.
    pub const TOPIC_NAME_INVALID: Self = Self(0x90);
    /// The packet identifier is not known.
    pub const PACKET_IDENTIFIER_NOT_FOUND: Self = Self(0x92);
    /// More open publishes than the receiver allows.
    pub const RECEIVE_MAXIMUM_EXCEEDED: Self = Self(0x93);
    /// Alias 0, or above the maximum.
    pub const TOPIC_ALIAS_INVALID: Self = Self(0x94);
    /// Larger than the receiver allows.
    pub const PACKET_TOO_LARGE: Self = Self(0x95);
    /// A limit of the server is reached.
    pub const QUOTA_EXCEEDED: Self = Self(0x97);
    /// An operator did it.
    pub const ADMINISTRATIVE_ACTION: Self = Self(0x98);
    /// The payload is not what its format indicator says.
    pub const PAYLOAD_FORMAT_INVALID: Self = Self(0x99);

    /// Whether it says that something failed.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        self.0 >= 0x80
    }

    /// The CONNACK return code of MQTT 3 for it (3.1.1, table 3.1); `None`: the connection is closed without one.
    #[must_use]
    pub const fn v3_return_code(self) -> Option<u8> {
        match self {
            Self::SUCCESS => Some(0),
            Self::UNSUPPORTED_PROTOCOL_VERSION => Some(1),
            Self::CLIENT_IDENTIFIER_NOT_VALID => Some(2),
            Self::SERVER_UNAVAILABLE | Self::QUOTA_EXCEEDED | Self::UNSPECIFIED | Self::IMPLEMENTATION_SPECIFIC => {
                Some(3)
            }
            Self::BAD_USER_NAME_OR_PASSWORD => Some(4),
            Self::NOT_AUTHORIZED => Some(5),
            _ => None,
        }
    }

    /// Whether PUBACK and PUBREC may carry it (MQTT 5, tables 3-4 and 3-5).
    pub(crate) const fn is_publish_answer(self) -> bool {
        matches!(self.0, 0x00 | 0x10 | 0x80 | 0x83 | 0x87 | 0x90 | 0x91 | 0x97 | 0x99)
    }

    /// Whether PUBREL and PUBCOMP may carry it (MQTT 5, tables 3-6 and 3-7).
    pub(crate) const fn is_release_answer(self) -> bool {
        matches!(self.0, 0x00 | 0x92)
    }

    /// Whether a client's DISCONNECT may carry it (MQTT 5, table 3-10).
    pub(crate) const fn is_client_disconnect(self) -> bool {
        matches!(self.0, 0x00 | 0x04 | 0x80..=0x83 | 0x90 | 0x93..=0x99)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mqtt_3_knows_five_refusals_and_nothing_else() {
        assert_eq!(ReasonCode::NOT_AUTHORIZED.v3_return_code(), Some(5));
        assert_eq!(ReasonCode::QUOTA_EXCEEDED.v3_return_code(), Some(3));
        assert_eq!(ReasonCode::MALFORMED_PACKET.v3_return_code(), None);
        assert!(ReasonCode::UNSPECIFIED.is_failure());
        assert!(!ReasonCode::NO_MATCHING_SUBSCRIBERS.is_failure());
    }
}
