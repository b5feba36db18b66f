//! MQTT 5 properties (2.2.2): a block of identifiers and values. A block is validated once, at the way in, and kept raw;
//! it is read again only by who needs a value.
//!
//! Faults, as Mosquitto sorts them: what cannot be parsed and unknown identifiers are malformed (0x81); a property in
//! the wrong packet, twice, or out of range is a protocol error (0x82), but for SUBSCRIBE and UNSUBSCRIBE 0x81.

pub(crate) mod foreign;
pub(crate) mod header_text;
pub(crate) mod neutral;
pub(crate) mod publish;

use crate::{Fault, ReasonCode, codec::Reader, topic};

/// Property identifiers (MQTT 5, table 2-4).
pub(crate) mod id {
    pub(crate) const PAYLOAD_FORMAT: u8 = 0x01;
    pub(crate) const MESSAGE_EXPIRY: u8 = 0x02;
    pub(crate) const CONTENT_TYPE: u8 = 0x03;
    pub(crate) const RESPONSE_TOPIC: u8 = 0x08;
    pub(crate) const CORRELATION_DATA: u8 = 0x09;
    pub(crate) const SUBSCRIPTION_IDENTIFIER: u8 = 0x0B;
    pub(crate) const SESSION_EXPIRY: u8 = 0x11;
    pub(crate) const ASSIGNED_CLIENT_IDENTIFIER: u8 = 0x12;
    pub(crate) const SERVER_KEEP_ALIVE: u8 = 0x13;
    pub(crate) const AUTHENTICATION_METHOD: u8 = 0x15;
    pub(crate) const AUTHENTICATION_DATA: u8 = 0x16;
    pub(crate) const REQUEST_PROBLEM_INFORMATION: u8 = 0x17;
    pub(crate) const WILL_DELAY: u8 = 0x18;
    pub(crate) const REQUEST_RESPONSE_INFORMATION: u8 = 0x19;
    pub(crate) const RESPONSE_INFORMATION: u8 = 0x1A;
    pub(crate) const SERVER_REFERENCE: u8 = 0x1C;
    pub(crate) const REASON_STRING: u8 = 0x1F;
    pub(crate) const RECEIVE_MAXIMUM: u8 = 0x21;
    pub(crate) const TOPIC_ALIAS_MAXIMUM: u8 = 0x22;
    pub(crate) const TOPIC_ALIAS: u8 = 0x23;
    pub(crate) const MAXIMUM_QOS: u8 = 0x24;
    pub(crate) const RETAIN_AVAILABLE: u8 = 0x25;
    pub(crate) const USER_PROPERTY: u8 = 0x26;
    pub(crate) const MAXIMUM_PACKET_SIZE: u8 = 0x27;
    pub(crate) const WILDCARD_AVAILABLE: u8 = 0x28;
    pub(crate) const SUBSCRIPTION_IDENTIFIER_AVAILABLE: u8 = 0x29;
    pub(crate) const SHARED_AVAILABLE: u8 = 0x2A;
}

/// A packet of the client that carries properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Connect,
    Will,
    Publish,
    /// PUBACK, PUBREC, PUBREL, PUBCOMP.
    Acknowledge,
    Subscribe,
    Unsubscribe,
    Disconnect,
}

impl Carrier {
    /// Bit *n* says whether property *n* may come (MQTT 5, table 2-4).
    const fn allowed(self) -> u64 {
        const fn bits(ids: &[u8]) -> u64 {
            match ids {
                [] => 0,
                [first, rest @ ..] => (1 << *first) | bits(rest),
            }
        }
        const MESSAGE: u64 = bits(&[
            id::PAYLOAD_FORMAT,
            id::MESSAGE_EXPIRY,
            id::CONTENT_TYPE,
            id::RESPONSE_TOPIC,
            id::CORRELATION_DATA,
            id::USER_PROPERTY,
        ]);
        const CONNECT: u64 = bits(&[
            id::SESSION_EXPIRY,
            id::AUTHENTICATION_METHOD,
            id::AUTHENTICATION_DATA,
            id::REQUEST_PROBLEM_INFORMATION,
            id::REQUEST_RESPONSE_INFORMATION,
            id::RECEIVE_MAXIMUM,
            id::TOPIC_ALIAS_MAXIMUM,
            id::USER_PROPERTY,
            id::MAXIMUM_PACKET_SIZE,
        ]);
        match self {
            Self::Connect => CONNECT,
            Self::Will => MESSAGE | bits(&[id::WILL_DELAY]),
            Self::Publish => MESSAGE | bits(&[id::TOPIC_ALIAS]),
            Self::Acknowledge => bits(&[id::REASON_STRING, id::USER_PROPERTY]),
            Self::Subscribe => bits(&[id::SUBSCRIPTION_IDENTIFIER, id::USER_PROPERTY]),
            Self::Unsubscribe => bits(&[id::USER_PROPERTY]),
            Self::Disconnect => bits(&[id::SESSION_EXPIRY, id::REASON_STRING, id::USER_PROPERTY, id::SERVER_REFERENCE]),
        }
    }

    const fn misplaced(self) -> Fault {
        const TEXT: &str = "a property that this packet cannot have";
        match self {
            Self::Subscribe | Self::Unsubscribe => Fault::Malformed(TEXT),
            Self::Connect | Self::Will | Self::Publish | Self::Acknowledge | Self::Disconnect => Fault::Protocol(TEXT),
        }
    }
}

/// The value of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// Byte, two or four byte integer, variable byte integer.
    Number(u32),
    /// String or binary data.
    Bytes(&'a [u8]),
    /// User property: name and value.
    Pair(&'a [u8], &'a [u8]),
}

impl<'a> Value<'a> {
    /// The number; 0 for other values.
    pub(crate) fn number(self) -> u32 {
        if let Self::Number(number) = self { number } else { 0 }
    }

    /// The number in 16 bits.
    pub(crate) fn two(self) -> u16 {
        u16::try_from(self.number()).unwrap_or(u16::MAX)
    }

    /// The bytes; empty for other values.
    pub(crate) fn bytes(self) -> &'a [u8] {
        if let Self::Bytes(bytes) = self { bytes } else { &[] }
    }
}

/// Reads the property at the reader's position: its identifier and value.
pub(crate) fn next<'a>(reader: &mut Reader<'a>) -> Result<(u8, Value<'a>), Fault> {
    let identifier = u8::try_from(reader.varint()?).map_err(|_| UNKNOWN)?;
    let value = match identifier {
        id::PAYLOAD_FORMAT
        | id::REQUEST_PROBLEM_INFORMATION
        | id::REQUEST_RESPONSE_INFORMATION
        | id::MAXIMUM_QOS
        | id::RETAIN_AVAILABLE
        | id::WILDCARD_AVAILABLE
        | id::SUBSCRIPTION_IDENTIFIER_AVAILABLE
        | id::SHARED_AVAILABLE => Value::Number(u32::from(reader.byte()?)),
        id::SERVER_KEEP_ALIVE | id::RECEIVE_MAXIMUM | id::TOPIC_ALIAS_MAXIMUM | id::TOPIC_ALIAS => {
            Value::Number(u32::from(reader.two()?))
        }
        id::MESSAGE_EXPIRY | id::SESSION_EXPIRY | id::WILL_DELAY | id::MAXIMUM_PACKET_SIZE => {
            Value::Number(reader.four()?)
        }
        id::SUBSCRIPTION_IDENTIFIER => Value::Number(reader.varint()?),
        id::CONTENT_TYPE
        | id::RESPONSE_TOPIC
        | id::ASSIGNED_CLIENT_IDENTIFIER
        | id::AUTHENTICATION_METHOD
        | id::RESPONSE_INFORMATION
        | id::SERVER_REFERENCE
        | id::REASON_STRING => Value::Bytes(reader.text()?),
        id::CORRELATION_DATA | id::AUTHENTICATION_DATA => Value::Bytes(reader.binary()?),
        id::USER_PROPERTY => {
            let name = reader.text()?;
            Value::Pair(name, reader.text()?)
        }
        _ => return Err(UNKNOWN),
    };
    Ok((identifier, value))
}

const UNKNOWN: Fault = Fault::Malformed("an unknown property");

/// Validates a block and shows each property to `visit`, with the offset behind it.
pub(crate) fn walk<'a>(
    block: &'a [u8],
    carrier: Carrier,
    mut visit: impl FnMut(u8, Value<'a>, usize),
) -> Result<(), Fault> {
    let mut reader = Reader::new(block);
    let mut seen = 0_u64;
    while !reader.is_empty() {
        let (identifier, value) = next(&mut reader)?;
        // Identifiers that `next` knows are below 64.
        let bit = 1_u64 << (identifier & 63);
        if carrier.allowed() & bit == 0 {
            return Err(carrier.misplaced());
        }
        if seen & bit != 0 && identifier != id::USER_PROPERTY {
            return Err(Fault::Protocol("a property comes twice"));
        }
        seen |= bit;
        check_range(identifier, value)?;
        visit(identifier, value, block.len().saturating_sub(reader.rest().len()));
    }
    Ok(())
}

/// Reads the length of a block and the block.
pub(crate) fn block<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Fault> {
    let count = reader.varint()?;
    reader.take(usize::try_from(count).unwrap_or(usize::MAX))
}

fn check_range(identifier: u8, value: Value<'_>) -> Result<(), Fault> {
    let in_range = match identifier {
        id::PAYLOAD_FORMAT | id::REQUEST_PROBLEM_INFORMATION | id::REQUEST_RESPONSE_INFORMATION => value.number() <= 1,
        id::RECEIVE_MAXIMUM | id::MAXIMUM_PACKET_SIZE => value.number() > 0,
        id::RESPONSE_TOPIC => topic::is_name(value.bytes()),
        id::TOPIC_ALIAS if value.number() == 0 => return Err(Fault::Reason(ReasonCode::TOPIC_ALIAS_INVALID)),
        id::SUBSCRIPTION_IDENTIFIER if value.number() == 0 => {
            return Err(Fault::Malformed("subscription identifier 0"));
        }
        _ => true,
    };
    if in_range { Ok(()) } else { Err(Fault::Protocol("a property is out of range")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(block: &[u8], carrier: Carrier) -> Result<(), Fault> {
        walk(block, carrier, |_, _, _| {})
    }

    #[test]
    fn properties_belong_to_their_packets_once_and_in_range() {
        assert!(check(&[0x26, 0, 1, b'a', 0, 1, b'b', 0x26, 0, 1, b'a', 0, 1, b'b'], Carrier::Unsubscribe).is_ok());
        assert!(matches!(check(&[0x21, 0, 1], Carrier::Publish), Err(Fault::Protocol(_))));
        assert!(matches!(check(&[0x21, 0, 1], Carrier::Subscribe), Err(Fault::Malformed(_))));
        assert!(matches!(check(&[0x21, 0, 1, 0x21, 0, 1], Carrier::Connect), Err(Fault::Protocol(_))));
        assert!(matches!(check(&[0x21, 0, 0], Carrier::Connect), Err(Fault::Protocol(_))));
        assert!(matches!(check(&[0x21, 0], Carrier::Connect), Err(Fault::Malformed(_))));
        assert!(matches!(check(&[0x7F, 0], Carrier::Connect), Err(Fault::Malformed(_))));
        assert!(matches!(check(&[0x81, 0x02, 0], Carrier::Connect), Err(Fault::Malformed(_))));
        assert_eq!(check(&[0x23, 0, 0], Carrier::Publish), Err(Fault::Reason(ReasonCode::TOPIC_ALIAS_INVALID)));
        assert!(matches!(check(&[0x08, 0, 1, b'#'], Carrier::Publish), Err(Fault::Protocol(_))));
        assert!(matches!(check(&[0x01, 2], Carrier::Will), Err(Fault::Protocol(_))));
        assert!(check(&[0x0B, 0xFF, 0xFF, 0xFF, 0x7F], Carrier::Subscribe).is_ok());
        assert!(check(&[0x0B, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], Carrier::Subscribe).is_err());
    }
}
