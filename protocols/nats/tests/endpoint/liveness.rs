//! Time limits, signs of life, and ends from inside.

use std::{collections::VecDeque, time::Instant};

use braid_nats::Options;
use braid_types::{CloseReason, Endpoint, Event};

use crate::driver::{CONNECT, Driver, golden};

fn close(reason: CloseReason) -> Event {
    Event::Close { reason, text: String::new() }
}

#[test]
fn a_client_that_says_nothing_is_cut_off() {
    let mut driver = Driver::new();
    assert_eq!(driver.pass_ms(9_999), "");
    assert_eq!(driver.pass_ms(1), "-ERR 'Authentication Timeout'\r\n");
    assert!(driver.endpoint.is_closing() && driver.endpoint.poll_timeout().is_none());
}

#[test]
fn half_a_handshake_does_not_count() {
    let mut driver = Driver::new();
    for byte in b"CONNECT {\"na" {
        driver.send(&[*byte]);
        driver.pass_ms(500);
    }
    assert_eq!(driver.pass_ms(5_000), "-ERR 'Authentication Timeout'\r\n");
}

#[test]
fn a_quiet_client_is_asked_and_then_stale() {
    let mut driver = Driver::connected(CONNECT);
    assert_eq!(driver.pass_ms(119_999), "");
    assert_eq!(driver.pass_ms(1), "PING\r\n");
    assert_eq!(driver.pass_ms(120_000), "PING\r\n");
    assert_eq!(driver.pass_ms(120_000), "-ERR 'Stale Connection'\r\n");
    assert!(driver.endpoint.is_closing());
}

#[test]
fn a_client_that_answers_stays() {
    let mut driver = Driver::connected(CONNECT);
    for _ in 0..10 {
        let sent = driver.pass_ms(240_001);
        assert!(sent.starts_with("PING\r\n"), "{sent}");
        assert_eq!(driver.talk("PONG\r\n"), "");
    }
    for _ in 0..10 {
        assert_eq!(driver.pass_ms(100_000), "");
        driver.send(b"PUB a 0\r\n\r\n");
    }
}

#[test]
fn pings_can_be_off() {
    let mut driver = Driver::with(Options { ping_interval_ms: 0, ..Options::default() });
    driver.send(CONNECT.as_bytes());
    assert_eq!(driver.endpoint.poll_timeout(), None);
}

#[test]
fn ends_from_inside() {
    let mut driver = Driver::connected(CONNECT);
    assert_eq!(driver.tell(close(CloseReason::SlowConsumer)), "-ERR 'Slow Consumer'\r\n");
    assert!(driver.endpoint.is_closing());
    let mut driver = Driver::connected(CONNECT);
    driver.endpoint.handle(driver.now, close(CloseReason::ShuttingDown));
    let farewell = driver.endpoint.transmit().take();
    assert!(farewell.starts_with(b"INFO {") && farewell.ends_with(b"\"ldm\":true} \r\n"));
    assert!(driver.endpoint.is_closing());
    for reason in [CloseReason::Administrative, CloseReason::Internal, CloseReason::TakenOver] {
        let mut driver = Driver::connected(CONNECT);
        assert_eq!(driver.tell(close(reason)), "");
        assert!(driver.endpoint.is_closing());
    }
    let mut driver = Driver::connected(CONNECT);
    driver.tell(Event::ConnectionLost);
    assert!(driver.endpoint.is_closing());
    assert_eq!(driver.talk("PING\r\n"), "");
    assert!(driver.input.is_empty());
}

#[test]
fn a_fault_waits_for_the_answers_before_it_but_not_for_ever() {
    golden(
        &format!("{CONNECT}SUB a 1\r\nPUB a 1\r\nx\r\nFOO\r\n"),
        "MSG a 1 1\r\nx\r\n-ERR 'Unknown Protocol Operation'\r\n",
    );
    let mut driver = Driver::connected(CONNECT);
    driver.held_events = Some(VecDeque::new());
    assert_eq!(driver.talk("SUB a 1\r\nPING\r\nFOO\r\nPING\r\n"), "");
    assert!(!driver.endpoint.is_closing());
    assert_eq!(driver.pass_ms(4_999), "");
    assert_eq!(driver.pass_ms(1), "-ERR 'Unknown Protocol Operation'\r\n");
    assert!(driver.endpoint.is_closing());
    assert_eq!(driver.release(), "");
}

#[test]
fn an_idle_connection_is_small() {
    assert!(size_of::<braid_nats::Connection>() <= 1024, "{}", size_of::<braid_nats::Connection>());
}

#[test]
fn a_million_bytes_one_by_one_take_no_time() {
    let mut driver = Driver::connected(CONNECT);
    let started = Instant::now();
    driver.send(b"PUB a 1000000\r\n");
    for _ in 0..1_000_000 {
        driver.send(b"x");
    }
    driver.send(b"\r\n");
    assert_eq!(driver.log.len(), 1);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
