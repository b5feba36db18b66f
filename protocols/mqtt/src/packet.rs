//! The control packets (MQTT 5, chapter 3), one file each. They turn bytes into values and back; they know the rules of
//! one packet, never those of a conversation.

pub(crate) mod acknowledge;
pub(crate) mod connack;
pub(crate) mod connect;
pub(crate) mod disconnect;
pub(crate) mod publish;
pub(crate) mod suback;
pub(crate) mod subscribe;
pub(crate) mod unsubscribe;

use crate::{Fault, Version};

/// Packet types (MQTT 5, table 2-1): the upper four bits of the first byte.
pub(crate) mod kind {
    pub(crate) const CONNECT: u8 = 1;
    pub(crate) const CONNACK: u8 = 2;
    pub(crate) const PUBLISH: u8 = 3;
    pub(crate) const PUBACK: u8 = 4;
    pub(crate) const PUBREC: u8 = 5;
    pub(crate) const PUBREL: u8 = 6;
    pub(crate) const PUBCOMP: u8 = 7;
    pub(crate) const SUBSCRIBE: u8 = 8;
    pub(crate) const SUBACK: u8 = 9;
    pub(crate) const UNSUBSCRIBE: u8 = 10;
    pub(crate) const UNSUBACK: u8 = 11;
    pub(crate) const PINGREQ: u8 = 12;
    pub(crate) const PINGRESP: u8 = 13;
    pub(crate) const DISCONNECT: u8 = 14;
}

/// Checks the flags of a packet other than CONNECT and PUBLISH (MQTT-2.1.3-1), and that clients send it at all. MQTT 3.1
/// has a DUP flag in the three that carry a QoS.
pub(crate) fn check_first(first: u8, version: Version) -> Result<(), Fault> {
    const FLAGS: Fault = Fault::Malformed("reserved flags of the fixed header");
    let (kind, flags) = (first >> 4, first & 0x0F);
    match kind {
        kind::PUBREL | kind::SUBSCRIBE | kind::UNSUBSCRIBE
            if flags == 0b0010 || (version == Version::V31 && flags == 0b1010) =>
        {
            Ok(())
        }
        kind::PUBACK | kind::PUBREC | kind::PUBCOMP | kind::PINGREQ | kind::DISCONNECT if flags == 0 => Ok(()),
        kind::CONNACK | kind::SUBACK | kind::UNSUBACK | kind::PINGRESP if flags == 0 => {
            Err(Fault::Protocol("a packet that only servers send"))
        }
        kind::PUBACK..=kind::DISCONNECT => Err(FLAGS),
        _ => Err(Fault::Protocol("a packet type that may not come here")),
    }
}

/// A packet identifier of a SUBSCRIBE or UNSUBSCRIBE; 0 is none (MQTT-2.2.1-3).
pub(crate) fn check_identifier(packet_id: u16) -> Result<u16, Fault> {
    if packet_id == 0 { Err(Fault::Malformed("packet identifier 0")) } else { Ok(packet_id) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_directions_are_checked() {
        for good in [0x40, 0x50, 0x62, 0x70, 0x82, 0xA2, 0xC0, 0xE0] {
            assert_eq!(check_first(good, Version::V5), Ok(()), "{good:#x}");
        }
        assert_eq!(check_first(0x6A, Version::V31), Ok(()));
        for flags in [0x6A, 0x41, 0x60, 0x80, 0xA3, 0xC8, 0xE1, 0x91, 0xD1] {
            assert!(matches!(check_first(flags, Version::V311), Err(Fault::Malformed(_))), "{flags:#x}");
        }
        for direction in [0x00, 0x20, 0x21, 0x90, 0xB0, 0xD0, 0xF0, 0xF1] {
            assert!(matches!(check_first(direction, Version::V5), Err(Fault::Protocol(_))), "{direction:#x}");
        }
    }
}
