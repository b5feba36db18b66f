//! The ends of channels and connections.

use braid_amqp::method::{basic, channel, connection};
use braid_types::{CloseReason, Completion, Endpoint, Event, Outcome, Request, SubscriptionId, UnackedOnEnd};

use crate::driver::{Driver, deliver, delivery, golden, message, settled, text, ticket_of};

const MODIFIED: UnackedOnEnd = UnackedOnEnd::Settle(Outcome::Modified);

/// A channel with a consumer that holds 1, a cancelled one that holds 2, and a get that holds 3.
fn start(driver: &mut Driver) -> SubscriptionId {
    driver.open();
    driver.open_channel(1);
    let consume = |tag| basic::Consume { queue: text("q"), consumer_tag: text(tag), ..Default::default() };
    let live = driver.consume(1, &consume("live"));
    let gone = driver.consume(1, &consume("gone"));
    deliver(driver, live, [1]);
    deliver(driver, gone, [2]);
    driver.send_method(1, &basic::Cancel { consumer_tag: text("gone"), no_wait: false });
    driver.complete(Ok(Completion::Unsubscribed { existed: true }));
    driver.send_method(1, &basic::Get { queue: text("q"), ..Default::default() });
    let ticket = ticket_of(&driver.request()).unwrap();
    let taken = delivery(SubscriptionId(0), 3, message("", "q", b"3"));
    driver.event(Event::Got { ticket, delivery: Some(Box::new(taken)), remaining: 0 });
    driver.output();
    live
}

fn expect_given_back(driver: &mut Driver, live: SubscriptionId) -> Request {
    assert_eq!(settled(driver), (2, Outcome::Modified));
    assert_eq!(settled(driver), (3, Outcome::Modified));
    let request = driver.request();
    let Request::Unsubscribe { subscription, unacked, .. } = &request else { panic!("{request:?}") };
    assert_eq!((*subscription, *unacked), (live, MODIFIED));
    driver.expect_no_request();
    request
}

#[test]
fn a_closed_channel_gives_back_what_it_holds_before_it_says_so() {
    golden(|driver| {
        let live = start(driver);
        driver.send_method(1, &channel::Close::default());
        let request = expect_given_back(driver, live);
        driver.expect_silence();
        let ticket = ticket_of(&request).unwrap();
        driver.event(Event::Completed { ticket, result: Ok(Completion::Unsubscribed { existed: true }) });
        driver.expect::<channel::CloseOk>(1);
        deliver(driver, live, [9]);
        assert_eq!(settled(driver), (9, Outcome::Released));
        driver.open_channel(1);
    });
}

#[test]
fn a_fault_gives_back_likewise() {
    golden(|driver| {
        let live = start(driver);
        driver.send_method(1, &basic::Ack { delivery_tag: 99, multiple: false });
        driver.expect_channel_close(1, 406);
        let request = expect_given_back(driver, live);
        assert_eq!(ticket_of(&request), None);
    });
}

#[test]
fn a_close_that_crosses_ours_is_answered_and_ours_waits_for_its_answer() {
    golden(|driver| {
        driver.open();
        driver.open_channel(1);
        driver.send_method(1, &basic::Ack { delivery_tag: 1, multiple: false });
        driver.expect_channel_close(1, 406);
        driver.send_method(1, &channel::Close::default());
        driver.expect::<channel::CloseOk>(1);
        driver.send_method(1, &basic::Qos::default());
        driver.expect_silence();
        driver.send_method(1, &channel::CloseOk {});
        driver.open_channel(1);
        assert_eq!(driver.connection.channel_count(), 1);
    });
}

#[test]
fn a_closed_connection_gives_back_before_it_says_so() {
    golden(|driver| {
        let live = start(driver);
        driver.send_method(0, &connection::Close::default());
        let request = expect_given_back(driver, live);
        driver.expect_silence();
        assert!(!driver.connection.is_closing());
        let ticket = ticket_of(&request).unwrap();
        driver.event(Event::Completed { ticket, result: Ok(Completion::Unsubscribed { existed: true }) });
        driver.expect::<connection::CloseOk>(0);
        assert!(driver.connection.is_closing());
    });
}

#[test]
fn a_closed_connection_does_not_wait_for_ever() {
    golden(|driver| {
        start(driver);
        driver.send_method(0, &connection::Close::default());
        driver.pass_ms(9_999);
        driver.expect_silence();
        driver.pass_ms(1);
        driver.expect::<connection::CloseOk>(0);
        assert!(driver.connection.is_closing());
    });
}

#[test]
fn the_node_ends_a_connection_with_a_reason() {
    let cases = [
        (CloseReason::ShuttingDown, 320, "CONNECTION_FORCED - bye"),
        (CloseReason::Administrative, 320, "CONNECTION_FORCED - bye"),
        (CloseReason::Internal, 541, "INTERNAL_ERROR - bye"),
    ];
    for (reason, code, words) in cases {
        golden(|driver| {
            driver.open();
            driver.event(Event::Close { reason, text: "bye".into() });
            assert_eq!(driver.expect_close(code).reply_text, words);
            driver.send_method(1, &channel::Open::default());
            driver.expect_silence();
            assert!(!driver.connection.is_closing());
            driver.send_method(0, &connection::CloseOk {});
            assert!(driver.connection.is_closing());
        });
    }
    golden(|driver| {
        driver.event(Event::Close { reason: CloseReason::ShuttingDown, text: "bye".into() });
        driver.expect_silence();
        assert!(driver.connection.is_closing());
    });
}

#[test]
fn a_client_that_does_not_answer_a_close_is_not_waited_for() {
    golden(|driver| {
        driver.open();
        driver.event(Event::Close { reason: CloseReason::ShuttingDown, text: "bye".into() });
        driver.pass_ms(10_000);
        assert!(driver.connection.is_closing());
    });
}

#[test]
fn a_lost_connection_releases_what_was_not_sent() {
    golden(|driver| {
        driver.open();
        driver.open_channel(1);
        driver.send_method(1, &basic::Qos { prefetch_count: 1, global: true, ..Default::default() });
        driver.expect::<basic::QosOk>(1);
        let subscription = driver.consume(1, &basic::Consume { queue: text("q"), ..Default::default() });
        deliver(driver, subscription, [1, 2]);
        driver.event(Event::ConnectionLost);
        assert_eq!(settled(driver), (2, Outcome::Released));
        driver.expect_no_request();
        assert!(driver.connection.is_closing());
        driver.send(b"anything");
        driver.expect_no_request();
    });
}
