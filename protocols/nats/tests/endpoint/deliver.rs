//! `MSG` and `HMSG`, from NATS clients and from the others.

use std::sync::Arc;

use braid_nats::neutral;
use braid_types::{
    Address, DeliveryKey, Endpoint, Event, HeaderValue, Message, Properties, Protocol, ReplyAddress, SubscriptionId,
};
use bytes::Bytes;

use crate::driver::{CONNECT, Driver, delivery, message};

const PLAIN: &str = "CONNECT {\"verbose\":false}\r\n";

fn subscribed(connect: &str) -> Driver {
    let mut driver = Driver::connected(connect);
    driver.send(b"SUB a 9\r\nSUB b 10\r\n");
    driver.log.clear();
    driver
}

fn foreign(origin: Protocol, key: &'static str) -> Message {
    Message { origin, ..message(key, "hi") }
}

#[test]
fn messages_of_nats_clients_are_passed_on_as_they_came() {
    let with_headers = Message {
        header: Bytes::from_static(b"NATS/1.0 100\r\nA:  b\r\n\r\n"),
        reply: Bytes::from_static(b"r"),
        ..message("a", "hi")
    };
    let mut driver = subscribed(CONNECT);
    let expected = "HMSG a 9 r 23 25\r\nNATS/1.0 100\r\nA:  b\r\n\r\nhi\r\n";
    assert_eq!(driver.deliver(1, with_headers.clone()), expected);
    let mut driver = subscribed(PLAIN);
    assert_eq!(driver.deliver(1, with_headers), "MSG a 9 r 2\r\nhi\r\n");
}

#[test]
fn large_bodies_are_not_copied() {
    let mut driver = subscribed(PLAIN);
    let body = Bytes::from(vec![b'x'; 1024 * 1024]);
    let message = Message { body: body.clone(), ..message("a", "") };
    driver.endpoint.handle(driver.now, Event::Deliver(delivery(1, message)));
    assert!(driver.endpoint.transmit().pieces().any(|piece| piece.as_ptr() == body.as_ptr()));
    assert_eq!(driver.endpoint.transmit().size_bytes(), "MSG a 9 1048576\r\n".len() + body.len() + 2);
}

#[test]
fn messages_of_the_others_are_converted() {
    let properties = Properties {
        content_type: Some(Bytes::from_static(b"text/plain")),
        correlation: Some(Bytes::from_static(b"c\r\n")),
        message_id: Some(Bytes::from_static(b"m")),
        reply: Some(ReplyAddress::Topic(Address::from_notation(Protocol::Mqtt, b"reply/here").unwrap())),
        headers: vec![(Bytes::from_static(b"K"), HeaderValue::Text(Bytes::from_static(b"v")))],
        ..Properties::default()
    };
    let mut crossing = delivery(1, foreign(Protocol::Mqtt, "sensor/1"));
    crossing.properties = Some(Arc::new(properties));
    let mut driver = subscribed(CONNECT);
    let header = "NATS/1.0\r\nContent-Type: text/plain\r\nNats-Msg-Id: m\r\nCorrelation-Id: c%0D%0A\r\nK: v\r\n\r\n";
    let expected = format!("HMSG sensor.1 9 reply.here {} {}\r\n{header}hi\r\n", header.len(), header.len() + 2);
    assert_eq!(driver.tell(Event::Deliver(crossing.clone())), expected);
    let mut driver = subscribed(PLAIN);
    assert_eq!(driver.tell(Event::Deliver(crossing)), "MSG sensor.1 9 reply.here 2\r\nhi\r\n");
}

#[test]
fn a_reply_queue_is_the_subject_of_its_group() {
    let reply = Some(ReplyAddress::Group(Bytes::from_static(b"amq.gen-1")));
    let mut crossing = delivery(1, foreign(Protocol::Amqp, "a.b"));
    crossing.properties = Some(Arc::new(Properties { reply, ..Properties::default() }));
    let mut driver = subscribed(CONNECT);
    assert_eq!(driver.tell(Event::Deliver(crossing)), "MSG a.b 9 $queue.amq.gen-1 2\r\nhi\r\n");
}

#[test]
fn names_that_a_subject_cannot_hold_are_escaped_and_come_back() {
    let mut driver = subscribed(CONNECT);
    assert_eq!(driver.deliver(1, foreign(Protocol::Mqtt, "a b/c.d//*")), "MSG a%20b.c/d.%.%2A 9 2\r\nhi\r\n");
    for name in ["two words", "a..b", "*", "100%", "$share/g/a/+", "a\r\nPUB x 0"] {
        let name = Bytes::from_static(name.as_bytes());
        let reply = Some(ReplyAddress::Group(name.clone()));
        let mut crossing = delivery(1, foreign(Protocol::Amqp, "k"));
        crossing.properties = Some(Arc::new(Properties { reply, ..Properties::default() }));
        let sent = driver.tell(Event::Deliver(crossing));
        let line = sent.lines().next().unwrap();
        let parts: Vec<_> = line.split(' ').collect();
        assert_eq!((parts.len(), sent.lines().count()), (5, 2), "{sent}");
        let subject = Bytes::copy_from_slice(parts.get(3).unwrap().as_bytes());
        let back = neutral(&Message { reply: subject, ..message("k", "") });
        assert_eq!(back.reply, Some(ReplyAddress::Group(name)));
    }
}

#[test]
fn repeated_keys_of_two_protocols_are_not_mixed_up() {
    let mut driver = subscribed(CONNECT);
    for _ in 0..2 {
        assert_eq!(driver.deliver(1, foreign(Protocol::Mqtt, "x/y")), "MSG x.y 9 2\r\nhi\r\n");
        assert_eq!(driver.deliver(1, foreign(Protocol::Mqtt, "x")), "MSG x 9 2\r\nhi\r\n");
        assert_eq!(driver.deliver(1, foreign(Protocol::Amqp, "x")), "MSG x 9 2\r\nhi\r\n");
    }
}

#[test]
fn deliveries_of_groups_that_acknowledge_are_settled_when_written() {
    let keyed = |subscription, message, number| {
        let mut keyed = delivery(subscription, message);
        keyed.key = Some(DeliveryKey { attachment: 1, delivery: number });
        Event::Deliver(keyed)
    };
    let mut driver = subscribed(CONNECT);
    assert_eq!(driver.tell(keyed(1, message("a", "x"), 0)), "MSG a 9 1\r\nx\r\n");
    assert_eq!(driver.tell(keyed(77, message("a", "x"), 1)), "");
    let too_long: &'static str = Box::leak("k".repeat(10_000).into_boxed_str());
    assert_eq!(driver.tell(keyed(1, foreign(Protocol::Mqtt, too_long), 2)), "");
    let settled = |number: u64, outcome: &str| {
        format!("Settle {{ key: DeliveryKey {{ attachment: 1, delivery: {number} }}, outcome: {outcome} }}")
    };
    assert_eq!(driver.log, [settled(0, "Accepted"), settled(1, "Released"), settled(2, "Rejected")]);
    assert_eq!(driver.endpoint.dropped_count(), 2);
}

#[test]
fn one_copy_for_several_subscriptions_is_written_for_each() {
    let mut both = delivery(1, message("a", "x"));
    both.others = Some(Box::new([SubscriptionId(2), SubscriptionId(55)]));
    let mut driver = subscribed(CONNECT);
    assert_eq!(driver.tell(Event::Deliver(both)), "MSG a 9 1\r\nx\r\nMSG a 10 1\r\nx\r\n");
}
