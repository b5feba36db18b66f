//! Messages to the client (MQTT 5, 3.3 and 4.3; CASES 26, 28, 31, 33).

use std::sync::Arc;

use braid_types::{Delivery, Endpoint, Message, Outcome, SubscriptionId, Timestamp};
use bytes::Bytes;

use super::{
    driver::{CONNECTION, Driver, delivery, golden, message},
    packets::{acknowledge, subscribe_3, subscribe_5},
};

#[test]
fn the_lower_qos_counts() {
    for (publish_qos, granted, first_byte) in
        [(0, 2, 0x30), (1, 0, 0x30), (1, 1, 0x32), (1, 2, 0x32), (2, 1, 0x32), (2, 2, 0x34)]
    {
        golden(|driver| {
            driver.connected_3();
            let subscription = driver.subscribe(&subscribe_3(1, "a", granted));
            let sent = driver.deliver(delivery(subscription, None, message("a", publish_qos, b"x")));
            assert_eq!(sent[0], first_byte);
            let id: &[u8] = if first_byte == 0x30 { &[] } else { &[0, 1] };
            assert_eq!(sent[2..], [&[0, 1, b'a'], id, b"x"].concat());
            assert!(driver.requests().is_empty());
        });
    }
}

#[test]
fn qos_0_is_settled_at_hand_off() {
    golden(|driver| {
        driver.connected_5(&[]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "$share/g/a", 0));
        assert_eq!(driver.deliver(delivery(subscription, Some(5), message("a", 1, b"x"))), b"\x30\x05\x00\x01a\x00x");
        assert_eq!(driver.settled(), [(5, Outcome::Accepted)]);
    });
}

#[test]
fn qos_1_is_settled_by_puback() {
    golden(|driver| {
        driver.connected_5(&[]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "$share/g/a", 1));
        for delivery_id in 0..3 {
            driver.deliver(delivery(subscription, Some(delivery_id), message("a", 1, b"x")));
        }
        driver.feed(&acknowledge(0x40, 2));
        assert_eq!(driver.settled(), [(1, Outcome::Accepted)]);
        driver.feed(&[0x40, 3, 0, 1, 0x80]);
        assert_eq!(driver.settled(), [(0, Outcome::Rejected)]);
        driver.feed(&[0x40, 3, 0, 3, 0x10]);
        assert_eq!(driver.settled(), [(2, Outcome::Accepted)]);
        // Unknown ones are ignored.
        assert!(driver.feed(&acknowledge(0x40, 3)).is_empty());
        assert!(driver.requests().is_empty() && !driver.endpoint.is_closing());
    });
}

#[test]
fn qos_2_is_settled_by_pubcomp_or_a_failed_pubrec() {
    golden(|driver| {
        driver.connected_5(&[]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "$share/g/a", 2));
        for delivery_id in 0..2 {
            driver.deliver(delivery(subscription, Some(delivery_id), message("a", 2, b"x")));
        }
        assert_eq!(driver.feed(&acknowledge(0x50, 1)), [0x62, 2, 0, 1]);
        assert_eq!(driver.feed(&acknowledge(0x50, 1)), [0x62, 2, 0, 1]);
        assert!(driver.requests().is_empty());
        driver.feed(&acknowledge(0x70, 1));
        assert_eq!(driver.settled(), [(0, Outcome::Accepted)]);
        assert!(driver.feed(&[0x50, 3, 0, 2, 0x97]).is_empty());
        assert_eq!(driver.settled(), [(1, Outcome::Rejected)]);
        assert_eq!(driver.feed(&acknowledge(0x50, 9)), [0x62, 2, 0, 9], "an unknown one is released");
    });
}

#[test]
fn acknowledgements_of_another_qos_are_a_fault() {
    for (qos, before, wrong) in
        [(1, None, 0x50), (1, None, 0x70), (2, None, 0x40), (2, None, 0x70), (2, Some(0x50), 0x40)]
    {
        let mut driver = Driver::new();
        driver.connected_5(&[]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "a", 2));
        driver.deliver(delivery(subscription, None, message("a", qos, b"x")));
        if let Some(first) = before {
            driver.feed(&acknowledge(first, 1));
        }
        assert_eq!(driver.feed(&acknowledge(wrong, 1)), [0xE0, 1, 0x82]);
    }
}

#[test]
fn the_clients_receive_maximum_is_never_exceeded() {
    golden(|driver| {
        driver.connected_5(&[0x21, 0, 2]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "a", 2));
        for body in [&b"1"[..], b"2", b"3", b"4"] {
            let sent = driver.deliver(delivery(subscription, None, message("a", 2, body)));
            assert_eq!(sent.is_empty(), body > b"2".as_slice());
        }
        // QoS 0 is never counted.
        assert!(!driver.deliver(delivery(subscription, None, message("a", 0, b"0"))).is_empty());
        assert_eq!(driver.feed(&acknowledge(0x50, 1)), [0x62, 2, 0, 1]);
        assert_eq!(driver.feed(&acknowledge(0x70, 1)), b"\x34\x07\x00\x01a\x00\x03\x003");
        assert_eq!(driver.feed(&[0x50, 3, 0, 2, 0x80]), b"\x34\x07\x00\x01a\x00\x04\x004");
    });
}

#[test]
fn what_the_broker_does_not_keep_is_dropped_beyond_the_limit_and_counted() {
    let mut driver = Driver::new();
    driver.connected_5(&[0x21, 0, 1]);
    let plain = driver.subscribe(&subscribe_5(1, &[], "a", 1));
    let shared = driver.subscribe(&subscribe_5(2, &[], "$share/g/a", 1));
    for _ in 0..braid_mqtt::limits::PENDING_MESSAGES_MAX + 3 {
        driver.deliver(delivery(plain, None, message("a", 1, b"x")));
    }
    assert_eq!(driver.endpoint.counters().no_room, 2);
    driver.deliver(delivery(shared, Some(0), message("a", 1, b"kept")));
    let retained = Delivery { retained: true, ..delivery(plain, None, message("a", 1, b"kept")) };
    driver.deliver(retained);
    assert_eq!(driver.endpoint.counters().no_room, 2);
}

#[test]
fn the_retain_flag_is_for_new_subscriptions_or_as_published() {
    golden(|driver| {
        driver.connected_5(&[]);
        let plain = driver.subscribe(&subscribe_5(1, &[], "a", 0));
        let as_published = driver.subscribe(&subscribe_5(2, &[], "a/#", 0b1000));
        let first_byte = |driver: &mut Driver, subscription, retained, retain| {
            let message = Message { retain, ..message("a", 0, b"x") };
            driver.deliver(Delivery { retained, ..delivery(subscription, None, message) })[0]
        };
        assert_eq!(first_byte(driver, plain, false, true), 0x30);
        assert_eq!(first_byte(driver, plain, true, true), 0x31);
        assert_eq!(first_byte(driver, as_published, false, true), 0x31);
        assert_eq!(first_byte(driver, as_published, false, false), 0x30);
    });
}

#[test]
fn all_subscription_identifiers_are_sent() {
    golden(|driver| {
        driver.connected_5(&[]);
        let one = driver.subscribe(&subscribe_5(1, &[0x0B, 1], "a/#", 0));
        let two = driver.subscribe(&subscribe_5(2, &[0x0B, 0xFF, 0xFF, 0xFF, 0x7F], "a", 1));
        let both = Delivery { others: Some(Box::new([two])), ..delivery(one, None, message("a", 1, b"x")) };
        let sent = driver.deliver(both);
        assert_eq!(sent, b"\x32\x0E\x00\x01a\x00\x01\x07\x0B\x01\x0B\xFF\xFF\xFF\x7Fx");
    });
}

#[test]
fn deliveries_of_the_session_find_their_subscriptions() {
    golden(|driver| {
        driver.connected_5(&[0x11, 0, 0, 0, 60]);
        driver.subscribe(&subscribe_5(1, &[0x0B, 1], "a/#", 0));
        driver.subscribe(&subscribe_5(2, &[0x0B, 2], "+", 1));
        driver.subscribe(&subscribe_5(3, &[0x0B, 3], "$share/g/a", 2));
        driver.subscribe(&subscribe_5(4, &[0x0B, 4], "a", 0b110));
        let own = Message { publisher: CONNECTION, ..message("a", 2, b"x") };
        let sent = driver.deliver(delivery(SubscriptionId::SESSION, Some(0), own));
        assert_eq!(sent, b"\x32\x0B\x00\x01a\x00\x01\x04\x0B\x01\x0B\x02x");
        let sent = driver.deliver(delivery(SubscriptionId::SESSION, Some(1), message("a", 2, b"x")));
        assert_eq!(sent, b"\x34\x0D\x00\x01a\x00\x02\x06\x0B\x01\x0B\x02\x0B\x04x");
        // Nothing matches (any more): it is done with, and counted.
        assert!(driver.deliver(delivery(SubscriptionId::SESSION, Some(2), message("b/c", 1, b""))).is_empty());
        assert_eq!(driver.settled(), [(2, Outcome::Accepted)]);
        assert_eq!(driver.endpoint.counters().unmatched, 1);
    });
}

#[test]
fn properties_are_sent_as_they_came_to_mqtt_5_only() {
    let header = b"\x26\x00\x01k\x00\x01b\x01\x01\x26\x00\x01k\x00\x01a";
    golden(|driver| {
        driver.connected_5(&[]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "a", 0));
        let with_header = Message { header: Bytes::from_static(header), ..message("a", 0, b"x") };
        let sent = driver.deliver(delivery(subscription, None, with_header));
        assert_eq!(sent, [b"\x30\x15\x00\x01a\x10", &header[..], b"x"].concat());
    });
    golden(|driver| {
        driver.connected_3();
        let subscription = driver.subscribe(&subscribe_3(1, "a", 0));
        let with_header = Message { header: Bytes::from_static(header), ..message("a", 0, b"x") };
        assert_eq!(driver.deliver(delivery(subscription, None, with_header)), b"\x30\x04\x00\x01ax");
    });
}

#[test]
fn the_expiry_is_counted_down_and_nothing_expired_is_sent() {
    golden(|driver| {
        driver.connected_5(&[0x21, 0, 1]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "a", 1));
        let expiring = |expires_at, qos| Message {
            header: Bytes::from_static(&[0x02, 0, 0, 0, 120]),
            expires_at: Some(Timestamp(expires_at)),
            ..message("a", qos, b"x")
        };
        let sent = driver.deliver(delivery(subscription, None, expiring(1_089_001, 0)));
        assert_eq!(sent, b"\x30\x0A\x00\x01a\x05\x02\x00\x00\x00\x5Ax");
        assert!(driver.deliver(delivery(subscription, Some(0), expiring(1_000_000, 0))).is_empty());
        assert_eq!(driver.settled(), [(0, Outcome::Accepted)]);
        // One expires while it waits.
        driver.deliver(delivery(subscription, None, message("a", 1, b"x")));
        assert!(driver.deliver(delivery(subscription, Some(1), expiring(1_002_000, 1))).is_empty());
        driver.deliver(delivery(subscription, Some(2), expiring(1_004_000, 1)));
        driver.now += 3_000;
        assert_eq!(driver.feed(&acknowledge(0x40, 1)), b"\x32\x0C\x00\x01a\x00\x03\x05\x02\x00\x00\x00\x01x");
        assert_eq!(driver.settled(), [(1, Outcome::Accepted)]);
        assert_eq!(driver.endpoint.counters().expired, 2);
    });
}

#[test]
fn what_is_larger_than_the_client_takes_is_dropped_and_done_with() {
    golden(|driver| {
        driver.connected_5(&[0x27, 0, 0, 0, 30]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "a", 1));
        let sized = |size: usize| Message { body: Bytes::from(vec![b'x'; size]), ..message("a", 1, b"") };
        // Length 1, topic 3, identifier 2, properties 1; the first byte is not counted.
        assert_eq!(driver.deliver(delivery(subscription, Some(0), sized(23))).len(), 31);
        assert!(driver.deliver(delivery(subscription, Some(1), sized(24))).is_empty());
        assert_eq!(driver.settled(), [(1, Outcome::Accepted)]);
        assert_eq!(driver.endpoint.counters().too_large, 1);
        // Its identifier was used up, as with Mosquitto.
        assert_eq!(driver.deliver(delivery(subscription, Some(2), sized(0)))[5..7], [0, 3]);
    });
}

#[test]
fn aliases_stand_for_topics_where_the_client_wants_them() {
    golden(|driver| {
        driver.connected_5(&[0x22, 0, 1]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "#", 0));
        let mut send = |topic| driver.deliver(delivery(subscription, None, message(topic, 0, b"x")));
        assert_eq!(send("a"), b"\x30\x08\x00\x01a\x03\x23\x00\x01x");
        assert_eq!(send("a"), b"\x30\x07\x00\x00\x03\x23\x00\x01x");
        assert_eq!(send("b"), b"\x30\x05\x00\x01b\x00x");
    });
}

#[test]
fn large_bodies_go_out_without_a_copy() {
    let mut driver = Driver::new();
    driver.connected_3();
    let subscription = driver.subscribe(&subscribe_3(1, "a", 0));
    let body = Bytes::from(vec![7; 100_000]);
    let large = Message { body: body.clone(), ..message("a", 0, b"") };
    driver.endpoint.handle(Timestamp(0), braid_types::Event::Deliver(delivery(subscription, None, large)));
    assert!(driver.endpoint.transmit().pieces().any(|piece| piece.as_ptr() == body.as_ptr()));
}

#[test]
fn a_message_of_a_queue_names_the_queue() {
    let mut driver = Driver::new();
    driver.connected_3();
    let subscription = driver.subscribe(&subscribe_3(1, "$queue/q", 0));
    let queued = Message { exchange: Bytes::new(), ..message("q", 0, b"x") };
    assert_eq!(driver.deliver(delivery(subscription, None, queued)), b"\x30\x0B\x00\x08$queue/qx");
}

#[test]
fn messages_are_shared_not_cloned() {
    let mut driver = Driver::new();
    driver.connected_3();
    let subscription = driver.subscribe(&subscribe_3(1, "a", 1));
    let shared = delivery(subscription, None, message("a", 1, b"x"));
    let message = Arc::clone(&shared.message);
    driver.deliver(shared);
    assert_eq!(Arc::strong_count(&message), 2);
    driver.feed(&acknowledge(0x40, 1));
    assert_eq!(Arc::strong_count(&message), 1);
}
