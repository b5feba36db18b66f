//! What a session keeps between its connections (MQTT 5, 4.1 and 4.4; CASES 18, 21, 29, 31).

use braid_types::{Delivery, Event, InFlightStage, Outcome, Request, RetainedDelivery, SessionState, SubscriptionId};

use super::{
    driver::{Driver, delivery, golden, message},
    packets::{acknowledge, connect_3, connect_5, publish, subscribe_3, subscribe_5},
};

const SESSION: SubscriptionId = SubscriptionId::SESSION;

/// A client of 3.1.1 with a session that outlives it, subscribed to `a` and `$share/g/s` with QoS 2.
fn lasting(driver: &mut Driver) -> SubscriptionId {
    driver.connect(&connect_3("c", false), None);
    driver.subscribe(&subscribe_3(1, "a", 2));
    driver.subscribe(&subscribe_3(2, "$share/g/s", 2))
}

fn lost(driver: &mut Driver) -> (Vec<(u64, Outcome)>, SessionState) {
    assert!(driver.handle(Event::ConnectionLost).is_empty());
    let mut requests = driver.requests();
    let Some(Request::EndSession { state: Some(state), expiry_s: u32::MAX }) = requests.pop() else {
        panic!("{requests:?}")
    };
    let settled = requests.into_iter().map(|request| match request {
        Request::Settle { key, outcome } => (key.delivery, outcome),
        other => panic!("{other:?}"),
    });
    (settled.collect(), *state)
}

#[test]
fn subscriptions_and_identifiers_are_kept_and_asked_for_again() {
    golden(|driver| {
        driver.connect(&connect_5("c", false, &[0x11, 0, 0, 0, 60]), None);
        driver.subscribe(&subscribe_5(1, &[0x0B, 9], "a/+", 0b1001));
        driver.subscribe(&subscribe_5(2, &[], "$share/g/b", 1));
        driver.feed(&publish(0b100, "t", 7, Some(&[]), b"x"));
        driver.requests();
        driver.handle(Event::ConnectionLost);
        let (state, expiry_s) = driver.ended();
        let state = state.expect("a state");
        assert_eq!((expiry_s, &state.unreleased[..], state.next_subscription), (60, &[7][..], 3));

        let mut again = Driver::new();
        again.connect(&connect_5("c", false, &[0x11, 0, 0, 0, 60]), Some(state));
        let subscribed: Vec<_> = again
            .requests()
            .into_iter()
            .map(|request| match request {
                Request::Subscribe(subscribe) => {
                    assert_eq!(subscribe.retained, RetainedDelivery::Skip);
                    (subscribe.subscription.0, subscribe.qos)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(subscribed, [(1, 1), (2, 1)]);
        // The QoS 2 publish that was not released is not published again.
        assert_eq!(again.feed(&publish(0b1100, "t", 7, Some(&[]), b"x")), [0x50, 2, 0, 7]);
        assert!(again.requests().is_empty());
        let sent = again.deliver(delivery(SESSION, None, message("a/b", 0, b"x")));
        assert_eq!(sent, b"\x30\x09\x00\x03a/b\x02\x0B\x09x");
    });
}

#[test]
fn unfinished_deliveries_are_sent_again_under_their_identifiers() {
    golden(|driver| {
        lasting(driver);
        for (key, qos) in [(0, 1), (1, 2), (2, 2), (3, 1)] {
            driver.deliver(delivery(SESSION, Some(key), message("a", qos, b"x")));
        }
        driver.feed(&acknowledge(0x50, 3));
        driver.feed(&acknowledge(0x40, 1));
        assert_eq!(driver.settled(), [(0, Outcome::Accepted)]);
        let (settled, state) = lost(driver);
        assert!(settled.is_empty());
        let stages: Vec<_> = state.in_flight.iter().map(|entry| (entry.packet_id, entry.stage)).collect();
        let expected =
            [(2, InFlightStage::AwaitReceived), (3, InFlightStage::AwaitComplete), (4, InFlightStage::AwaitAck)];
        assert_eq!(stages, expected);

        let mut again = Driver::new();
        let sent = again.connect(&connect_3("c", false), Some(state));
        let resent = b"\x20\x02\x01\x00\x62\x02\x00\x03\x3C\x06\x00\x01a\x00\x02x\x3A\x06\x00\x01a\x00\x04x";
        assert_eq!(sent, resent);
        again.requests();
        // Fresh identifiers go on after them.
        assert_eq!(again.deliver(delivery(SESSION, Some(9), message("a", 1, b"y")))[5..7], [0, 5]);
        again.feed(&acknowledge(0x40, 4));
        again.feed(&acknowledge(0x70, 3));
        assert_eq!(again.settled(), [(3, Outcome::Accepted), (2, Outcome::Accepted)]);
    });
}

#[test]
fn a_smaller_window_of_the_new_connection_holds() {
    let mut driver = Driver::new();
    lasting(&mut driver);
    for key in 0..4 {
        driver.deliver(delivery(SESSION, Some(key), message("a", 1, b"x")));
    }
    let (_, state) = lost(&mut driver);
    let mut again = Driver::new();
    let sent = again.connect(&connect_5("c", false, &[0x21, 0, 2, 0x11, 0, 0, 0, 9]), Some(state));
    let publishes = sent.iter().filter(|byte| **byte == 0x3A).count();
    assert_eq!(publishes, 2);
    again.requests();
    assert_eq!(again.feed(&acknowledge(0x40, 1))[5..7], [0, 3]);
    // The rest is kept when the connection is lost again.
    again.handle(Event::ConnectionLost);
    let requests = again.requests();
    let Some(Request::EndSession { state: Some(state), .. }) = requests.last() else { panic!("{requests:?}") };
    assert_eq!(state.in_flight.iter().map(|entry| entry.packet_id).collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn shared_work_leaves_with_its_connection() {
    golden(|driver| {
        let shared = lasting(driver);
        driver.deliver(delivery(shared, Some(10), message("s", 1, b"one")));
        driver.deliver(delivery(shared, Some(11), message("s", 2, b"two")));
        driver.deliver(delivery(shared, Some(12), message("s", 2, b"received")));
        driver.feed(&acknowledge(0x50, 3));
        let (settled, state) = lost(driver);
        // QoS 1 is released by the subscription's `on_loss`; QoS 2 stays with the session (MQTT 5, 4.8.2).
        assert_eq!(settled, [(11, Outcome::Accepted), (12, Outcome::Accepted)]);
        let kept: Vec<_> = state.in_flight.iter().map(|entry| (entry.packet_id, entry.key)).collect();
        assert_eq!(kept, [(2, None), (3, None)]);
    });
}

#[test]
fn qos_2_of_shared_work_is_rejected_when_the_session_ends_now() {
    golden(|driver| {
        driver.connected_5(&[]);
        let shared = driver.subscribe(&subscribe_5(1, &[], "$share/g/s", 2));
        driver.deliver(delivery(shared, Some(10), message("s", 1, b"one")));
        driver.deliver(delivery(shared, Some(11), message("s", 2, b"two")));
        driver.deliver(delivery(shared, Some(12), message("s", 2, b"received")));
        driver.feed(&acknowledge(0x50, 3));
        driver.handle(Event::ConnectionLost);
        let mut requests = driver.requests();
        assert!(matches!(requests.pop(), Some(Request::EndSession { state: None, expiry_s: 0 })));
        let settled: Vec<_> = requests
            .into_iter()
            .map(|request| match request {
                Request::Settle { key, outcome } => (key.delivery, outcome),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(settled, [(11, Outcome::Rejected), (12, Outcome::Accepted)]);
    });
}

#[test]
fn what_was_never_sent_goes_back_or_is_kept() {
    let mut driver = Driver::new();
    driver.connect(&connect_5("c", false, &[0x21, 0, 1, 0x11, 0xFF, 0xFF, 0xFF, 0xFF]), None);
    let plain = driver.subscribe(&subscribe_5(1, &[], "a", 1));
    driver.deliver(delivery(SESSION, Some(0), message("a", 1, b"sent")));
    driver.deliver(delivery(SESSION, Some(1), message("a", 1, b"waits")));
    let retained = Delivery { retained: true, ..delivery(plain, None, message("a", 1, b"retained")) };
    driver.deliver(retained);
    let (settled, state) = lost(&mut driver);
    assert_eq!(settled, [(1, Outcome::Released)]);
    assert_eq!(state.in_flight.iter().map(|entry| entry.packet_id).collect::<Vec<_>>(), [1, 0]);
    let mut again = Driver::new();
    let sent = again.connect(&connect_3("c", false), Some(state));
    assert_eq!(sent[4..], *b"\x3A\x09\x00\x01a\x00\x01sent\x32\x0D\x00\x01a\x00\x02retained");
}

#[test]
fn a_refused_subscription_of_a_resumed_session_is_gone() {
    let mut driver = Driver::new();
    lasting(&mut driver);
    let (_, state) = lost(&mut driver);
    let mut again = Driver::new();
    again.connect(&connect_3("c", false), Some(state));
    for request in again.requests() {
        let Request::Subscribe(subscribe) = request else { panic!("{request:?}") };
        let refusal = braid_types::Refusal::new(braid_types::RefusalKind::AccessRefused, "");
        again.handle(Event::Completed { ticket: subscribe.ticket, result: Err(refusal) });
    }
    let (_, state) = lost(&mut again);
    assert!(state.subscriptions.is_empty());
    assert_eq!(state.next_subscription, 3);
}
