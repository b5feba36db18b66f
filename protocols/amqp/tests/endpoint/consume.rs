//! Consumers, gets and cancels.

use braid_amqp::method::{basic, channel};
use braid_types::{
    Completion, Event, HeaderValue, Headers, Outcome, RefusalKind, Request, RetainedDelivery, Settlement, Source,
    Subscribe, SubscriptionId, UnackedOnEnd,
};
use bytes::Bytes;

use crate::driver::{Driver, deliver, delivery, golden, key, message, method_bytes, settled, text, ticket_of};

fn start(driver: &mut Driver) {
    driver.open();
    driver.open_channel(1);
}

fn consume(tag: &str) -> basic::Consume {
    basic::Consume { queue: text("q"), consumer_tag: text(tag), ..Default::default() }
}

fn subscribe(driver: &mut Driver) -> Subscribe {
    match driver.complete_done() {
        Request::Subscribe(subscribe) => *subscribe,
        other => panic!("not a subscribe: {other:?}"),
    }
}

#[test]
fn a_consumer_subscribes_and_gets_its_messages() {
    golden(|driver| {
        start(driver);
        driver.send_method(1, &basic::Qos { prefetch_count: 5, ..Default::default() });
        driver.expect::<basic::QosOk>(1);
        let arguments = vec![(text("x-priority"), HeaderValue::Integer(-3))];
        driver.send_method(1, &basic::Consume { exclusive: true, no_local: true, arguments, ..consume("c") });
        let subscribe = subscribe(driver);
        assert_eq!(subscribe.subscription, SubscriptionId(1));
        assert_eq!(subscribe.source, Source::Group { name: text("q") });
        assert_eq!(subscribe.settlement, Settlement::Acknowledged { messages: 5 });
        assert_eq!((subscribe.priority, subscribe.qos, &subscribe.label), (-3, 1, &text("c")));
        assert!(subscribe.exclusive && subscribe.no_local);
        assert_eq!((subscribe.on_loss, subscribe.retained), (Outcome::Modified, RetainedDelivery::Skip));
        assert_eq!(driver.expect::<basic::ConsumeOk>(1).consumer_tag, "c");

        let mut second = delivery(subscribe.subscription, 1, message("x", "k", b"two"));
        second.redelivered = true;
        let first = delivery(subscribe.subscription, 0, message("", "q", b"one"));
        driver.events([Event::Deliver(first), Event::Deliver(second)]);
        let (deliver, header, body) = driver.expect_delivery(1);
        assert_eq!((deliver.consumer_tag, deliver.delivery_tag, deliver.redelivered), (text("c"), 1, false));
        assert_eq!((deliver.exchange, deliver.routing_key), (text(""), text("q")));
        assert_eq!((header, body), (Bytes::from_static(&[0, 0]), text("one")));
        let (deliver, _, body) = driver.expect_delivery(1);
        assert_eq!((deliver.delivery_tag, deliver.redelivered, body), (2, true, text("two")));
        assert_eq!((deliver.exchange, deliver.routing_key), (text("x"), text("k")));
        driver.expect_no_request();
    });
}

#[test]
fn without_acks_messages_are_settled_by_being_sent() {
    golden(|driver| {
        start(driver);
        driver.send_method(1, &basic::Consume { no_ack: true, no_wait: true, ..consume("c") });
        let subscribe = subscribe(driver);
        assert_eq!(subscribe.settlement, Settlement::HandOff);
        driver.expect_silence();
        let mut handed_off = delivery(subscribe.subscription, 0, message("", "q", b"x"));
        handed_off.key = None;
        driver.event(Event::Deliver(handed_off));
        driver.expect_delivery(1);
        driver.send_method(1, &basic::Ack { delivery_tag: 1, multiple: false });
        let close = driver.expect_channel_close(1, 406);
        assert_eq!(close.reply_text, "PRECONDITION_FAILED - unknown delivery tag 1");
    });
}

#[test]
fn tags_are_made_when_empty_and_not_used_twice() {
    golden(|driver| {
        start(driver);
        let mut tags = Vec::new();
        for _ in 0..2 {
            driver.send_method(1, &consume(""));
            subscribe(driver);
            tags.push(driver.expect::<basic::ConsumeOk>(1).consumer_tag);
        }
        assert!(tags[0].starts_with(b"amq.ctag-") && tags[0] != tags[1]);
        driver.send_method(1, &consume("mine"));
        driver.send_method(1, &consume("mine"));
        let close = driver.expect_close(530);
        assert_eq!(close.reply_text, "NOT_ALLOWED - attempt to reuse consumer tag 'mine'");
        assert_eq!((close.class_id, close.method_id), (60, 20));
    });
}

#[test]
fn a_refused_consumer_is_forgotten_with_its_channel() {
    golden(|driver| {
        start(driver);
        driver.send_method(1, &consume("c"));
        driver.refuse(RefusalKind::NotFound, "no queue 'q' in vhost '/'");
        assert_eq!(driver.expect_channel_close(1, 404).reply_text, "NOT_FOUND - no queue 'q' in vhost '/'");
        driver.expect_no_request();
        driver.send_method(1, &channel::CloseOk {});
        driver.open_channel(1);
        driver.consume(1, &consume("c"));
    });
}

#[test]
fn a_bad_priority_argument_is_refused() {
    golden(|driver| {
        start(driver);
        let arguments: Headers = vec![(text("x-priority"), HeaderValue::Text(text("high")))];
        driver.send_method(1, &basic::Consume { arguments, ..consume("c") });
        driver.expect_channel_close(1, 406);
    });
}

#[test]
fn cancel_keeps_what_is_unacked() {
    golden(|driver| {
        start(driver);
        let subscription = driver.consume(1, &consume("c"));
        deliver(driver, subscription, [0]);
        driver.expect_delivery(1);
        driver.send_method(1, &basic::Cancel { consumer_tag: text("c"), no_wait: false });
        driver.expect_silence();
        deliver(driver, subscription, [1]);
        driver.expect_delivery(1);
        let request = driver.complete(Ok(Completion::Unsubscribed { existed: true }));
        let Request::Unsubscribe { unacked: UnackedOnEnd::Keep, .. } = request else { panic!("{request:?}") };
        assert_eq!(driver.expect::<basic::CancelOk>(1).consumer_tag, "c");
        deliver(driver, subscription, [2]);
        driver.expect_silence();
        assert_eq!(settled(driver), (2, Outcome::Released));
        driver.send_method(1, &basic::Ack { delivery_tag: 2, multiple: true });
        assert_eq!(settled(driver), (0, Outcome::Accepted));
        assert_eq!(settled(driver), (1, Outcome::Accepted));
        driver.consume(1, &consume("c"));
    });
}

#[test]
fn cancel_of_nothing_is_answered_and_without_wait_it_is_not() {
    golden(|driver| {
        start(driver);
        driver.send_method(1, &basic::Cancel { consumer_tag: text("none"), no_wait: false });
        assert_eq!(driver.expect::<basic::CancelOk>(1).consumer_tag, "none");
        let subscription = driver.consume(1, &consume("c"));
        driver.send_method(1, &basic::Cancel { consumer_tag: text("c"), no_wait: true });
        let Request::Unsubscribe { ticket: None, .. } = driver.request() else { panic!("no unsubscribe") };
        deliver(driver, subscription, [0]);
        assert_eq!(settled(driver), (0, Outcome::Released));
        driver.expect_silence();
    });
}

#[test]
fn a_tag_is_free_again_as_soon_as_it_is_cancelled() {
    golden(|driver| {
        start(driver);
        driver.consume(1, &consume("c"));
        let cancel = method_bytes(1, &basic::Cancel { consumer_tag: text("c"), no_wait: false });
        driver.send(&[cancel, method_bytes(1, &consume("c"))].concat());
        driver.complete(Ok(Completion::Unsubscribed { existed: true }));
        driver.expect::<basic::CancelOk>(1);
        let subscription = subscribe(driver).subscription;
        driver.expect::<basic::ConsumeOk>(1);
        deliver(driver, subscription, [0]);
        assert_eq!(driver.expect_delivery(1).0.consumer_tag, "c");
    });
}

#[test]
fn the_end_of_a_queue_is_told_to_those_who_can_hear_it() {
    golden(|driver| {
        start(driver);
        let subscription = driver.consume(1, &consume("c"));
        deliver(driver, subscription, [0]);
        driver.expect_delivery(1);
        driver.event(Event::Cancelled { subscription });
        let cancel = driver.expect::<basic::Cancel>(1);
        assert_eq!(cancel, basic::Cancel { consumer_tag: text("c"), no_wait: true });
        driver.send_method(1, &basic::Ack { delivery_tag: 1, multiple: false });
        assert_eq!(settled(driver), (0, Outcome::Accepted));
        driver.consume(1, &consume("c"));
    });
    golden(|driver| {
        driver.log_in(Headers::new());
        driver.send_method(0, &braid_amqp::method::connection::TuneOk::default());
        driver.send_method(0, &braid_amqp::method::connection::Open::default());
        driver.complete_done();
        driver.output();
        driver.open_channel(1);
        let subscription = driver.consume(1, &consume("c"));
        driver.event(Event::Cancelled { subscription });
        driver.expect_silence();
    });
}

#[test]
fn get_takes_one_message() {
    golden(|driver| {
        start(driver);
        let get = basic::Get { queue: text("q"), ..Default::default() };
        driver.send_method(1, &get);
        let request = driver.request();
        let Request::Get { group, settlement, on_loss, .. } = &request else { panic!("no get") };
        assert_eq!((group, *on_loss), (&text("q"), Outcome::Modified));
        assert!(matches!(settlement, Settlement::Acknowledged { .. }));
        let taken = delivery(SubscriptionId(0), 4, message("x", "k", b"body"));
        let ticket = ticket_of(&request).unwrap();
        driver.event(Event::Got { ticket, delivery: Some(Box::new(taken)), remaining: 8 });
        let ok = driver.expect::<basic::GetOk>(1);
        assert_eq!((ok.delivery_tag, ok.redelivered, ok.message_count), (1, false, 8));
        assert_eq!((ok.exchange, ok.routing_key), (text("x"), text("k")));
        assert_eq!(driver.expect_content(1).1.concat(), b"body");
        driver.send_method(1, &basic::Ack { delivery_tag: 1, multiple: false });
        assert!(matches!(driver.request(), Request::Settle { key: settled, .. } if settled == key(4)));

        driver.send_method(1, &basic::Get { no_ack: true, ..get });
        let request = driver.request();
        assert!(matches!(request, Request::Get { settlement: Settlement::HandOff, .. }));
        driver.event(Event::Got { ticket: ticket_of(&request).unwrap(), delivery: None, remaining: 0 });
        driver.expect::<basic::GetEmpty>(1);
    });
}

#[test]
fn a_get_that_races_a_delete_closes_its_channel_and_a_late_one_goes_back() {
    golden(|driver| {
        start(driver);
        let get = basic::Get { queue: text("q"), ..Default::default() };
        driver.send_method(1, &get);
        driver.send_method(1, &get);
        driver.refuse(RefusalKind::NotFound, "no queue 'q' in vhost '/'");
        driver.expect_channel_close(1, 404);
        let request = driver.request();
        let late = delivery(SubscriptionId(0), 4, message("", "q", b"body"));
        let ticket = ticket_of(&request).unwrap();
        driver.event(Event::Got { ticket, delivery: Some(Box::new(late)), remaining: 0 });
        driver.expect_silence();
        assert_eq!(settled(driver), (4, Outcome::Released));
    });
}
