//! Heartbeats both ways, and being told that publishes are held back.

use braid_amqp::{frame::FrameKind, method::connection};
use braid_types::{Endpoint, Event, Headers};

use crate::driver::{Driver, client_properties, frame_bytes, golden, text};

fn open(driver: &mut Driver, heartbeat: u16) {
    driver.open_with(&connection::TuneOk { channel_max: 0, frame_max: 0, heartbeat });
}

fn expect_heartbeat(driver: &mut Driver) {
    let frame = driver.frame().expect("a heartbeat");
    assert_eq!((frame.kind, frame.channel, frame.payload.len()), (FrameKind::Heartbeat, 0, 0));
}

#[test]
fn heartbeats_go_out_at_half_the_interval_when_idle() {
    golden(|driver| {
        open(driver, 10);
        driver.pass_ms(4_999);
        driver.expect_silence();
        driver.pass_ms(1);
        expect_heartbeat(driver);
        driver.send(&frame_bytes(FrameKind::Heartbeat, 0, &[]));
        driver.pass_ms(3_000);
        driver.open_channel(1);
        driver.pass_ms(4_999);
        driver.expect_silence();
        driver.pass_ms(1);
        expect_heartbeat(driver);
        driver.expect_silence();
    });
}

#[test]
fn two_silent_intervals_end_the_connection() {
    golden(|driver| {
        open(driver, 10);
        driver.pass_ms(19_999);
        assert!(!driver.connection.is_closing());
        driver.send(&frame_bytes(FrameKind::Heartbeat, 0, &[]));
        driver.pass_ms(19_999);
        assert!(!driver.connection.is_closing());
        driver.pass_ms(1);
        assert!(driver.connection.is_closing());
        assert_eq!(driver.connection.poll_timeout(), None);
    });
}

#[test]
fn zero_means_none() {
    golden(|driver| {
        open(driver, 0);
        driver.pass_ms(1_000_000);
        driver.expect_silence();
        assert!(!driver.connection.is_closing());
    });
}

#[test]
fn blocked_is_told_once_to_those_who_can_hear_it() {
    let blocked = |blocked| Event::Blocked { blocked, reason: "low on disk".into() };
    golden(|driver| {
        driver.event(blocked(true));
        driver.log_in(client_properties());
        driver.send_method(0, &connection::TuneOk::default());
        driver.send_method(0, &connection::Open { virtual_host: text("/"), ..Default::default() });
        driver.complete_done();
        driver.expect::<connection::OpenOk>(0);
        assert_eq!(driver.expect::<connection::Blocked>(0).reason, "low on disk");
        driver.event(blocked(true));
        driver.expect_silence();
        driver.event(blocked(false));
        driver.expect::<connection::Unblocked>(0);
        driver.event(blocked(false));
        driver.expect_silence();
    });
    golden(|driver| {
        driver.log_in(Headers::new());
        driver.send_method(0, &connection::TuneOk::default());
        driver.send_method(0, &connection::Open { virtual_host: text("/"), ..Default::default() });
        driver.complete_done();
        driver.expect::<connection::OpenOk>(0);
        driver.event(blocked(true));
        driver.event(blocked(false));
        driver.expect_silence();
    });
}
