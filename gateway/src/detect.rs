//! Tells the protocols of the one port apart by their first bytes (SPEC section 6). Never guesses on the usual ports.
//!
//! NATS clients wait for the server to speak: silence for `detect.silence_ms` means NATS, and that is final.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::limits::DETECT_BYTES_MAX;

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// `AMQP`: an AMQP protocol header.
    Amqp,
    /// 0x10: an MQTT CONNECT.
    Mqtt,
    /// A NATS operation, sent without waiting for INFO.
    Nats,
    /// Nothing for so long that it must be waiting for INFO.
    Silence,
    /// An HTTP request line.
    Http,
}

/// First words of the NATS protocol, in either case.
const NATS_WORDS: [&[u8]; 6] = [b"CONNECT", b"PING", b"PONG", b"PUB", b"HPUB", b"SUB"];

/// First words of HTTP requests.
const HTTP_WORDS: [&[u8]; 7] = [b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ", b"OPTIONS ", b"PATCH "];

/// Waits for first bytes and tells what they are. `None`: something else, or the client left, or it did not say enough
/// within `handshake`.
pub(crate) async fn detect(
    stream: &TcpStream,
    silence: Option<Duration>,
    handshake: Duration,
) -> Option<(Spoken, Bytes)> {
    let mut first = BytesMut::with_capacity(DETECT_BYTES_MAX);
    // Readiness alone says nothing: it may be there without bytes. Only bytes end the silence.
    match timeout(silence.unwrap_or(handshake), read_more(stream, &mut first)).await {
        Err(_) if silence.is_some() => return Some((Spoken::Silence, Bytes::new())),
        Err(_) | Ok(None) => return None,
        Ok(Some(())) => {}
    }
    let told = async {
        loop {
            match classify(&first) {
                Classified::Is(spoken) => return Some(spoken),
                Classified::NeedsMore if first.len() < DETECT_BYTES_MAX => read_more(stream, &mut first).await?,
                Classified::NeedsMore | Classified::Unknown => return None,
            }
        }
    };
    let spoken = timeout(handshake, told).await.ok().flatten()?;
    Some((spoken, first.freeze()))
}

/// Reads at least one byte, at most up to the limit. `None` when the client has left.
async fn read_more(stream: &TcpStream, first: &mut BytesMut) -> Option<()> {
    loop {
        stream.readable().await.ok()?;
        let mut chunk = [0u8; DETECT_BYTES_MAX];
        let room = DETECT_BYTES_MAX.saturating_sub(first.len());
        match stream.try_read(chunk.get_mut(..room)?) {
            Ok(0) => return None,
            Ok(count) => {
                first.extend_from_slice(chunk.get(..count)?);
                return Some(());
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

/// Bytes that cannot be the beginning of a NATS client, but of another protocol that this port takes.
pub(crate) fn is_not_nats(first: &[u8]) -> bool {
    matches!(classify(first), Classified::Is(Spoken::Amqp | Spoken::Mqtt | Spoken::Http))
        || first.first() == Some(&0x16)
}

#[derive(Debug, PartialEq, Eq)]
enum Classified {
    Is(Spoken),
    NeedsMore,
    Unknown,
}

fn classify(first: &[u8]) -> Classified {
    if first.first() == Some(&0x10) {
        return Classified::Is(Spoken::Mqtt);
    }
    let words = [(Spoken::Amqp, &[&b"AMQP"[..]][..]), (Spoken::Http, &HTTP_WORDS), (Spoken::Nats, &NATS_WORDS)];
    let mut needs_more = false;
    for (spoken, words) in words {
        for word in words {
            let common = word.len().min(first.len());
            let equal =
                first.get(..common).is_some_and(|part| part.eq_ignore_ascii_case(word.get(..common).unwrap_or(&[])));
            if equal && common == word.len() {
                return Classified::Is(spoken);
            }
            needs_more |= equal;
        }
    }
    if needs_more { Classified::NeedsMore } else { Classified::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_the_protocols_apart() {
        assert_eq!(classify(b"AMQP\x00\x00\x09\x01"), Classified::Is(Spoken::Amqp));
        assert_eq!(classify(b"\x10\x0c\x00\x04MQTT"), Classified::Is(Spoken::Mqtt));
        assert_eq!(classify(b"GET / HTTP/1.1"), Classified::Is(Spoken::Http));
        assert_eq!(classify(b"connect {"), Classified::Is(Spoken::Nats));
        assert_eq!(classify(b"PU"), Classified::NeedsMore);
        assert_eq!(classify(b"PUB a"), Classified::Is(Spoken::Nats));
        assert_eq!(classify(b"A"), Classified::NeedsMore);
        assert_eq!(classify(b"\x16\x03\x01"), Classified::Unknown);
        assert_eq!(classify(b"\xff"), Classified::Unknown);
    }

    #[test]
    fn after_silence_only_the_other_protocols_are_refused() {
        assert!(is_not_nats(b"AMQP\x00\x00\x09\x01"));
        assert!(is_not_nats(b"\x10\x0c"));
        assert!(is_not_nats(b"\x16\x03"));
        assert!(!is_not_nats(b"CONNECT {}\r\n"));
        assert!(!is_not_nats(b"nonsense"));
    }
}
