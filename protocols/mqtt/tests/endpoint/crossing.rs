//! Messages of other protocols (SPEC sections 4 and 5; CASES 47, S10).

use std::sync::Arc;

use braid_types::{
    Delivery, Endpoint, HeaderValue, Message, Outcome, Properties, Protocol, ReplyAddress, SubscriptionId, Timestamp,
};
use bytes::Bytes;

use super::{
    driver::{Driver, delivery, golden},
    packets::{subscribe_3, subscribe_5},
};

fn foreign(origin: Protocol, key: &'static [u8]) -> Message {
    Message {
        exchange: Bytes::from_static(b"amq.topic"),
        key: Bytes::from_static(key),
        header: Bytes::from_static(b"the origin's own header"),
        body: Bytes::from_static(b"x"),
        ..Message::empty(origin)
    }
}

fn crossing(subscription: SubscriptionId, message: Message, properties: Properties) -> Delivery {
    Delivery { properties: Some(Arc::new(properties)), ..delivery(subscription, Some(0), message) }
}

#[test]
fn the_address_becomes_a_topic_and_the_properties_theirs() {
    golden(|driver| {
        driver.connected_5(&[]);
        let subscription = driver.subscribe(&subscribe_5(1, &[], "a/b", 1));
        let properties = Properties {
            content_type: Some(Bytes::from_static(b"t")),
            correlation: Some(Bytes::from_static(&[0, 0xFF])),
            reply: Some(ReplyAddress::Group(Bytes::from_static(b"r"))),
            headers: vec![
                (Bytes::from_static(b"k"), HeaderValue::Integer(5)),
                (Bytes::from_static(b"k"), HeaderValue::Text(Bytes::from_static(b"v"))),
            ],
            ..Properties::default()
        };
        let expiring = Message { expires_at: Some(Timestamp(1_001_500)), ..foreign(Protocol::Amqp, b"a.b") };
        let sent = driver.deliver(crossing(subscription, expiring, properties));
        let block = [
            &[0x02, 0, 0, 0, 2][..],
            b"\x03\x00\x01t",
            b"\x08\x00\x08$queue/r",
            b"\x09\x00\x02\x00\xFF",
            b"\x26\x00\x01k\x00\x015",
            b"\x26\x00\x01k\x00\x01v",
        ]
        .concat();
        let length = u8::try_from(block.len()).expect("short");
        let expected = [&[0x32, 9 + length][..], b"\x00\x03a/b\x00\x01", &[length], &block, b"x"].concat();
        assert_eq!(sent, expected);
    });
    golden(|driver| {
        driver.connected_3();
        let subscription = driver.subscribe(&subscribe_3(1, "a/b", 0));
        let sent = driver.deliver(crossing(subscription, foreign(Protocol::Nats, b"a.b"), Properties::default()));
        assert_eq!(sent, b"\x30\x06\x00\x03a/bx");
        assert_eq!(driver.settled(), [(0, Outcome::Accepted)]);
    });
}

#[test]
fn the_session_finds_subscriptions_for_them_too() {
    let mut driver = Driver::new();
    driver.connected_5(&[0x11, 0, 0, 0, 9]);
    driver.subscribe(&subscribe_5(1, &[], "a/+", 1));
    let message = foreign(Protocol::Nats, b"a.b");
    let sent = driver.deliver(crossing(SubscriptionId::SESSION, message, Properties::default()));
    assert_eq!(sent, b"\x32\x09\x00\x03a/b\x00\x01\x00x");
}

#[test]
fn what_is_no_topic_costs_the_message_not_the_client() {
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    let subscription = driver.subscribe(&subscribe_5(1, &[], "#", 0));
    let deep = Message { key: Bytes::from("a.".repeat(200)), ..foreign(Protocol::Amqp, b"") };
    let sent = driver.deliver(crossing(subscription, deep, Properties::default()));
    assert!(sent.is_empty());
    assert_eq!(driver.settled(), [(0, Outcome::Accepted)]);
    assert_eq!(driver.endpoint.counters().unconvertible, 1);
    assert!(!driver.endpoint.is_closing());
}
