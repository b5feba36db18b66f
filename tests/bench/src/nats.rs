//! NATS: `PUB` and `MSG` without headers.

use std::{io, net::SocketAddr};

use crate::{
    Scene,
    link::{Codec, Found, Link},
};

/// The subject of all messages.
const SUBJECT: &str = "bench.load";

/// The codec of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Nats {
    head: Vec<u8>,
}

/// Connects; with `subscribe` as a consumer of `scene`.
///
/// # Errors
/// When the broker does not answer.
pub(crate) fn connect(address: SocketAddr, scene: &Scene, subscribe: bool) -> io::Result<(Link, Nats)> {
    let mut link = Link::connect(address)?;
    link.expect(|bytes| line(bytes).filter(|(text, _)| text.starts_with(b"INFO")).map(|(_, used)| ((), used)))?;
    let mut hello = b"CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"lang\":\"bench\"}\r\n".to_vec();
    if subscribe {
        let queue = if scene.shared { "workers " } else { "" };
        hello.extend_from_slice(format!("SUB {SUBJECT} {queue}1\r\n").as_bytes());
    }
    hello.extend_from_slice(b"PING\r\n");
    link.send(&hello)?;
    link.expect(|bytes| line(bytes).filter(|(text, _)| *text == b"PONG").map(|(_, used)| ((), used)))?;
    Ok((link, Nats { head: format!("PUB {SUBJECT} {}\r\n", scene.size_bytes).into_bytes() }))
}

/// The first line without its end, and its length with it.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((bytes.get(..end)?, end + 2))
}

impl Codec for Nats {
    fn publish(&mut self, body: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(body);
        out.extend_from_slice(b"\r\n");
    }

    fn parse(&mut self, bytes: &[u8], found: &mut Found, message: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut used = 0;
        while let Some((text, length)) = bytes.get(used..).and_then(line) {
            if text.starts_with(b"MSG ") {
                let size = size_of(text).ok_or_else(|| io::Error::other("a MSG without a size"))?;
                let body = used + length;
                if bytes.len() < body + size + 2 {
                    break;
                }
                message(bytes.get(body..body + size).unwrap_or_default());
                used = body + size + 2;
                continue;
            }
            if text.starts_with(b"-ERR") {
                return Err(io::Error::other(String::from_utf8_lossy(text).into_owned()));
            }
            if text == b"PING" {
                found.replies.extend_from_slice(b"PONG\r\n");
            }
            used += length;
        }
        Ok(used)
    }
}

/// The last word of a `MSG` line, as a number.
fn size_of(text: &[u8]) -> Option<usize> {
    let digits = text.rsplit(|byte| *byte == b' ').next()?;
    digits.iter().try_fold(0_usize, |sum, digit| {
        let digit = usize::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        sum.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_whatever_the_split() -> io::Result<()> {
        let bytes = b"MSG a 1 2\r\nhi\r\nPING\r\nMSG a 1 reply 3\r\nyou\r\n";
        for split in 0..=bytes.len() {
            let (mut codec, mut found) = (Nats { head: Vec::new() }, Found::default());
            let mut bodies = Vec::new();
            let used = codec.parse(&bytes[..split], &mut found, &mut |body| bodies.push(body.to_vec()))?;
            let rest = codec.parse(&bytes[used..], &mut found, &mut |body| bodies.push(body.to_vec()))?;
            assert_eq!(used + rest, bytes.len());
            assert_eq!(bodies, [b"hi".to_vec(), b"you".to_vec()]);
            assert_eq!(found.replies, b"PONG\r\n");
        }
        Ok(())
    }
}
