//! Ends of a connection (MQTT 5, 3.14 and 4.13; CASES 23).

use braid_types::{CloseReason, Endpoint, Event, Request};

use super::{
    driver::{Driver, golden},
    packets::{connect_3, connect_5, packet},
};

#[test]
fn a_normal_disconnect_discards_the_will() {
    golden(|driver| {
        driver.connected_3();
        assert!(driver.feed(&[0xE0, 0, 0xC0, 0]).is_empty(), "what follows DISCONNECT is not read");
        assert!(driver.endpoint.is_closing());
        let requests = driver.requests();
        assert!(matches!(requests[0], Request::DiscardWill));
        assert!(matches!(requests[1], Request::EndSession { state: None, expiry_s: 0 }));
        driver.handle(Event::ConnectionLost);
        assert!(driver.requests().is_empty(), "the session is ended once");
    });
}

#[test]
fn other_disconnects_publish_it() {
    for reason in [0x04, 0x80, 0x81, 0x97, 0x8E, 0xFF] {
        let mut driver = Driver::new();
        driver.connected_5(&[]);
        assert!(driver.feed(&[0xE0, 1, reason]).is_empty());
        driver.ended_for_good();
    }
    for (lose, sent) in [(true, &[][..]), (false, &[0xE0, 1, 0x82])] {
        let mut driver = Driver::new();
        driver.connected_5(&[]);
        let bytes = if lose { driver.handle(Event::ConnectionLost) } else { driver.feed(&[0xF0, 0]) };
        assert_eq!(bytes, sent);
        driver.ended_for_good();
    }
}

#[test]
fn a_disconnect_may_change_the_expiry_but_not_from_nothing() {
    golden(|driver| {
        driver.connect(&connect_5("c", false, &[0x11, 0, 0, 0, 60]), None);
        driver.feed(&[0xE0, 7, 4, 5, 0x11, 0, 0, 0, 5]);
        let (state, expiry_s) = driver.ended();
        assert_eq!((state.is_some(), expiry_s), (true, 5));
    });
    golden(|driver| {
        driver.connect(&connect_5("c", false, &[0x11, 0, 0, 0, 60]), None);
        driver.feed(&[0xE0, 7, 4, 5, 0x11, 0, 0, 0, 0]);
        driver.ended_for_good();
    });
    golden(|driver| {
        driver.connected_5(&[]);
        assert_eq!(driver.feed(&[0xE0, 7, 0, 5, 0x11, 0, 0, 0, 5]), [0xE0, 1, 0x82]);
        driver.ended_for_good();
    });
}

#[test]
fn the_broker_says_why_it_closes() {
    let table = [
        (CloseReason::TakenOver, 0x8E),
        (CloseReason::ShuttingDown, 0x8B),
        (CloseReason::SlowConsumer, 0x97),
        (CloseReason::Administrative, 0x98),
        (CloseReason::Internal, 0x80),
    ];
    for (reason, code) in table {
        let close = || Event::Close { reason, text: String::new() };
        let mut driver = Driver::new();
        driver.connected_5(&[]);
        assert_eq!(driver.handle(close()), [0xE0, 1, code]);
        driver.ended_for_good();
        let mut driver = Driver::new();
        driver.connected_3();
        assert!(driver.handle(close()).is_empty());
        assert!(driver.endpoint.is_closing());
        let mut driver = Driver::new();
        driver.feed(&connect_3("c", true));
        assert_eq!(driver.handle(close()), [0x20, 2, 0, 3]);
    }
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    let sent = driver.handle(Event::Close { reason: CloseReason::ShuttingDown, text: "bye".into() });
    assert_eq!(sent, b"\xE0\x08\x8B\x06\x1F\x00\x03bye");
}

#[test]
fn a_takeover_hands_the_state_over() {
    let mut driver = Driver::new();
    driver.connect(&connect_3("c", false), None);
    driver.handle(Event::Close { reason: CloseReason::TakenOver, text: String::new() });
    let (state, expiry_s) = driver.ended();
    assert_eq!((state.is_some(), expiry_s), (true, u32::MAX));
}

#[test]
fn packets_too_large_are_refused_at_their_length() {
    let mut driver = Driver::with(braid_mqtt::Options {
        packet_bytes_max: 100,
        ..braid_mqtt::Options::new(super::driver::CONNECTION, 1)
    });
    driver.connected_5(&[]);
    assert_eq!(driver.feed(&packet(0x30, &[&[0; 99]])[..2]), [0xE0, 1, 0x95]);
    // Packets that become values have a limit of their own, in length and in filters.
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    assert_eq!(driver.feed(&[0x82, 0xFF, 0xFF, 0xFF, 0x7F]), [0xE0, 1, 0x95]);
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    let filters = b"\x00\x01a\x00".repeat(braid_mqtt::limits::SUBSCRIPTIONS_MAX + 1);
    assert_eq!(driver.feed(&packet(0x82, &[&[0, 1, 0], &filters])), [0xE0, 1, 0x97]);
    let mut driver = Driver::new();
    assert!(driver.feed(&[0x10, 0xFF, 0xFF, 0xFF, 0x7F]).is_empty());
    assert!(driver.endpoint.is_closing());
}
