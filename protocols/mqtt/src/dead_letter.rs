//! MQTT messages as dead letters (SPEC section 3). No MQTT broker has them, so the names are RabbitMQ's:
//!
//! - user properties `x-death`: one for each pair of queue and reason, newest first, each a text as
//!   [`braid_types::DeathRecord::to_text`] writes it;
//! - user properties `x-first-death-*` (set once) and `x-last-death-*` (set every time), each with `queue`, `reason`,
//!   `exchange`;
//! - the message expiry interval is gone, whatever the message died of; all other properties stay as they are, before these.
//!
//! A message of MQTT 3 gets a block with nothing but these. What a client sends under these names is not believed but
//! replaced. Never fails: of a block that cannot be read (none is let in) what comes before the fault is kept.

use alloc::vec::Vec;

use braid_types::{ConnectionId, DeadLetter, Death, DeathHistory, DeathRecord, Message, plain_text};
use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    codec::{Reader, put_binary},
    properties::{self, Value, id},
};

/// `message`, of MQTT origin, as it is to be published again because of `death`.
#[must_use]
pub fn dead_letter(message: &Message, death: &Death) -> DeadLetter {
    let mut header = BytesMut::with_capacity(message.header.len() + 512);
    let mut expiry_s = None;
    for (identifier, value, bytes) in values(&message.header) {
        match (identifier, value) {
            (id::MESSAGE_EXPIRY, Value::Number(seconds)) => expiry_s = Some(u64::from(seconds)),
            (id::USER_PROPERTY, Value::Pair(name, _)) if DeathHistory::owns(name) => {}
            _ => header.extend_from_slice(bytes),
        }
    }
    let mut history = history(message);
    history.add(death, expiry_s.map(|seconds| seconds.saturating_mul(1000)));
    for record in history.records() {
        put_user(DeathHistory::RECORDS, &record.to_text(), &mut header);
    }
    for (name, value) in history.marks() {
        put_user(name, &plain_text(&value), &mut header);
    }
    DeadLetter::new(message, header.freeze(), history)
}

/// The deaths that `message`, of MQTT origin, remembers, newest first. None for what a client published.
#[must_use]
pub fn deaths(message: &Message) -> Vec<DeathRecord> {
    history(message).into_records()
}

fn history(message: &Message) -> DeathHistory {
    let mut history = DeathHistory::default();
    if message.publisher != ConnectionId::BROKER {
        return history;
    }
    for (_, value, _) in values(&message.header) {
        match value {
            Value::Pair(name, text) if name == DeathHistory::RECORDS.as_bytes() => {
                if let Some(record) = DeathRecord::from_text(text) {
                    history.push_older(record);
                }
            }
            Value::Pair(name, text) => history.set_mark(name, message.header.slice_ref(text)),
            Value::Number(_) | Value::Bytes(_) => {}
        }
    }
    history
}

/// The properties of a block, each with all of its bytes, as far as they can be read.
fn values(block: &Bytes) -> impl Iterator<Item = (u8, Value<'_>, &[u8])> {
    let mut reader = Reader::new(block);
    core::iter::from_fn(move || {
        let start = reader.rest();
        if start.is_empty() {
            return None;
        }
        let (identifier, value) = properties::next(&mut reader).ok()?;
        let bytes = start.get(..start.len().saturating_sub(reader.rest().len()))?;
        Some((identifier, value, bytes))
    })
}

fn put_user(name: &str, value: &[u8], out: &mut BytesMut) {
    out.put_u8(id::USER_PROPERTY);
    put_binary(out, name.as_bytes());
    put_binary(out, value);
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use braid_types::{HeaderValue, Protocol, Timestamp};
    use proptest::{collection::vec as vector, prelude::*};

    use super::*;
    use crate::{neutral, properties::Carrier};

    fn message(header: &[u8]) -> Message {
        Message {
            header: Bytes::copy_from_slice(header),
            publisher: ConnectionId(7),
            retain: true,
            expires_at: Some(Timestamp(1)),
            ..Message::empty(Protocol::Mqtt)
        }
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

    /// The user properties, in order.
    fn user(message: &Message) -> Vec<(&str, &str)> {
        let text = |bytes| core::str::from_utf8(bytes).unwrap();
        values(&message.header)
            .filter_map(|(_, value, _)| match value {
                Value::Pair(name, value) => Some((text(name), text(value))),
                Value::Number(_) | Value::Bytes(_) => None,
            })
            .collect()
    }

    #[test]
    fn a_message_of_mqtt_3_gets_a_block() {
        let letter = dead_letter(&message(b""), &death("q", "rejected", 9));
        let golden = [
            &b"\x26\0\x07x-death\0\x4aqueue=q;reason=rejected;count=1;time=9;exchange=amq.topic;routing-keys=a.b"[..],
            b"\x26\0\x16x-first-death-exchange\0\x09amq.topic\x26\0\x13x-first-death-queue\0\x01q",
            b"\x26\0\x14x-first-death-reason\0\x08rejected\x26\0\x15x-last-death-exchange\0\x09amq.topic",
            b"\x26\0\x12x-last-death-queue\0\x01q\x26\0\x13x-last-death-reason\0\x08rejected",
        ];
        assert_eq!(letter.message.header, golden.concat());
    }

    #[test]
    fn the_block_keeps_the_rest_in_order() {
        let block = b"\x01\x01\x02\0\0\0\x3c\x26\0\x01k\0\x01v\x26\0\x07x-death\0\x06forged\x03\0\x01t\x26\0\x01k\0\0";
        let letter = dead_letter(&message(block), &death("q;1", "rejected", 9));
        let kept = b"\x01\x01\x26\0\x01k\0\x01v\x03\0\x01t\x26\0\x01k\0\0\x26\0\x07x-death";
        assert_eq!(letter.message.header.get(..kept.len()), Some(&kept[..]));
        let again = dead_letter(&letter.message, &death("w", "expired", 10));
        let again = dead_letter(&again.message, &death("q;1", "rejected", 11));
        let queue = "queue=q%3B1;reason=rejected;count=2;time=9;exchange=amq.topic;routing-keys=a.b;\
                     original-expiration=60000";
        let expected = [
            ("k", "v"),
            ("k", ""),
            ("x-death", queue),
            ("x-death", "queue=w;reason=expired;count=1;time=10;exchange=amq.topic;routing-keys=a.b"),
            ("x-first-death-exchange", "amq.topic"),
            ("x-first-death-queue", "q;1"),
            ("x-first-death-reason", "rejected"),
            ("x-last-death-exchange", "amq.topic"),
            ("x-last-death-queue", "q;1"),
            ("x-last-death-reason", "rejected"),
        ];
        assert_eq!(user(&again.message), expected);
        assert_eq!(deaths(&again.message), again.deaths);
        assert!(!again.message.retain && again.message.expires_at.is_none());
        assert!(properties::walk(&again.message.header, Carrier::Publish, |_, _, _| {}).is_ok());
    }

    #[test]
    fn members_of_other_protocols_see_the_deaths_as_headers() {
        let letter = dead_letter(&message(b"\x02\0\0\0\x01"), &death("q", "expired", 9));
        let properties = neutral(&letter.message);
        assert_eq!(properties.expires_at, None);
        let header = |name: &str| properties.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value);
        let text = |text: &'static str| HeaderValue::Text(Bytes::from_static(text.as_bytes()));
        assert_eq!(header("x-first-death-queue"), Some(&text("q")));
        assert_eq!(header("x-first-death-reason"), Some(&text("expired")));
        assert_eq!(header("x-first-death-exchange"), Some(&text("amq.topic")));
        let record =
            "queue=q;reason=expired;count=1;time=9;exchange=amq.topic;routing-keys=a.b;original-expiration=1000";
        assert_eq!(header("x-death"), Some(&text(record)));
    }

    #[test]
    fn what_a_client_publishes_again_is_new() {
        let letter = dead_letter(&message(b""), &death("first", "rejected", 1));
        let republished = Message { publisher: ConnectionId(7), ..letter.message };
        assert_eq!(deaths(&republished), []);
        let letter = dead_letter(&republished, &death("q", "rejected", 2));
        assert_eq!((letter.deaths.len(), user(&letter.message).len()), (1, 7));
        assert!(user(&letter.message).contains(&("x-first-death-queue", "q")));
    }

    proptest! {
        #[test]
        fn any_block_becomes_one_that_can_be_read(
            start in vector(any::<u8>(), 0..40),
            pairs in vector((prop_oneof![Just("x-death"), Just("x-first-death-queue"), Just("k")], "[a-z=;%]{0,20}"), 0..4),
            is_brokers in any::<bool>(),
        ) {
            let mut block = BytesMut::new();
            for (name, value) in &pairs {
                put_user(name, value.as_bytes(), &mut block);
            }
            block.extend_from_slice(&start);
            let publisher = if is_brokers { ConnectionId::BROKER } else { ConnectionId(7) };
            let letter = dead_letter(&Message { publisher, ..message(&block) }, &death("q", "expired", 5));
            let letter = dead_letter(&letter.message, &death("\u{1}\u{e4}", "rejected", 6));
            let count: usize = values(&letter.message.header).map(|(_, _, bytes)| bytes.len()).sum();
            prop_assert_eq!(count, letter.message.header.len());
            prop_assert_eq!(deaths(&letter.message), letter.deaths);
            let clients = |message: &Message| user(message).iter().filter(|(name, _)| *name == "k").count();
            prop_assert!(clients(&letter.message) >= pairs.iter().filter(|(name, _)| *name == "k").count());
        }
    }
}
