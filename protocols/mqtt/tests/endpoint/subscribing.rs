//! SUBSCRIBE and UNSUBSCRIBE (MQTT 5, 3.8 to 3.11 and 4.8.2; CASES 20 to 22).

use braid_types::{
    Completion, Endpoint, Event, Outcome, Refusal, RefusalKind, Request, RetainedDelivery, Settlement, Source,
    SubscriptionId, UnackedOnEnd,
};

use super::{
    driver::{Driver, delivery, done, golden, message},
    packets::{packet, subscribe_3, subscribe_5, text, unsubscribe_5},
};

fn filter(filter: &'static str, share: Option<&'static str>) -> Source {
    Source::Filter { filter: filter.into(), share: share.map(Into::into) }
}

#[test]
fn a_filter_becomes_a_subscription() {
    golden(|driver| {
        driver.connected_5(&[0x21, 0, 5]);
        assert!(driver.feed(&subscribe_5(9, &[0x0B, 1], "a/+", 0b10_1110)).is_empty());
        let subscribe = driver.subscribed();
        assert_eq!((subscribe.subscription, &subscribe.source), (SubscriptionId(1), &filter("a/+", None)));
        assert_eq!(subscribe.settlement, Settlement::Acknowledged { messages: 5 });
        assert_eq!((subscribe.qos, subscribe.no_local), (2, true));
        assert_eq!((subscribe.retained, subscribe.on_loss), (RetainedDelivery::Skip, Outcome::Released));
        assert_eq!(&subscribe.label[..], b"c");
        assert_eq!(driver.handle(done(subscribe.ticket)), [0x90, 4, 0, 9, 0, 2]);
    });
    golden(|driver| {
        driver.connected_3();
        driver.feed(&subscribe_3(9, "a/+", 0));
        let subscribe = driver.subscribed();
        assert_eq!((subscribe.settlement, subscribe.retained), (Settlement::HandOff, RetainedDelivery::Always));
        assert_eq!(driver.handle(done(subscribe.ticket)), [0x90, 3, 0, 9, 0]);
    });
}

#[test]
fn suback_waits_for_every_filter_and_keeps_their_order() {
    golden(|driver| {
        driver.connected_5(&[]);
        let filters = [text("a"), vec![1], text("b"), vec![2], text("c"), vec![0]].concat();
        driver.feed(&packet(0x82, &[&[0, 9, 0], &filters]));
        let tickets: Vec<_> = driver
            .requests()
            .into_iter()
            .map(|request| match request {
                Request::Subscribe(subscribe) => subscribe.ticket,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(driver.handle(done(tickets[2])).is_empty());
        let refusal = Refusal::new(RefusalKind::AccessRefused, "no");
        assert!(driver.handle(Event::Completed { ticket: tickets[1], result: Err(refusal) }).is_empty());
        let suback = driver.handle(done(tickets[0]));
        assert_eq!(suback, b"\x90\x0B\x00\x09\x05\x1F\x00\x02no\x01\x87\x00");
        // What was refused is no subscription.
        assert_eq!(driver.feed(&unsubscribe_5(10, "b")), [0xB0, 4, 0, 10, 0, 0x11]);
    });
}

#[test]
fn refusals_per_version() {
    for (level, code) in [(b"\x00\x06MQIsdp\x03".to_vec(), 1), (b"\x00\x04MQTT\x04".to_vec(), 0x80)] {
        let mut driver = Driver::new();
        driver.connect(&packet(0x10, &[&level, b"\x02\x00\x0A\x00\x01c"]), None);
        driver.feed(&subscribe_3(9, "a", 1));
        let ticket = driver.subscribed().ticket;
        let refusal = Refusal::new(RefusalKind::AccessRefused, "no");
        assert_eq!(driver.handle(Event::Completed { ticket, result: Err(refusal) }), [0x90, 3, 0, 9, code]);
    }
    let mut driver = Driver::new();
    driver.connected_5(&[0x17, 0]);
    driver.feed(&subscribe_5(9, &[], "$share/g/a", 1));
    let ticket = driver.subscribed().ticket;
    let refusal = Refusal::new(RefusalKind::LimitReached, "full");
    let suback = driver.handle(Event::Completed { ticket, result: Err(refusal) });
    assert_eq!(suback, [0x90, 4, 0, 9, 0, 0x97], "no reason string where none is wanted");
}

#[test]
fn subscribing_again_changes_the_options_and_keeps_the_number() {
    golden(|driver| {
        driver.connected_5(&[]);
        assert_eq!(driver.subscribe(&subscribe_5(1, &[], "a", 0)), SubscriptionId(1));
        assert_eq!(driver.subscribe(&subscribe_5(2, &[], "b", 0)), SubscriptionId(2));
        driver.feed(&subscribe_5(3, &[], "a", 0b01_0001));
        let again = driver.subscribed();
        assert_eq!((again.subscription, again.qos), (SubscriptionId(1), 1));
        assert_eq!(again.retained, RetainedDelivery::Skip, "retain handling 1, and it existed");
        driver.handle(done(again.ticket));
        driver.feed(&subscribe_5(4, &[], "c", 0b01_0000));
        assert_eq!(driver.subscribed().retained, RetainedDelivery::IfNew);
    });
}

#[test]
fn shared_filters_are_split_in_every_version() {
    golden(|driver| {
        driver.connected_3();
        driver.feed(&subscribe_3(1, "$share/g//a/+", 1));
        let subscribe = driver.subscribed();
        assert_eq!(subscribe.source, filter("/a/+", Some("g")));
        assert_eq!(subscribe.retained, RetainedDelivery::Skip);
        driver.feed(&subscribe_3(2, "$queue/jobs.a", 1));
        assert_eq!(driver.subscribed().source, Source::Group { name: "jobs.a".into() });
    });
}

#[test]
fn a_bridge_gets_nothing_back_and_flags_as_published() {
    for level in [&b"\x00\x06MQIsdp\x83"[..], b"\x00\x04MQTT\x84"] {
        let mut driver = Driver::new();
        assert_eq!(driver.connect(&packet(0x10, &[level, b"\x02\x00\x0A\x00\x01c"]), None), [0x20, 2, 0, 0]);
        driver.feed(&subscribe_3(1, "a", 0));
        let subscribe = driver.subscribed();
        assert!(subscribe.no_local);
        driver.handle(done(subscribe.ticket));
        let retained = braid_types::Message { retain: true, ..message("a", 0, b"x") };
        assert_eq!(driver.deliver(delivery(subscribe.subscription, None, retained))[0], 0x31);
    }
}

#[test]
fn malformed_filters_close() {
    for bad in ["$share", "$share/", "$share/g", "$share//a", "$share/g/", "$share/g+/a", "a#", "a/#/b", "a\u{1}", ""] {
        let mut driver = Driver::new();
        driver.connected_5(&[]);
        let sent = driver.feed(&subscribe_5(1, &[], bad, 1));
        assert!(sent == [0xE0, 1, 0x81] || sent == [0xE0, 1, 0x82], "{bad}: {sent:?}");
        assert!(driver.endpoint.is_closing());
        driver.ended_for_good();
        let mut driver = Driver::new();
        driver.connected_3();
        assert!(driver.feed(&subscribe_3(1, bad, 1)).is_empty());
        assert!(driver.endpoint.is_closing());
    }
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    assert_eq!(driver.feed(&subscribe_5(1, &[], "$share/g/a", 0b101)), [0xE0, 1, 0x82], "no local on $share");
}

#[test]
fn unsuback_tells_what_existed() {
    golden(|driver| {
        driver.connected_5(&[]);
        let plain = driver.subscribe(&subscribe_5(1, &[], "a/b", 1));
        let shared = driver.subscribe(&subscribe_5(2, &[], "$share/g/a/b", 1));
        let filters = [text("$share/g/a/b"), text("nothing")].concat();
        assert!(driver.feed(&packet(0xA2, &[&[0, 3, 0], &filters])).is_empty());
        let Request::Unsubscribe { ticket: Some(ticket), subscription, unacked } = driver.request() else {
            panic!("no unsubscribe")
        };
        assert_eq!((subscription, unacked), (shared, UnackedOnEnd::Keep));
        let gone = Event::Completed { ticket, result: Ok(Completion::Unsubscribed { existed: true }) };
        assert_eq!(driver.handle(gone), [0xB0, 5, 0, 3, 0, 0, 0x11]);
        // The plain one is another subscription.
        let sent = driver.deliver(delivery(plain, None, message("a/b", 0, b"x")));
        assert_eq!(sent, b"\x30\x07\x00\x03a/b\x00x");
        assert_eq!(driver.feed(&unsubscribe_5(4, "$share/g/a/b")), [0xB0, 4, 0, 4, 0, 0x11]);
    });
}

#[test]
fn shared_work_that_was_not_sent_goes_back_at_unsubscribe() {
    golden(|driver| {
        driver.connected_5(&[0x21, 0, 1]);
        let shared = driver.subscribe(&subscribe_5(1, &[], "$share/g/a", 1));
        assert!(!driver.deliver(delivery(shared, Some(0), message("a", 1, b"x"))).is_empty());
        assert!(driver.deliver(delivery(shared, Some(1), message("a", 1, b"y"))).is_empty());
        driver.feed(&unsubscribe_5(2, "$share/g/a"));
        let requests = driver.requests();
        assert!(matches!(requests[0], Request::Unsubscribe { .. }));
        assert!(
            matches!(&requests[1], Request::Settle { key, outcome: Outcome::Released } if key.delivery == 1),
            "{requests:?}"
        );
        // One that crosses with the unsubscribe goes back too; the one that was sent is completed.
        driver.deliver(delivery(shared, Some(2), message("a", 1, b"z")));
        assert_eq!(driver.settled(), [(2, Outcome::Released)]);
        driver.feed(&[0x40, 2, 0, 1]);
        assert_eq!(driver.settled(), [(0, Outcome::Accepted)]);
    });
}

#[test]
fn subscriptions_are_limited() {
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    for number in 0..braid_mqtt::limits::SUBSCRIPTIONS_MAX {
        driver.subscribe(&subscribe_5(1, &[], &format!("a/{number}"), 0));
    }
    assert_eq!(driver.feed(&subscribe_5(2, &[], "b", 0)), [0x90, 4, 0, 2, 0, 0x97]);
    driver.feed(&subscribe_5(3, &[], "a/0", 1));
    driver.subscribed();
}

#[test]
fn a_deleted_group_ends_the_connection() {
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    let subscription = driver.subscribe(&subscribe_5(1, &[], "$queue/q", 1));
    let sent = driver.handle(Event::Cancelled { subscription });
    assert_eq!((sent[0], sent[2]), (0xE0, 0x98));
    assert!(driver.endpoint.is_closing());
}
