//! AMQP 0-9-1: publish into an exchange, confirms, deliveries, one ack each.

mod frame;
mod session;

use std::{io, net::SocketAddr};

use crate::{
    Scene,
    link::{Codec, Found, Link},
};
use frame::{BODY, FRAME_END, METHOD, frame, frame_head, method, short, split};
pub(crate) use session::Session;
use session::{CHANNEL_CLOSE, CONNECTION_CLOSE, closed};

/// The queue of all messages of a scene.
const QUEUE: &str = "bench-load";

/// Class and method, as the frames begin.
const BASIC_ACK: &[u8] = &[0, 60, 0, 80];
const BASIC_DELIVER: &[u8] = &[0, 60, 0, 60];
const BASIC_NACK: &[u8] = &[0, 60, 0, 120];

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
    let mut session = Session::open(address)?;
    session.declare(QUEUE)?;
    if subscribe {
        // What a run that broke off left behind is not of this one.
        session.purge(QUEUE)?;
        session.consume(QUEUE, scene.prefetch)?;
    } else {
        session.select_confirms()?;
    }
    Ok((session.link, Amqp::new("", QUEUE, scene.size_bytes)?))
}

impl Amqp {
    /// A codec for a session that has just been opened. What it publishes are bodies of `size_bytes`, persistent.
    ///
    /// # Errors
    /// When a name or the size does not fit into its frame.
    pub(crate) fn new(exchange: &str, routing_key: &str, size_bytes: usize) -> io::Result<Self> {
        let names = [short(exchange)?, short(routing_key)?].concat();
        let mut head = method(1, &[b"\x00\x3c\x00\x28\x00\x00", names.as_slice(), b"\x00"].concat())?;
        let size = u64::try_from(size_bytes).map_err(io::Error::other)?;
        // One property: delivery mode 2.
        let header = [b"\x00\x3c\x00\x00", size.to_be_bytes().as_slice(), b"\x10\x00\x02"].concat();
        head.extend_from_slice(&frame(2, 1, &header)?);
        head.extend_from_slice(&frame_head(BODY, 1, size_bytes)?);
        Ok(Self { head, confirmed_to: 0, confirmed_above: Vec::new(), delivery_tag: 0 })
    }

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
