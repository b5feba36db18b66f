//! The text form of death records: what is written is read back, and what is read never breaks anything.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use braid_types::{DeathRecord, plain_text};
use bytes::Bytes;
use proptest::{collection::vec, prelude::*};

fn name() -> impl Strategy<Value = Bytes> {
    vec(prop_oneof![any::<u8>(), Just(b';'), Just(b'='), Just(b','), Just(b'%'), Just(b'\r')], 0..40)
        .prop_map(Bytes::from)
}

fn record() -> impl Strategy<Value = DeathRecord> {
    (name(), name(), any::<u64>(), any::<u64>(), name(), vec(name(), 0..4), any::<Option<u64>>()).prop_map(
        |(queue, reason, count, time_s, exchange, routing_keys, original_expiration_ms)| DeathRecord {
            queue: [b"q", queue.as_ref()].concat().into(),
            reason: [b"r", reason.as_ref()].concat().into(),
            count,
            time_s,
            exchange,
            // One empty key and no key are the same text.
            routing_keys: if routing_keys.len() == 1 && routing_keys[0].is_empty() { Vec::new() } else { routing_keys },
            original_expiration_ms,
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(record in record()) {
        let text = record.to_text();
        prop_assert!(text.iter().all(u8::is_ascii_graphic));
        prop_assert_eq!(DeathRecord::from_text(&text), Some(record));
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in vec(any::<u8>(), 0..80), tail in name()) {
        let _ignored = DeathRecord::from_text(&text);
        let text = [b"queue=q;reason=r;", tail.as_ref()].concat();
        if let Some(record) = DeathRecord::from_text(&text) {
            prop_assert_eq!(DeathRecord::from_text(&record.to_text()), Some(record));
        }
    }

    #[test]
    fn plain_text_is_text_and_stays(value in name()) {
        let plain = plain_text(&value);
        let text = core::str::from_utf8(&plain).unwrap();
        prop_assert!(!text.chars().any(char::is_control));
        prop_assert_eq!(text.trim(), text);
        prop_assert_eq!(plain_text(&plain), plain);
    }
}

#[test]
fn the_form_of_the_text() {
    let record = DeathRecord {
        queue: Bytes::from_static("wörk;1".as_bytes()),
        reason: Bytes::from_static(b"rejected"),
        count: 2,
        time_s: 1_700_000_000,
        exchange: Bytes::new(),
        routing_keys: vec![Bytes::from_static(b"a.b"), Bytes::from_static(b"c,d")],
        original_expiration_ms: Some(60_000),
    };
    let text = "queue=w%C3%B6rk%3B1;reason=rejected;count=2;time=1700000000;exchange=;routing-keys=a.b,c%2Cd;\
                original-expiration=60000";
    assert_eq!(record.to_text(), text);
    for bad in ["", "queue=q", "reason=r", "queue=q;reason=r;", "queue=q;reason=r;count=-1", "queue=%4;reason=r"] {
        assert_eq!(DeathRecord::from_text(bad.as_bytes()), None, "{bad}");
    }
    let later = DeathRecord::from_text(b"queue=q;reason=r;colour=red").unwrap();
    assert_eq!((later.queue, later.count), (Bytes::from_static(b"q"), 0));
}

#[test]
fn the_longest_record_fits_into_an_mqtt_string() {
    let long = Bytes::from(vec![0xff; 70_000]);
    let record = DeathRecord {
        queue: long.clone(),
        reason: Bytes::from_static(b"expired"),
        exchange: long.clone(),
        routing_keys: vec![long; 40],
        ..DeathRecord::default()
    };
    let text = record.to_text();
    assert!(text.len() <= 65_535, "{}", text.len());
    assert!(DeathRecord::from_text(&text).is_some());
}
