//! CONNECT (MQTT 5, 3.1).
//!
//! ```text
//! | 1, 0 | length | protocol name | level | flags | keep alive | [properties] |
//! | client id | [[will properties] | will topic | will payload] | [user name] | [password] |
//! ```
//!
//! Values are owned copies: they live as long as the connection, and the packet's buffer must not.

use bytes::Bytes;

use crate::{
    Fault, ReasonCode, Version,
    codec::Reader,
    properties::{self, Carrier, id, publish::MessageProperties},
    text, topic,
};

/// Flags of CONNECT.
mod flag {
    pub(super) const RESERVED: u8 = 1;
    pub(super) const CLEAN_START: u8 = 1 << 1;
    pub(super) const WILL: u8 = 1 << 2;
    pub(super) const WILL_RETAIN: u8 = 1 << 5;
    pub(super) const PASSWORD: u8 = 1 << 6;
    pub(super) const USER: u8 = 1 << 7;
}

/// The will in a CONNECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectWill {
    pub(crate) qos: u8,
    pub(crate) retain: bool,
    pub(crate) topic: Bytes,
    pub(crate) body: Bytes,
    /// The property block as the message keeps it, without the will delay.
    pub(crate) header: Bytes,
    pub(crate) delay_s: u32,
}

/// A CONNECT. What MQTT 3 does not have stands at MQTT 5's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Connect {
    pub(crate) version: Version,
    /// A bridge of another broker, which says so in the highest bit of the level (MQTT 3, as Mosquitto has it): it gets
    /// nothing back that it sent, and retain flags as published.
    pub(crate) is_bridge: bool,
    pub(crate) clean_start: bool,
    pub(crate) keep_alive_s: u16,
    /// Empty: the server is to make one.
    pub(crate) client_id: Bytes,
    pub(crate) will: Option<ConnectWill>,
    pub(crate) user: Option<Bytes>,
    pub(crate) password: Option<Bytes>,
    /// MQTT 3 without clean session: for ever.
    pub(crate) session_expiry_s: u32,
    pub(crate) receive_maximum: Option<u16>,
    pub(crate) packet_bytes_max: Option<u32>,
    pub(crate) topic_alias_maximum: u16,
    pub(crate) wants_problem_information: bool,
}

/// A CONNECT that was refused while it was read: the fault, and the version to answer in, if it got that far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) version: Option<Version>,
    pub(crate) fault: Fault,
}

impl Connect {
    /// Reads the packet; `first` is the first byte of its fixed header, `body` what follows that.
    pub(crate) fn decode(first: u8, body: &[u8]) -> Result<Self, Refused> {
        let mut reader = Reader::new(body);
        let (version, is_bridge) = version(&mut reader)?;
        let mut connect = Self {
            version,
            is_bridge,
            clean_start: true,
            keep_alive_s: 0,
            client_id: Bytes::new(),
            will: None,
            user: None,
            password: None,
            session_expiry_s: 0,
            receive_maximum: None,
            packet_bytes_max: None,
            topic_alias_maximum: 0,
            wants_problem_information: true,
        };
        match connect.read(first, &mut reader) {
            Ok(()) => Ok(connect),
            Err(fault) => Err(Refused { version: Some(version), fault }),
        }
    }

    fn read(&mut self, first: u8, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let flags = reader.byte()?;
        // MQTT 3.1 left both to the future, and Mosquitto takes them.
        if self.version != Version::V31 && (first & 0x0F != 0 || flags & flag::RESERVED != 0) {
            return Err(Fault::Malformed("reserved flags of CONNECT"));
        }
        self.keep_alive_s = reader.two()?;
        self.clean_start = flags & flag::CLEAN_START != 0;
        if self.version.is_5() {
            self.read_properties(properties::block(reader)?)?;
        } else if !self.clean_start {
            self.session_expiry_s = u32::MAX;
        }
        self.read_client_id(reader)?;
        self.read_will(flags, reader)?;
        self.read_credentials(flags, reader)?;
        reader.end()
    }

    fn read_properties(&mut self, block: &[u8]) -> Result<(), Fault> {
        let (mut has_method, mut has_data) = (false, false);
        properties::walk(block, Carrier::Connect, |identifier, value, _| match identifier {
            id::SESSION_EXPIRY => self.session_expiry_s = value.number(),
            id::RECEIVE_MAXIMUM => self.receive_maximum = Some(value.two()),
            id::MAXIMUM_PACKET_SIZE => self.packet_bytes_max = Some(value.number()),
            id::TOPIC_ALIAS_MAXIMUM => self.topic_alias_maximum = value.two(),
            id::REQUEST_PROBLEM_INFORMATION => self.wants_problem_information = value.number() == 1,
            id::AUTHENTICATION_METHOD => has_method = true,
            id::AUTHENTICATION_DATA => has_data = true,
            _ => {}
        })?;
        match (has_method, has_data) {
            // Enhanced authentication: no method is known.
            (true, _) => Err(Fault::Reason(ReasonCode::BAD_AUTHENTICATION_METHOD)),
            (false, true) => Err(Fault::Protocol("authentication data without a method")),
            (false, false) => Ok(()),
        }
    }

    /// Empty ids: MQTT 3.1 has none, 3.1.1 only for clean sessions (MQTT-3.1.3-8), 5 always.
    fn read_client_id(&mut self, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let client_id = reader.binary()?;
        if !text::is_name(client_id) {
            return Err(match self.version {
                Version::V5 => Fault::Reason(ReasonCode::CLIENT_IDENTIFIER_NOT_VALID),
                Version::V31 | Version::V311 => Fault::Malformed("a client id that is not UTF-8"),
            });
        }
        let may_be_empty = match self.version {
            Version::V31 => false,
            Version::V311 => self.clean_start,
            Version::V5 => true,
        };
        if client_id.is_empty() && !may_be_empty {
            return Err(Fault::Reason(ReasonCode::CLIENT_IDENTIFIER_NOT_VALID));
        }
        self.client_id = Bytes::copy_from_slice(client_id);
        Ok(())
    }

    fn read_will(&mut self, flags: u8, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let (qos, retain) = ((flags >> 3) & 0b11, flags & flag::WILL_RETAIN != 0);
        if flags & flag::WILL == 0 {
            let is_clear = qos == 0 && !retain;
            return if is_clear { Ok(()) } else { Err(Fault::Malformed("will flags without a will")) };
        }
        if qos == 3 {
            return Err(Fault::Malformed("will QoS 3"));
        }
        let block = if self.version.is_5() { properties::block(reader)? } else { &[] };
        let properties = MessageProperties::decode(block, Carrier::Will)?;
        let topic = reader.binary()?;
        if topic::check_name(topic).is_err() || topic::is_reserved(topic) {
            return Err(Fault::Unanswered("a will that could never be published"));
        }
        let body = reader.binary()?;
        if properties.is_text && core::str::from_utf8(body).is_err() {
            return Err(Fault::Reason(ReasonCode::PAYLOAD_FORMAT_INVALID));
        }
        self.will = Some(ConnectWill {
            qos,
            retain,
            topic: Bytes::copy_from_slice(topic),
            body: Bytes::copy_from_slice(body),
            header: properties.kept(Bytes::copy_from_slice(block)),
            delay_s: properties.delay_s,
        });
        Ok(())
    }

    /// A password needs a user name before MQTT 5 (MQTT-3.1.2-22 of 3.1.1).
    fn read_credentials(&mut self, flags: u8, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let has_user = flags & flag::USER != 0;
        let has_password = flags & flag::PASSWORD != 0;
        if has_password && !has_user && !self.version.is_5() {
            return Err(Fault::Malformed("a password without a user name"));
        }
        if has_user {
            let user = reader.binary()?;
            if !text::is_name(user) {
                return Err(Fault::Malformed("a user name that is not UTF-8"));
            }
            self.user = Some(Bytes::copy_from_slice(user));
        }
        if has_password {
            self.password = Some(Bytes::copy_from_slice(reader.binary()?));
        }
        Ok(())
    }
}

/// Reads protocol name and level, and whether a bridge speaks.
fn version(reader: &mut Reader<'_>) -> Result<(Version, bool), Refused> {
    let silent = |fault| Refused { version: None, fault };
    let name = reader.binary().map_err(silent)?;
    let level = reader.byte().map_err(silent)?;
    let unsupported = Fault::Reason(ReasonCode::UNSUPPORTED_PROTOCOL_VERSION);
    match (name, level) {
        (b"MQIsdp", 3 | 0x83) => Ok((Version::V31, level >= 0x80)),
        (b"MQTT", 4 | 0x84) => Ok((Version::V311, level >= 0x80)),
        (b"MQTT", 5) => Ok((Version::V5, false)),
        // Levels that came later are told so in the form of MQTT 5, earlier ones in that of MQTT 3.
        (b"MQIsdp" | b"MQTT", 6..) => Err(Refused { version: Some(Version::V5), fault: unsupported }),
        (b"MQIsdp" | b"MQTT", _) => Err(Refused { version: Some(Version::V311), fault: unsupported }),
        _ => Err(silent(Fault::Unanswered("not the name of MQTT"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(body: &[u8]) -> Option<ReasonCode> {
        Connect::decode(0x10, body).err().and_then(|refused| refused.fault.reason())
    }

    #[test]
    fn a_full_connect_of_mqtt_5() {
        let body = b"\x00\x04MQTT\x05\xEE\x00\x0A\x05\x11\x00\x00\x00\x09\x00\x01c\x07\x18\x00\x00\x00\x05\x01\x01\x00\x01w\x00\x01p\x00\x01u\x00\x01s";
        let connect = Connect::decode(0x10, body).expect("valid");
        assert_eq!((connect.version, connect.keep_alive_s, connect.session_expiry_s), (Version::V5, 10, 9));
        let will = connect.will.expect("will");
        assert_eq!((will.qos, will.retain, will.delay_s, &will.header[..]), (1, true, 5, &[1, 1][..]));
        assert_eq!((connect.user.as_deref(), connect.password.as_deref()), (Some(&b"u"[..]), Some(&b"s"[..])));
    }

    #[test]
    fn client_ids_may_be_empty_where_the_version_says_so() {
        assert_eq!(reason(b"\x00\x06MQIsdp\x03\x02\x00\x0A\x00\x00"), Some(ReasonCode::CLIENT_IDENTIFIER_NOT_VALID));
        assert_eq!(reason(b"\x00\x04MQTT\x04\x00\x00\x0A\x00\x00"), Some(ReasonCode::CLIENT_IDENTIFIER_NOT_VALID));
        assert!(Connect::decode(0x10, b"\x00\x04MQTT\x04\x02\x00\x0A\x00\x00").is_ok());
        assert!(Connect::decode(0x10, b"\x00\x04MQTT\x05\x00\x00\x0A\x00\x00\x00").is_ok());
        assert_eq!(reason(b"\x00\x04MQTT\x04\x02\x00\x0A\x00\x03a\x00b"), Some(ReasonCode::MALFORMED_PACKET));
    }

    #[test]
    fn versions_that_are_not_spoken() {
        let version_of = |body: &[u8]| Connect::decode(0x10, body).err().and_then(|refused| refused.version);
        assert_eq!(version_of(b"\x00\x04MQTT\x06\x02\x00\x0A\x00\x01c"), Some(Version::V5));
        assert_eq!(version_of(b"\x00\x04MQTT\x03\x02\x00\x0A\x00\x01c"), Some(Version::V311));
        assert_eq!(version_of(b"\x00\x04MQTU\x04\x02\x00\x0A\x00\x01c"), None);
        assert_eq!(reason(b"\x00\x04MQTU\x04\x02\x00\x0A\x00\x01c"), None);
    }
}
