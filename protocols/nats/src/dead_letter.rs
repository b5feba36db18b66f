//! NATS messages as dead letters (SPEC section 3). nats-server has none, so the names are RabbitMQ's:
//!
//! - header lines `x-death`: one for each pair of queue and reason, newest first, each a text as
//!   [`braid_types::DeathRecord::to_text`] writes it;
//! - header lines `x-first-death-*` (set once) and `x-last-death-*` (set every time), each with `queue`, `reason`,
//!   `exchange`;
//! - `Braid-Expires-At` is gone, whatever the message died of; all other lines stay as they are, before these.
//!
//! A message without headers gets a block with nothing but these. What a client sends under these names is not believed but
//! replaced, a value that goes on in the next lines included. Never fails: bytes that are no header block are dropped.

use alloc::vec::Vec;

use braid_types::{ConnectionId, DeadLetter, Death, DeathHistory, DeathRecord, Message, plain_text};
use bytes::{Bytes, BytesMut};

const VERSION: &[u8] = b"NATS/1.0";

/// What [`crate::neutral`] reads an expiry from, in any case of letters.
const EXPIRES_AT: &[u8] = b"Braid-Expires-At";

/// `message`, of NATS origin, as it is to be published again because of `death`.
#[must_use]
pub fn dead_letter(message: &Message, death: &Death) -> DeadLetter {
    let mut history = history(message);
    // A NATS publisher cannot give a message a time to live.
    history.add(death, None);
    let mut header = BytesMut::with_capacity(message.header.len() + 512);
    let mut lines = lines(&message.header);
    put_line(lines.next().unwrap_or(VERSION), &mut header);
    let mut is_dropped = false;
    for line in lines {
        // A line that begins with a space goes on with the value before it.
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let name = split(line).map_or(line, |(name, _)| name);
            is_dropped = DeathHistory::owns(name) || name.eq_ignore_ascii_case(EXPIRES_AT);
        }
        if !is_dropped {
            put_line(line, &mut header);
        }
    }
    for record in history.records() {
        put_header(DeathHistory::RECORDS, &record.to_text(), &mut header);
    }
    for (name, value) in history.marks() {
        put_header(name, &plain_text(&value), &mut header);
    }
    header.extend_from_slice(b"\r\n");
    DeadLetter::new(message, header.freeze(), history)
}

/// The deaths that `message`, of NATS origin, remembers, newest first. None for what a client published.
#[must_use]
pub fn deaths(message: &Message) -> Vec<DeathRecord> {
    history(message).into_records()
}

fn history(message: &Message) -> DeathHistory {
    let mut history = DeathHistory::default();
    if message.publisher != ConnectionId::BROKER {
        return history;
    }
    for (name, value) in lines(&message.header).filter_map(split) {
        if name != DeathHistory::RECORDS.as_bytes() {
            history.set_mark(name, message.header.slice_ref(value));
        } else if let Some(record) = DeathRecord::from_text(value) {
            history.push_older(record);
        }
    }
    history
}

/// The lines of a block without their ends: the first one, then those up to the empty line. None when it is no block.
fn lines(block: &Bytes) -> impl Iterator<Item = &[u8]> {
    let mut lines = block.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.next().filter(|line| {
        let status = line.strip_prefix(VERSION);
        status.is_some_and(|status| status.first().is_none_or(|byte| matches!(byte, b' ' | b'\t')))
    });
    let is_block = first.is_some();
    first.into_iter().chain(lines.take_while(move |line| is_block && !line.is_empty()))
}

/// Name and value of a line.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, value) = line.split_at_checked(memchr::memchr(b':', line)?)?;
    Some((name, value.get(1..)?.trim_ascii()))
}

fn put_line(line: &[u8], out: &mut BytesMut) {
    out.extend_from_slice(line);
    out.extend_from_slice(b"\r\n");
}

fn put_header(name: &str, value: &[u8], out: &mut BytesMut) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    put_line(value, out);
}

#[cfg(test)]
mod tests {
    use alloc::{string::String, vec, vec::Vec};

    use braid_types::{HeaderValue, Protocol};
    use proptest::{collection::vec as vector, prelude::*};

    use super::*;
    use crate::neutral;

    fn message(header: &[u8]) -> Message {
        Message { header: Bytes::copy_from_slice(header), publisher: ConnectionId(7), ..Message::empty(Protocol::Nats) }
    }

    fn death(queue: &'static str, reason: &'static str, time_s: u64) -> Death {
        Death {
            reason,
            queue: Bytes::from_static(queue.as_bytes()),
            time_s,
            exchange: Bytes::from_static(b"amq.topic"),
            routing_keys: vec![Bytes::from_static(b"a.b")],
        }
    }

    const Q: &str = "x-death: queue=q;reason=rejected;count=1;time=9;exchange=amq.topic;routing-keys=a.b\r\n";
    const MARKS: &str = "x-first-death-exchange: amq.topic\r\nx-first-death-queue: q\r\n\
                         x-first-death-reason: rejected\r\nx-last-death-exchange: amq.topic\r\n\
                         x-last-death-queue: q\r\nx-last-death-reason: rejected\r\n\r\n";

    #[test]
    fn the_lines_of_a_block_stay_and_ours_follow() {
        let table = [
            ("", "NATS/1.0\r\n"),
            ("no block", "NATS/1.0\r\n"),
            ("NATS/1.05\r\nA: 1\r\n\r\n", "NATS/1.0\r\n"),
            ("NATS/1.0", "NATS/1.0\r\n"),
            (
                "NATS/1.0 503 x\r\nA: 1\r\n folded\r\na:2\r\nno colon\r\n\r\n",
                "NATS/1.0 503 x\r\nA: 1\r\n folded\r\na:2\r\nno colon\r\n",
            ),
            ("NATS/1.0\r\nA: 1\nB: 2\n\nC: 3\r\n\r\n", "NATS/1.0\r\nA: 1\r\nB: 2\r\n"),
            (
                "NATS/1.0\r\nx-death: forged\r\n more\r\n\tmore\r\nX-Death: kept\r\nbraid-expires-at: 5\r\nx-last-death-queue:z\r\n\r\n",
                "NATS/1.0\r\nX-Death: kept\r\n",
            ),
        ];
        for (block, kept) in table {
            let letter = dead_letter(&message(block.as_bytes()), &death("q", "rejected", 9));
            assert_eq!(letter.message.header, [kept, Q, MARKS].concat(), "{block}");
        }
    }

    #[test]
    fn a_history_survives_its_lines() {
        let letter = dead_letter(&message(b""), &death("q", "rejected", 9));
        let letter = dead_letter(&letter.message, &death("w\r\nEvil: 1", "expired", 10));
        let letter = dead_letter(&letter.message, &death("q", "rejected", 11));
        let seen: Vec<_> = deaths(&letter.message).into_iter().map(|record| (record.queue, record.count)).collect();
        assert_eq!(seen, [(Bytes::from_static(b"q"), 2), (Bytes::from_static(b"w\r\nEvil: 1"), 1)]);
        assert_eq!(deaths(&letter.message), letter.deaths);
        assert!(!neutral(&letter.message).headers.iter().any(|(name, _)| name == "Evil"));

        let republished = Message { publisher: ConnectionId(7), ..letter.message };
        assert_eq!(deaths(&republished), []);
        let letter = dead_letter(&republished, &death("q", "rejected", 9));
        assert_eq!(letter.message.header, ["NATS/1.0\r\n", Q, MARKS].concat());
    }

    #[test]
    fn members_of_other_protocols_see_the_deaths_as_headers() {
        let block = b"NATS/1.0\r\nBraid-Expires-At: 5\r\n\r\n";
        let letter = dead_letter(&message(block), &death("w\u{e4} ", "expired", 9));
        let properties = neutral(&letter.message);
        assert_eq!(properties.expires_at, None);
        let text = |text: &str| HeaderValue::Text(Bytes::from(String::from(text)));
        let first: Vec<_> = properties.headers.iter().skip(1).take(3).map(|(_, value)| value.clone()).collect();
        assert_eq!(first, [text("amq.topic"), text("w%C3%A4%20"), text("expired")]);
    }

    proptest! {
        #[test]
        fn any_block_becomes_one_that_can_be_read(
            start in prop_oneof![Just(""), Just("NATS/1.0"), Just("NATS/1.0\r\n")],
            rest in vector(prop_oneof![
                any::<u8>().prop_map(|byte| vec![byte]),
                Just(b"\r\nx-death: queue=q;reason=expired;count=3\r\n".to_vec()),
                Just(b"\r\nx-first-death-queue: q\r\n".to_vec()),
                Just(b"\r\nk: v".to_vec()),
            ], 0..12),
            is_brokers in any::<bool>(),
        ) {
            let block = [start.as_bytes(), &rest.concat()].concat();
            let publisher = if is_brokers { ConnectionId::BROKER } else { ConnectionId(7) };
            let letter = dead_letter(&Message { publisher, ..message(&block) }, &death("q", "expired", 5));
            let letter = dead_letter(&letter.message, &death("\u{1}\u{e4}", "rejected", 6));
            prop_assert_eq!(deaths(&letter.message), letter.deaths);
            prop_assert!(letter.message.header.starts_with(b"NATS/1.0") && letter.message.header.ends_with(b"\r\n\r\n"));
            let headers = neutral(&letter.message).headers;
            let count = |wanted: &str| headers.iter().filter(|(name, _)| name == wanted).count();
            prop_assert_eq!(count("x-last-death-queue"), 1);
            prop_assert_eq!(count("x-death"), 2);
        }
    }
}
