//! MQTT 5: PUBLISH with `QoS` 0 or 1, PUBACK.

use std::{io, net::SocketAddr};

use crate::{
    Scene,
    link::{Codec, Found, Link},
};

/// The topic of all messages.
const TOPIC: &[u8] = b"bench/load";

/// Property id of Receive Maximum.
const RECEIVE_MAXIMUM: u8 = 0x21;

/// The codec of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Mqtt {
    qos: u8,
    packet_id: u16,
    /// PUBLISH up to its packet id.
    head: Vec<u8>,
    /// What the broker takes unacknowledged.
    pub(crate) receive_maximum: u16,
}

/// Connects under a client id of its own; with `subscribe` as a consumer of `scene`.
///
/// # Errors
/// When the broker does not answer.
pub(crate) fn connect(address: SocketAddr, scene: &Scene, subscribe: bool, index: usize) -> io::Result<(Link, Mqtt)> {
    let mut link = Link::connect(address)?;
    let client_id = format!("bench-{}-{subscribe}-{index}", std::process::id());
    let mut connect = b"\x00\x04MQTT\x05\x02\x00\x00\x03".to_vec();
    connect.push(RECEIVE_MAXIMUM);
    connect.extend_from_slice(&scene.prefetch.max(1).to_be_bytes());
    text(&mut connect, client_id.as_bytes())?;
    link.send(&packet(0x10, &connect))?;
    let acknowledged = link.expect(|bytes| split(bytes).map(|(_, body, used)| (body.to_vec(), used)))?;
    if acknowledged.get(1) != Some(&0) {
        return Err(io::Error::other(format!("CONNACK {}", acknowledged.escape_ascii())));
    }
    if subscribe {
        let filter = [if scene.shared { b"$share/workers/".as_slice() } else { b"" }, TOPIC].concat();
        let mut subscribe = b"\x00\x01\x00".to_vec();
        text(&mut subscribe, &filter)?;
        subscribe.push(u8::from(scene.acknowledged));
        link.send(&packet(0x82, &subscribe))?;
        link.expect(|bytes| split(bytes).filter(|(first, ..)| *first == 0x90).map(|(_, _, used)| ((), used)))?;
    }
    let qos = u8::from(scene.acknowledged);
    let length = 2 + TOPIC.len() + usize::from(2 * qos) + 1 + scene.size_bytes;
    let mut head = vec![0x30 | qos << 1];
    put_length(&mut head, length);
    text(&mut head, TOPIC)?;
    Ok((link, Mqtt { qos, packet_id: 0, head, receive_maximum: receive_maximum(&acknowledged) }))
}

/// Receive Maximum of a CONNACK that has it as its first property or among those of fixed size before it.
fn receive_maximum(connack: &[u8]) -> u16 {
    let properties = connack.get(3..).unwrap_or_default();
    let mut at = 0;
    while let Some(id) = properties.get(at) {
        let size = match id {
            0x21 | 0x22 | 0x13 => 2,
            0x11 | 0x27 => 4,
            0x24 | 0x25 | 0x28 | 0x29 | 0x2a => 1,
            0x12 | 0x15 | 0x16 | 0x1a | 0x1c | 0x1f => {
                2 + properties.get(at + 1..at + 3).map_or(0, |pair| usize::from(u16::from_be_bytes([pair[0], pair[1]])))
            }
            _ => return u16::MAX,
        };
        if let (&RECEIVE_MAXIMUM, Some([high, low])) = (id, properties.get(at + 1..at + 3)) {
            return u16::from_be_bytes([*high, *low]);
        }
        at += 1 + size;
    }
    u16::MAX
}

fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![first];
    put_length(&mut packet, body.len());
    packet.extend_from_slice(body);
    packet
}

fn text(out: &mut Vec<u8>, text: &[u8]) -> io::Result<()> {
    out.extend_from_slice(&u16::try_from(text.len()).map_err(io::Error::other)?.to_be_bytes());
    out.extend_from_slice(text);
    Ok(())
}

fn put_length(out: &mut Vec<u8>, mut length: usize) {
    loop {
        let low = u8::try_from(length % 128).unwrap_or_default();
        length /= 128;
        out.push(if length > 0 { low | 0x80 } else { low });
        if length == 0 {
            return;
        }
    }
}

/// First byte, body and whole size of the first packet.
fn split(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let mut length = 0;
    for at in 1..5 {
        let byte = *bytes.get(at)?;
        length |= usize::from(byte & 0x7f) << (7 * (at - 1));
        if byte < 0x80 {
            let end = at + 1 + length;
            return Some((*bytes.first()?, bytes.get(at + 1..end)?, end));
        }
    }
    None
}

impl Codec for Mqtt {
    fn publish(&mut self, body: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        if self.qos > 0 {
            // Acknowledgements come in order, so an id is free again long before its turn comes.
            self.packet_id = self.packet_id.checked_add(1).unwrap_or(1);
            out.extend_from_slice(&self.packet_id.to_be_bytes());
        }
        out.push(0);
        out.extend_from_slice(body);
    }

    fn parse(&mut self, bytes: &[u8], found: &mut Found, message: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut used = 0;
        while let Some((first, body, size)) = bytes.get(used..).and_then(split) {
            match first >> 4 {
                3 => {
                    let qos = first >> 1 & 3;
                    let topic = body.get(..2).map_or(0, |pair| usize::from(u16::from_be_bytes([pair[0], pair[1]])));
                    let mut at = 2 + topic;
                    if qos > 0 {
                        found.replies.extend_from_slice(&[0x40, 2]);
                        found.replies.extend_from_slice(body.get(at..at + 2).unwrap_or_default());
                        at += 2;
                    }
                    // Properties of these messages are empty or shorter than 128 bytes: one byte of length.
                    at += 1 + usize::from(body.get(at).copied().unwrap_or_default());
                    message(body.get(at..).unwrap_or_default());
                }
                4 => found.confirmed += 1,
                14 => return Err(io::Error::other(format!("DISCONNECT {}", body.escape_ascii()))),
                _ => {}
            }
            used += size;
        }
        Ok(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_and_acknowledged_whatever_the_split() -> io::Result<()> {
        let mut codec = Mqtt { qos: 1, packet_id: 6, head: b"\x32\x08\x00\x01a".to_vec(), receive_maximum: 1 };
        let mut bytes = Vec::new();
        codec.publish(b"hi", &mut bytes);
        bytes.extend_from_slice(b"\x40\x02\x00\x05");
        assert_eq!(bytes[..10], *b"\x32\x08\x00\x01a\x00\x07\x00hi");
        for split in 0..=bytes.len() {
            let (mut found, mut bodies) = (Found::default(), Vec::new());
            let used = codec.parse(&bytes[..split], &mut found, &mut |body| bodies.push(body.to_vec()))?;
            codec.parse(&bytes[used..], &mut found, &mut |body| bodies.push(body.to_vec()))?;
            assert_eq!(
                (bodies, found.replies, found.confirmed),
                (vec![b"hi".to_vec()], b"\x40\x02\x00\x07".to_vec(), 1)
            );
        }
        Ok(())
    }

    #[test]
    fn receive_maximum_is_found_behind_other_properties() {
        assert_eq!(receive_maximum(b"\x00\x00\x0b\x12\x00\x02ab\x25\x01\x21\x00\x14"), 20);
        assert_eq!(receive_maximum(b"\x00\x00\x00"), u16::MAX);
    }
}
