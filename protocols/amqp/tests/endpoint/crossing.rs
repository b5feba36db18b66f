//! Messages of other protocols on their way to AMQP clients.

use std::sync::Arc;

use braid_amqp::{field_table, method::basic, properties::View};
use braid_types::{
    Address, Delivery, Event, HeaderValue, Message, Outcome, Properties, Protocol, ReplyAddress, SubscriptionId,
    Timestamp,
};
use bytes::Bytes;

use crate::driver::{Driver, delivery, golden, settled, text};

fn start(driver: &mut Driver) -> SubscriptionId {
    driver.open();
    driver.open_channel(1);
    driver.consume(1, &basic::Consume { queue: text("q"), ..Default::default() })
}

fn foreign(subscription: SubscriptionId, origin: Protocol, key: &str, properties: Properties) -> Delivery {
    let message = Message {
        exchange: text("amq.topic"),
        key: text(key),
        header: text("opaque"),
        body: text("body"),
        ..Message::empty(origin)
    };
    Delivery { properties: Some(Arc::new(properties)), ..delivery(subscription, 5, message) }
}

#[test]
fn topics_and_subjects_become_routing_keys() {
    golden(|driver| {
        let subscription = start(driver);
        for (origin, key) in [(Protocol::Mqtt, "a/b"), (Protocol::Nats, "a.b")] {
            driver.event(Event::Deliver(foreign(subscription, origin, key, Properties::default())));
            let (deliver, header, body) = driver.expect_delivery(1);
            assert_eq!((deliver.exchange, deliver.routing_key), (text("amq.topic"), text("a.b")));
            assert_eq!((header.as_ref(), body), (&[0, 0][..], text("body")));
        }
    });
}

#[test]
fn neutral_properties_become_amqp_properties() {
    golden(|driver| {
        let subscription = start(driver);
        let properties = Properties {
            content_type: Some(text("application/json")),
            correlation: Some(Bytes::from_static(&[0xff; 300])),
            reply: Some(ReplyAddress::Topic(Address::from_notation(Protocol::Nats, b"r.1").unwrap())),
            expires_at: Some(Timestamp(1_002_000)),
            priority: Some(9),
            headers: vec![(text("h"), HeaderValue::Text(text("v")))],
            ..Properties::default()
        };
        let delivery = Delivery { delivery_count: 2, ..foreign(subscription, Protocol::Mqtt, "t", properties) };
        driver.event(Event::Deliver(delivery));
        let (_, header, _) = driver.expect_delivery(1);
        let view = View::parse(&header).unwrap();
        assert_eq!(view.content_type, Some(&b"application/json"[..]));
        assert_eq!(view.reply_to, Some(&b"amq.topic/r.1"[..]));
        assert_eq!((view.expiration, view.priority, view.correlation_id), (Some(&b"2000"[..]), Some(9), None));
        let table = field_table::decode(view.headers.unwrap(), &header).unwrap();
        let expected = vec![
            (text("h"), HeaderValue::Text(text("v"))),
            (text("x-correlation-id"), HeaderValue::Binary(Bytes::from_static(&[0xff; 300]))),
            (text("x-delivery-count"), HeaderValue::Integer(2)),
        ];
        assert_eq!(table, expected);
    });
}

#[test]
fn a_message_that_amqp_cannot_say_hurts_nobody() {
    golden(|driver| {
        let subscription = start(driver);
        let long = "t/".repeat(200);
        driver.event(Event::Deliver(foreign(subscription, Protocol::Mqtt, &long, Properties::default())));
        driver.expect_silence();
        assert_eq!(settled(driver), (5, Outcome::Rejected));
        assert_eq!(driver.connection.conversion_failures(), 1);
        driver.event(Event::Deliver(foreign(subscription, Protocol::Mqtt, "t", Properties::default())));
        assert_eq!(driver.expect_delivery(1).0.delivery_tag, 1);
    });
}
