//! A connection with channel 1 open, and the methods that wait for an answer.

use std::{io, net::SocketAddr};

use super::frame::{METHOD, method, short, split};
use crate::link::Link;

/// Class and method of what a broker says when something is wrong.
pub(super) const CONNECTION_CLOSE: &[u8] = &[0, 10, 0, 50];
pub(super) const CHANNEL_CLOSE: &[u8] = &[0, 20, 0, 40];

/// The second lowest bit of a declare: it is durable.
const DURABLE: u8 = 0b10;

/// The lowest bit of a declare: nothing is made.
const PASSIVE: u8 = 1;

/// An open channel.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) link: Link,
}

impl Session {
    /// Connects as guest, without heartbeats.
    ///
    /// # Errors
    /// When the broker does not answer.
    pub(crate) fn open(address: SocketAddr) -> io::Result<Self> {
        let mut session = Self { link: Link::connect(address)? };
        session.link.send(b"AMQP\x00\x00\x09\x01")?;
        session.answer([0, 10, 0, 10])?;
        session.link.send(&method(
            0,
            b"\x00\x0a\x00\x0b\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x0c\x00guest\x00guest\x05en_US",
        )?)?;
        session.answer([0, 10, 0, 30])?;
        session.link.send(&method(0, b"\x00\x0a\x00\x1f\x00\x0a\x00\x02\x00\x00\x00\x00")?)?;
        session.link.send(&method(0, b"\x00\x0a\x00\x28\x01/\x00\x00")?)?;
        session.answer([0, 10, 0, 41])?;
        session.call(b"\x00\x14\x00\x0a\x00", [0, 20, 0, 11])?;
        Ok(session)
    }

    /// Declares a durable queue.
    ///
    /// # Errors
    /// When the broker refuses or does not answer.
    pub(crate) fn declare(&mut self, queue: &str) -> io::Result<()> {
        self.call(&declare(queue, DURABLE)?, [0, 50, 0, 11])?;
        Ok(())
    }

    /// Declares durable queues, without an answer to each; bound to `exchange` where one is given. Returns when all are
    /// there: operations of a channel take effect in order, so the answer to one at the end is an answer to all.
    ///
    /// # Errors
    /// When the broker refuses one of them, or does not answer.
    pub(crate) fn declare_all(&mut self, queues: &[String], exchange: Option<&str>) -> io::Result<()> {
        let mut frames = Vec::new();
        for queue in queues {
            // The fifth bit: no answer.
            frames.extend_from_slice(&method(1, &declare(queue, DURABLE | 0b1_0000)?)?);
            if let Some(exchange) = exchange {
                let names = [short(queue)?, short(exchange)?].concat();
                let end = b"\x00\x01\x00\x00\x00\x00";
                frames.extend_from_slice(&method(1, &[b"\x00\x32\x00\x14\x00\x00", names.as_slice(), end].concat())?);
            }
        }
        self.link.send(&frames)?;
        queues.last().map_or(Ok(0), |queue| self.message_count(queue)).map(drop)
    }

    /// Messages that are ready in `queue`.
    ///
    /// # Errors
    /// When there is no such queue, or no answer.
    pub(crate) fn message_count(&mut self, queue: &str) -> io::Result<u64> {
        let declared = self.call(&declare(queue, PASSIVE)?, [0, 50, 0, 11])?;
        message_count(&declared).ok_or_else(|| io::Error::other("a declare-ok that is cut"))
    }

    /// Declares a durable fanout exchange.
    ///
    /// # Errors
    /// When the broker refuses or does not answer.
    pub(crate) fn declare_fanout(&mut self, exchange: &str) -> io::Result<()> {
        let head = [b"\x00\x28\x00\x0a\x00\x00", short(exchange)?.as_slice(), b"\x06fanout"].concat();
        self.call(&[&head, [DURABLE, 0, 0, 0, 0].as_slice()].concat(), [0, 40, 0, 11])?;
        Ok(())
    }

    /// Removes all messages that are ready in `queue`.
    ///
    /// # Errors
    /// When the broker refuses or does not answer.
    pub(crate) fn purge(&mut self, queue: &str) -> io::Result<()> {
        self.call(&[b"\x00\x32\x00\x1e\x00\x00", short(queue)?.as_slice(), b"\x00"].concat(), [0, 50, 0, 31])?;
        Ok(())
    }

    /// Asks for confirms.
    ///
    /// # Errors
    /// When the broker refuses or does not answer.
    pub(crate) fn select_confirms(&mut self) -> io::Result<()> {
        self.call(b"\x00\x55\x00\x0a\x00", [0, 85, 0, 11])?;
        Ok(())
    }

    /// Consumes `queue`, with acknowledgements.
    ///
    /// # Errors
    /// When the broker refuses or does not answer.
    pub(crate) fn consume(&mut self, queue: &str, prefetch: u16) -> io::Result<()> {
        let qos = [b"\x00\x3c\x00\x0a\x00\x00\x00\x00", prefetch.to_be_bytes().as_slice(), b"\x00"].concat();
        self.call(&qos, [0, 60, 0, 11])?;
        let consume = [b"\x00\x3c\x00\x14\x00\x00", short(queue)?.as_slice(), b"\x00\x00\x00\x00\x00\x00"].concat();
        self.call(&consume, [0, 60, 0, 21])?;
        Ok(())
    }

    /// The connection, for a codec.
    pub(crate) fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    /// Sends a method on the channel and waits for its answer; returns the answer's payload.
    fn call(&mut self, payload: &[u8], expected: [u8; 4]) -> io::Result<Vec<u8>> {
        self.link.send(&method(1, payload)?)?;
        self.answer(expected)
    }

    /// Waits for the method `expected`; other frames before it are passed over.
    fn answer(&mut self, expected: [u8; 4]) -> io::Result<Vec<u8>> {
        loop {
            let take = |bytes: &[u8]| split(bytes).map(|(kind, payload, used)| ((kind, payload.to_vec()), used));
            let (kind, payload) = self.link.expect(take)?;
            if kind == METHOD && payload.starts_with(&expected) {
                return Ok(payload);
            }
            if kind == METHOD && (payload.starts_with(CONNECTION_CLOSE) || payload.starts_with(CHANNEL_CLOSE)) {
                return Err(closed(&payload));
            }
        }
    }
}

/// A `queue.declare` without arguments.
fn declare(queue: &str, flags: u8) -> io::Result<Vec<u8>> {
    Ok([b"\x00\x32\x00\x0a\x00\x00", short(queue)?.as_slice(), &[flags, 0, 0, 0, 0]].concat())
}

/// The message count of a `queue.declare-ok`: behind the name.
fn message_count(declared: &[u8]) -> Option<u64> {
    let at = 5 + usize::from(*declared.get(4)?);
    declared.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes).map(u64::from)
}

/// What the broker said when it closed.
pub(super) fn closed(payload: &[u8]) -> io::Error {
    io::Error::other(format!("closed by the broker: {}", String::from_utf8_lossy(payload.get(7..).unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_count_is_behind_the_name() {
        assert_eq!(message_count(b"\x00\x32\x00\x0b\x02ab\x00\x01\x00\x02\x00\x00\x00\x07"), Some(65_538));
        assert_eq!(message_count(b"\x00\x32\x00\x0b\x02ab\x00\x01"), None);
    }
}
