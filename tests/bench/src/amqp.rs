//! AMQP 0-9-1: publish into the default exchange, confirms, deliveries, one ack each.

use std::{io, net::SocketAddr};

use crate::{
    Scene,
    link::{Codec, Found, Link},
};

/// The queue of all messages.
const QUEUE: &[u8] = b"bench-load";

/// Frame types.
const METHOD: u8 = 1;
const BODY: u8 = 3;
const FRAME_END: u8 = 0xce;

/// Class and method, as the frames begin.
const BASIC_ACK: &[u8] = &[0, 60, 0, 80];
const BASIC_DELIVER: &[u8] = &[0, 60, 0, 60];
const BASIC_NACK: &[u8] = &[0, 60, 0, 120];
const CONNECTION_CLOSE: &[u8] = &[0, 10, 0, 50];
const CHANNEL_CLOSE: &[u8] = &[0, 20, 0, 40];

/// The codec of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Amqp {
    /// Method and header frame of a publish, and the head of its body frame.
    head: Vec<u8>,
    /// All publishes up to this tag are confirmed.
    confirmed_to: u64,
    /// Single confirms above that.
    confirmed_above: Vec<u64>,
    /// Tag of the delivery whose body comes next.
    delivery_tag: u64,
}

/// Connects as guest and declares the queue; with `subscribe` as a consumer of `scene`, else in confirm mode.
///
/// # Errors
/// When the broker does not answer.
pub(crate) fn connect(address: SocketAddr, scene: &Scene, subscribe: bool) -> io::Result<(Link, Amqp)> {
    let mut link = Link::connect(address)?;
    link.send(b"AMQP\x00\x00\x09\x01")?;
    answer(&mut link, &[0, 10, 0, 10])?;
    link.send(&method(0, b"\x00\x0a\x00\x0b\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x0c\x00guest\x00guest\x05en_US")?)?;
    answer(&mut link, &[0, 10, 0, 30])?;
    link.send(&method(0, b"\x00\x0a\x00\x1f\x00\x0a\x00\x02\x00\x00\x00\x00")?)?;
    link.send(&method(0, b"\x00\x0a\x00\x28\x01/\x00\x00")?)?;
    answer(&mut link, &[0, 10, 0, 41])?;
    link.send(&method(1, b"\x00\x14\x00\x0a\x00")?)?;
    answer(&mut link, &[0, 20, 0, 11])?;
    let length = [u8::try_from(QUEUE.len()).map_err(io::Error::other)?];
    // Durable: the second bit.
    let declare = [b"\x00\x32\x00\x0a\x00\x00", length.as_slice(), QUEUE, b"\x02\x00\x00\x00\x00"].concat();
    link.send(&method(1, &declare)?)?;
    answer(&mut link, &[0, 50, 0, 11])?;
    if subscribe {
        // What a run that broke off left behind is not of this one.
        link.send(&method(1, &[b"\x00\x32\x00\x1e\x00\x00", length.as_slice(), QUEUE, b"\x00"].concat())?)?;
        answer(&mut link, &[0, 50, 0, 31])?;
    }
    if subscribe {
        let qos = [b"\x00\x3c\x00\x0a\x00\x00\x00\x00", scene.prefetch.to_be_bytes().as_slice(), b"\x00"].concat();
        link.send(&method(1, &qos)?)?;
        answer(&mut link, &[0, 60, 0, 11])?;
        let consume = [b"\x00\x3c\x00\x14\x00\x00", length.as_slice(), QUEUE, b"\x00\x00\x00\x00\x00\x00"].concat();
        link.send(&method(1, &consume)?)?;
        answer(&mut link, &[0, 60, 0, 21])?;
    } else {
        link.send(&method(1, b"\x00\x55\x00\x0a\x00")?)?;
        answer(&mut link, &[0, 85, 0, 11])?;
    }
    let publish = [b"\x00\x3c\x00\x28\x00\x00\x00", length.as_slice(), QUEUE, b"\x00"].concat();
    let size = u64::try_from(scene.size_bytes).map_err(io::Error::other)?;
    // One property: delivery mode 2.
    let header = [b"\x00\x3c\x00\x00", size.to_be_bytes().as_slice(), b"\x10\x00\x02"].concat();
    let mut head = method(1, &publish)?;
    head.extend_from_slice(&frame(2, 1, &header)?);
    head.extend_from_slice(&frame_head(BODY, 1, scene.size_bytes)?);
    Ok((link, Amqp { head, confirmed_to: 0, confirmed_above: Vec::new(), delivery_tag: 0 }))
}

fn frame_head(kind: u8, channel: u8, size: usize) -> io::Result<Vec<u8>> {
    let size = u32::try_from(size).map_err(io::Error::other)?;
    Ok([&[kind, 0, channel], size.to_be_bytes().as_slice()].concat())
}

fn frame(kind: u8, channel: u8, payload: &[u8]) -> io::Result<Vec<u8>> {
    Ok([&frame_head(kind, channel, payload.len())?, payload, &[FRAME_END]].concat())
}

fn method(channel: u8, payload: &[u8]) -> io::Result<Vec<u8>> {
    frame(METHOD, channel, payload)
}

/// Type, payload and whole size of the first frame.
fn split(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let size: [u8; 4] = bytes.get(3..7)?.try_into().ok()?;
    let end = 7 + usize::try_from(u32::from_be_bytes(size)).ok()?;
    Some((*bytes.first()?, bytes.get(7..end)?, end + 1)).filter(|(.., size)| bytes.len() >= *size)
}

/// Waits for the method `expected`; other frames before it are passed over.
fn answer(link: &mut Link, expected: &[u8]) -> io::Result<()> {
    loop {
        let payload = link.expect(|bytes| split(bytes).map(|(_, payload, used)| (payload.to_vec(), used)))?;
        if payload.starts_with(expected) {
            return Ok(());
        }
        if payload.starts_with(CONNECTION_CLOSE) || payload.starts_with(CHANNEL_CLOSE) {
            return Err(closed(&payload));
        }
    }
}

fn closed(payload: &[u8]) -> io::Error {
    io::Error::other(format!("closed by the broker: {}", String::from_utf8_lossy(payload.get(7..).unwrap_or_default())))
}

impl Amqp {
    /// Takes note of a confirm; returns how many publishes it adds.
    fn confirm(&mut self, tag: u64, multiple: bool) -> u64 {
        let before = self.confirmed_to + self.confirmed_above.len() as u64;
        if multiple {
            self.confirmed_to = self.confirmed_to.max(tag);
        } else {
            self.confirmed_above.push(tag);
        }
        self.confirmed_above.sort_unstable();
        let mut above = std::mem::take(&mut self.confirmed_above);
        above.retain(|tag| {
            self.confirmed_to += u64::from(*tag == self.confirmed_to + 1);
            *tag > self.confirmed_to
        });
        self.confirmed_above = above;
        self.confirmed_to + self.confirmed_above.len() as u64 - before
    }
}

impl Codec for Amqp {
    fn publish(&mut self, body: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(body);
        out.push(FRAME_END);
    }

    fn parse(&mut self, bytes: &[u8], found: &mut Found, message: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut used = 0;
        while let Some((kind, payload, size)) = bytes.get(used..).and_then(split) {
            if kind == METHOD {
                let number = |at: usize| payload.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
                let bad = || io::Error::other("a method that is cut");
                if payload.starts_with(BASIC_ACK) {
                    let multiple = payload.get(12).is_some_and(|flags| flags & 1 == 1);
                    found.confirmed += self.confirm(number(4).ok_or_else(bad)?, multiple);
                } else if payload.starts_with(BASIC_DELIVER) {
                    let tag_bytes = usize::from(payload.get(4).copied().unwrap_or_default());
                    self.delivery_tag = number(5 + tag_bytes).ok_or_else(bad)?;
                } else if [BASIC_NACK, CONNECTION_CLOSE, CHANNEL_CLOSE].iter().any(|method| payload.starts_with(method))
                {
                    return Err(closed(payload));
                }
            } else if kind == BODY {
                // Bodies of the scenes fit into one frame.
                message(payload);
                found.replies.extend_from_slice(b"\x01\x00\x01\x00\x00\x00\x0d\x00\x3c\x00\x50");
                found.replies.extend_from_slice(&self.delivery_tag.to_be_bytes());
                found.replies.extend_from_slice(&[0, FRAME_END]);
            }
            used += size;
        }
        Ok(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codec() -> Amqp {
        Amqp { head: Vec::new(), confirmed_to: 0, confirmed_above: Vec::new(), delivery_tag: 0 }
    }

    #[test]
    fn confirms_are_counted_once_in_any_order() {
        let mut codec = codec();
        let counted: Vec<u64> = [(2, false), (1, false), (5, false), (4, true), (6, true), (7, false)]
            .map(|(tag, multiple)| codec.confirm(tag, multiple))
            .to_vec();
        assert_eq!(counted, [1, 1, 1, 2, 1, 1]);
        assert_eq!((codec.confirmed_to, codec.confirmed_above.len()), (7, 0));
    }

    #[test]
    fn deliveries_are_found_and_acknowledged_whatever_the_split() -> io::Result<()> {
        let deliver = method(1, b"\x00\x3c\x00\x3c\x01t\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x01q")?;
        let bytes = [deliver, frame(2, 1, &[0; 14])?, frame(BODY, 1, b"hi")?].concat();
        for split in 0..=bytes.len() {
            let (mut codec, mut found, mut bodies) = (codec(), Found::default(), Vec::new());
            let used = codec.parse(&bytes[..split], &mut found, &mut |body| bodies.push(body.to_vec()))?;
            codec.parse(&bytes[used..], &mut found, &mut |body| bodies.push(body.to_vec()))?;
            assert_eq!(bodies, [b"hi".to_vec()]);
            assert_eq!(found.replies, method(1, b"\x00\x3c\x00\x50\x00\x00\x00\x00\x00\x00\x00\x09\x00")?);
        }
        Ok(())
    }
}
