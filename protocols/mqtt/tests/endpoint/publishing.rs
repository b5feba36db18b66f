//! The client publishes (MQTT 5, 3.3 and 4.3; CASES 26, 28, 29, 33).

use braid_mqtt::Options;
use braid_types::{Endpoint, PublishResult, RefusalKind, Timestamp};

use super::{
    driver::{CONNECTION, Driver, golden, golden_with},
    packets::{acknowledge, publish},
};

#[test]
fn qos_0_waits_for_nothing() {
    golden(|driver| {
        driver.connected_3();
        assert!(driver.feed(&publish(1, "a/b", 0, None, b"x")).is_empty());
        let (message, ticket) = driver.published();
        assert_eq!(ticket, None);
        assert_eq!(
            (&message.key[..], &message.body[..], &message.exchange[..]),
            (&b"a/b"[..], &b"x"[..], &b"amq.topic"[..])
        );
        assert_eq!((message.qos, message.retain, message.publisher), (0, true, CONNECTION));
        assert_eq!((message.received_at, message.expires_at), (Timestamp(1_000_000), None));
        assert!(message.header.is_empty());
    });
}

#[test]
fn qos_1_is_acknowledged_when_the_broker_has_it() {
    for (result, v3, v5) in [
        (PublishResult::Accepted, Some(&[0x40, 2, 0, 7][..]), &[0x40, 2, 0, 7][..]),
        (PublishResult::Unroutable, Some(&[0x40, 2, 0, 7]), &[0x40, 3, 0, 7, 0x10]),
        (PublishResult::Refused(RefusalKind::NotFound), Some(&[0x40, 2, 0, 7]), &[0x40, 3, 0, 7, 0x10]),
        (PublishResult::Refused(RefusalKind::AccessRefused), Some(&[0x40, 2, 0, 7]), &[0x40, 3, 0, 7, 0x87]),
        (PublishResult::Refused(RefusalKind::LimitReached), None, &[0x40, 3, 0, 7, 0x97]),
        (PublishResult::Refused(RefusalKind::Unavailable), None, &[0x40, 3, 0, 7, 0x80]),
    ] {
        golden(|driver| {
            driver.connected_3();
            assert!(driver.feed(&publish(0b010, "a", 7, None, b"x")).is_empty());
            let (_, ticket) = driver.published();
            let sent = driver.answer(ticket, result);
            assert_eq!((&sent[..], driver.endpoint.is_closing()), (v3.unwrap_or_default(), v3.is_none()));
        });
        golden(|driver| {
            driver.connected_5(&[]);
            driver.feed(&publish(0b010, "a", 7, Some(&[]), b"x"));
            let (_, ticket) = driver.published();
            assert_eq!(driver.answer(ticket, result), v5);
        });
    }
}

#[test]
fn qos_2_is_published_once_however_often_it_is_sent() {
    golden(|driver| {
        driver.connected_3();
        driver.feed(&publish(0b100, "a", 7, None, b"x"));
        let (_, ticket) = driver.published();
        assert!(driver.feed(&publish(0b1100, "a", 7, None, b"x")).is_empty());
        assert_eq!(driver.answer(ticket, PublishResult::Accepted), [0x50, 2, 0, 7, 0x50, 2, 0, 7]);
        driver.wait(5_000);
        assert_eq!(driver.feed(&publish(0b1100, "a", 7, None, b"x")), [0x50, 2, 0, 7]);
        assert!(driver.requests().is_empty());
        assert_eq!(driver.feed(&acknowledge(0x62, 7)), [0x70, 2, 0, 7]);
        assert_eq!(driver.feed(&acknowledge(0x62, 7)), [0x70, 2, 0, 7]);
        driver.feed(&publish(0b100, "a", 7, None, b"y"));
        assert_eq!(&driver.published().0.body[..], b"y");
    });
}

#[test]
fn a_refused_qos_2_publish_frees_its_identifier() {
    golden(|driver| {
        driver.connected_5(&[]);
        driver.feed(&publish(0b100, "a", 7, Some(&[]), b"x"));
        let (_, ticket) = driver.published();
        let sent = driver.answer(ticket, PublishResult::Refused(RefusalKind::LimitReached));
        assert_eq!(sent, [0x50, 3, 0, 7, 0x97]);
        driver.feed(&publish(0b100, "a", 7, Some(&[]), b"x"));
        let (_, ticket) = driver.published();
        // Nobody listens: said in PUBACK only.
        assert_eq!(driver.answer(ticket, PublishResult::Unroutable), [0x50, 2, 0, 7]);
    });
}

#[test]
fn properties_are_kept_verbatim_and_the_alias_is_not() {
    golden(|driver| {
        driver.connected_5(&[]);
        let user = b"\x26\x00\x01k\x00\x01b\x26\x00\x01k\x00\x01a";
        driver.feed(&publish(0, "t", 0, Some(&[&user[..], b"\x23\x00\x01", b"\x01\x01"].concat()), b"x"));
        let (message, _) = driver.published();
        assert_eq!(&message.header[..], [&user[..], b"\x01\x01"].concat());
        driver.feed(&publish(0, "", 0, Some(b"\x23\x00\x01"), b"y"));
        let (message, _) = driver.published();
        assert_eq!((&message.key[..], &message.header[..]), (&b"t"[..], &b""[..]));
        driver.feed(&publish(0, "u", 0, Some(b"\x23\x00\x01"), b"y"));
        assert_eq!(&driver.published().0.key[..], b"u");
        assert_eq!(driver.feed(&publish(0, "", 0, Some(b"\x23\x00\x02"), b"y")), [0xE0, 1, 0x82]);
    });
}

#[test]
fn the_expiry_becomes_a_time_and_stays_in_the_header() {
    golden(|driver| {
        driver.connected_5(&[]);
        driver.feed(&publish(0, "t", 0, Some(&[0x02, 0, 0, 0, 3]), b"x"));
        let (message, _) = driver.published();
        assert_eq!((message.expires_at, &message.header[..]), (Some(Timestamp(1_003_000)), &[0x02, 0, 0, 0, 3][..]));
    });
}

#[test]
fn aliases_out_of_range_are_refused() {
    for alias in [0_u16, 11, u16::MAX] {
        let mut driver = Driver::new();
        driver.connected_5(&[]);
        let alias = alias.to_be_bytes();
        let sent = driver.feed(&publish(0, "t", 0, Some(&[0x23, alias[0], alias[1]]), b"x"));
        assert_eq!(sent, [0xE0, 1, 0x94]);
    }
}

#[test]
fn more_open_publishes_than_allowed_are_a_fault_of_mqtt_5() {
    let options = Options { receive_maximum: 2, ..Options::new(CONNECTION, 1) };
    golden_with(options, |driver| {
        driver.connected_5(&[]);
        driver.feed(&publish(0b010, "a", 1, Some(&[]), b""));
        let (_, first) = driver.published();
        driver.feed(&publish(0b100, "a", 2, Some(&[]), b""));
        let (_, second) = driver.published();
        // QoS 0 and a repetition do not count.
        driver.feed(&publish(0, "a", 0, Some(&[]), b""));
        driver.feed(&publish(0b1100, "a", 2, Some(&[]), b""));
        driver.published();
        driver.answer(first, PublishResult::Accepted);
        driver.answer(second, PublishResult::Accepted);
        driver.feed(&publish(0b010, "a", 1, Some(&[]), b""));
        driver.published();
        // PUBREC does not free the place, PUBCOMP does.
        assert_eq!(driver.feed(&publish(0b010, "a", 3, Some(&[]), b"")), [0xE0, 1, 0x93]);
    });
    let mut driver = Driver::with(options);
    driver.connected_3();
    for id in 1..=5 {
        driver.feed(&publish(0b010, "a", id, None, b""));
    }
    assert_eq!(driver.requests().len(), 5);
}

#[test]
fn text_is_checked_where_it_is_promised() {
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    assert_eq!(driver.feed(&publish(0b010, "a", 1, Some(&[1, 1]), b"\xFF")), [0x40, 3, 0, 1, 0x99]);
    assert_eq!(driver.feed(&publish(0b100, "a", 2, Some(&[1, 1]), b"\xFF")), [0x50, 3, 0, 2, 0x99]);
    assert!(driver.requests().is_empty());
    driver.feed(&publish(0, "a", 0, Some(&[1, 0]), b"\xFF"));
    driver.published();
    assert_eq!(driver.feed(&publish(0, "a", 0, Some(&[1, 1]), b"\xFF")), [0xE0, 1, 0x99]);
}

#[test]
fn the_brokers_own_topics_are_refused_without_a_close() {
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    assert_eq!(driver.feed(&publish(0b010, "$SYS/x", 1, Some(&[]), b"")), [0x40, 3, 0, 1, 0x87]);
    assert!(driver.feed(&publish(0, "$share/g/a", 0, Some(&[]), b"")).is_empty());
    assert!(driver.requests().is_empty());
    assert_eq!(driver.endpoint.counters().reserved_topic, 2);
    driver.feed(&publish(0, "$test/x", 0, Some(&[]), b""));
    driver.published();
    let mut driver = Driver::new();
    driver.connected_3();
    assert_eq!(driver.feed(&publish(0b010, "$SYS/x", 1, None, b"")), [0x40, 2, 0, 1]);
}

#[test]
fn a_publish_to_a_queue_goes_to_the_default_exchange() {
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    driver.feed(&publish(1, "$queue/jobs/a", 0, Some(&[]), b"x"));
    let (message, _) = driver.published();
    assert_eq!((&message.exchange[..], &message.key[..], message.retain), (&b""[..], &b"jobs/a"[..], false));
}

#[test]
fn a_large_body_is_not_copied() {
    let mut driver = Driver::new();
    driver.connected_3();
    let body = vec![7; 100_000];
    driver.feed(&publish(0, "a", 0, None, &body));
    assert_eq!(driver.published().0.body, body);
}
