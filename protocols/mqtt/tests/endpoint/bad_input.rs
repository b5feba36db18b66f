//! Bytes that no client should send (CASES section 4): each closes its own connection, with the right code.

use braid_mqtt::Fault;
use braid_types::Endpoint;

use super::{
    driver::Driver,
    packets::{block, connect_3, connect_5, packet, publish, subscribe_5, text},
};

/// What MQTT 5 is told, and that MQTT 3 is closed without a word.
fn refused(bytes_5: &[u8], bytes_3: &[u8], code: u8) {
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    assert_eq!(driver.feed(bytes_5), [0xE0, 1, code], "{bytes_5:02x?}");
    assert!(driver.endpoint.is_closing());
    driver.ended_for_good();
    let mut driver = Driver::new();
    driver.connected_3();
    assert!(driver.feed(bytes_3).is_empty(), "{bytes_3:02x?}");
    assert!(driver.endpoint.is_closing());
}

#[test]
fn nothing_comes_before_connect() {
    for first in (0..=0xFF_u8).filter(|first| first >> 4 != 1) {
        let mut driver = Driver::new();
        assert!(driver.feed(&[first]).is_empty());
        assert!(driver.endpoint.is_closing() && driver.requests().is_empty(), "{first:#x}");
    }
}

#[test]
fn types_and_flags() {
    for first in [0x00, 0x10, 0x20, 0x90, 0xB0, 0xD0, 0xF0] {
        refused(&[first, 0], &[first, 0], 0x82);
    }
    for first in [0x41, 0x60, 0x80, 0xA0, 0xC1, 0xE1] {
        refused(&[first, 0], &[first, 0], 0x81);
    }
    refused(&packet(0x36, &[b"\x00\x01a\x00\x01\x00"]), &packet(0x36, &[b"\x00\x01a\x00\x01"]), 0x81);
    refused(&packet(0x38, &[b"\x00\x01a\x00"]), &packet(0x38, &[b"\x00\x01a"]), 0x81);
    refused(&[0xC0, 1, 0], &[0xC0, 1, 0], 0x81);
}

#[test]
fn a_length_of_five_bytes_is_answered_by_a_close() {
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    assert!(driver.feed(&[0x30, 0x80, 0x80, 0x80, 0x80, 0x01]).is_empty());
    assert!(driver.endpoint.is_closing());
    assert!(matches!(driver.endpoint.fault(), Some(Fault::Unanswered(_))));
}

#[test]
fn packet_identifier_0() {
    refused(&publish(0b010, "a", 0, Some(&[]), b""), &publish(0b010, "a", 0, None, b""), 0x82);
    for first in [0x40, 0x50, 0x62, 0x70] {
        refused(&[first, 2, 0, 0], &[first, 2, 0, 0], 0x82);
    }
    refused(&subscribe_5(0, &[], "a", 0), &packet(0x82, &[b"\x00\x00\x00\x01a\x00"]), 0x81);
    refused(&packet(0xA2, &[b"\x00\x00\x00\x00\x01a"]), &packet(0xA2, &[b"\x00\x00\x00\x01a"]), 0x81);
}

#[test]
fn topics() {
    let bad: &[&[u8]] = &[b"", b"a/+", b"#", b"a\0", b"\xED\xA0\x80", b"\xC0\xAF", b"\xFF", b"a\x07"];
    for topic in bad {
        let length = u16::try_from(topic.len()).expect("short").to_be_bytes();
        refused(&packet(0x30, &[&length, topic, &[0], b"x"]), &packet(0x30, &[&length, topic, b"x"]), 0x81);
    }
    let deep = "/".repeat(201);
    refused(&publish(0, &deep, 0, Some(&[]), b""), &publish(0, &deep, 0, None, b""), 0x81);
}

#[test]
fn truncated_and_trailing_bytes() {
    refused(&packet(0x30, &[b"\x00\x05a"]), &packet(0x30, &[b"\x00\x05a"]), 0x81);
    refused(&packet(0x40, &[b"\x00"]), &packet(0x40, &[b"\x00"]), 0x81);
    refused(&packet(0x40, &[b"\x00\x01\x00\x00\x00"]), &packet(0x40, &[b"\x00\x01\x00"]), 0x81);
    refused(&packet(0x82, &[b"\x00\x01\x00"]), &packet(0x82, &[b"\x00\x01"]), 0x81);
    refused(&packet(0x82, &[b"\x00\x01\x00\x00\x01a"]), &packet(0x82, &[b"\x00\x01\x00\x01a"]), 0x81);
    refused(&subscribe_5(1, &[], "a", 3), &packet(0x82, &[b"\x00\x01\x00\x01a\x03"]), 0x81);
    refused(&subscribe_5(1, &[], "a", 0x40), &packet(0x82, &[b"\x00\x01\x00\x01a\x04"]), 0x81);
    refused(&packet(0xE0, &[b"\x00\x01"]), &packet(0xE0, &[b"\x00"]), 0x81);
}

#[test]
fn properties_of_a_publish() {
    let table: &[(&[u8], u8)] = &[
        (&[0x01, 2], 0x82),
        (&[0x01, 1, 0x01, 1], 0x82),
        (&[0x01], 0x81),
        (&[0x0B, 1], 0x82),
        (&[0x13, 0, 5], 0x82),
        (&[0x21, 0, 5], 0x82),
        (b"\x08\x00\x01#", 0x82),
        (b"\x08\x00\x00", 0x82),
        (b"\x26\x00\x01k", 0x81),
        (b"\x03\x00\x01\xFF", 0x81),
        (b"\x26\x00\x01\x00\x00\x00", 0x81),
        (&[0x00, 0], 0x81),
        (&[0x7F, 0], 0x81),
        (&[0x80, 0x00, 0], 0x81),
        (&[0x23, 0, 0], 0x94),
        (&[0x23, 0, 1, 0x23, 0, 2], 0x82),
    ];
    for (properties, code) in table {
        let mut driver = Driver::new();
        driver.connected_5(&[]);
        assert_eq!(driver.feed(&publish(0, "a", 0, Some(properties), b"")), [0xE0, 1, *code], "{properties:02x?}");
    }
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    assert_eq!(driver.feed(&packet(0x30, &[b"\x00\x01a\x7Fxx"])), [0xE0, 1, 0x81], "longer than the packet");
}

#[test]
fn properties_of_other_packets() {
    let table: &[(Vec<u8>, u8)] = &[
        (subscribe_5(1, &[0x0B, 0], "a", 0), 0x81),
        (subscribe_5(1, &[0x0B, 0x80, 0x80, 0x80, 0x80, 0x01], "a", 0), 0x81),
        (subscribe_5(1, &[0x0B, 1, 0x0B, 1], "a", 0), 0x82),
        (subscribe_5(1, &[0x01, 1], "a", 0), 0x81),
        (packet(0xA2, &[b"\x00\x01", &block(&[0x0B, 1]), &text("a")]), 0x81),
        (packet(0x40, &[b"\x00\x01\x00", &block(&[0x01, 1])]), 0x82),
        (packet(0x40, &[b"\x00\x01\x55"]), 0x82),
        (packet(0x62, &[b"\x00\x01\x80"]), 0x82),
        (packet(0x70, &[b"\x00\x01\x80"]), 0x82),
    ];
    for (bytes, code) in table {
        let mut driver = Driver::new();
        driver.connected_5(&[]);
        assert_eq!(driver.feed(bytes), [0xE0, 1, *code], "{bytes:02x?}");
    }
}

#[test]
fn connects() {
    let table: &[(Vec<u8>, &[u8])] = &[
        // Receive maximum 0, maximum packet size 0, twice, of another packet, authentication data alone.
        (connect_5("c", true, &[0x21, 0, 0]), &[0x20, 3, 0, 0x82, 0]),
        (connect_5("c", true, &[0x27, 0, 0, 0, 0]), &[0x20, 3, 0, 0x82, 0]),
        (connect_5("c", true, &[0x21, 0, 1, 0x21, 0, 1]), &[0x20, 3, 0, 0x82, 0]),
        (connect_5("c", true, &[0x24, 1]), &[0x20, 3, 0, 0x82, 0]),
        (connect_5("c", true, b"\x16\x00\x01x"), &[0x20, 3, 0, 0x82, 0]),
        (connect_5("c", true, &[0x19, 2]), &[0x20, 3, 0, 0x82, 0]),
        (connect_5("a\0b", true, &[]), &[0x20, 3, 0, 0x85, 0]),
        (connect_3("a\0b", true), &[]),
        // Unknown level, unknown name, reserved flag, will flags without a will, will QoS 3.
        (packet(0x10, &[b"\x00\x04MQTT\x03\x02\x00\x0A\x00\x01c"]), &[0x20, 2, 0, 1]),
        (packet(0x10, &[b"\x00\x04MQTT\x06\x02\x00\x0A\x00\x01c"]), &[0x20, 3, 0, 0x84, 0]),
        (packet(0x10, &[b"\x00\x04HTTP\x04\x02\x00\x0A\x00\x01c"]), &[]),
        (packet(0x10, &[b"\x00\x04MQTT\x04\x03\x00\x0A\x00\x01c"]), &[]),
        (packet(0x10, &[b"\x00\x04MQTT\x05\x0A\x00\x0A\x00\x00\x01c"]), &[0x20, 3, 0, 0x81, 0]),
        (packet(0x10, &[b"\x00\x04MQTT\x05\x1E\x00\x0A\x00\x00\x01c\x00\x00\x01w\x00\x00"]), &[0x20, 3, 0, 0x81, 0]),
        (packet(0x10, &[b"\x00\x04MQTT\x05\x06\x00\x0A\x00\x00\x01c\x00\x00\x01#\x00\x00"]), &[]),
        (packet(0x10, &[b"\x00\x04MQTT\x05\x06\x00\x0A\x00\x00\x01c\x00", &text("$CONTROL/x"), b"\x00\x00"]), &[]),
        (packet(0x10, &[b"\x00\x04MQTT\x04\x02\x00\x0A\x00\x01cx"]), &[]),
        (packet(0x11, &[b"\x00\x04MQTT\x04\x02\x00\x0A\x00\x01c"]), &[]),
    ];
    for (bytes, expected) in table {
        let mut driver = Driver::new();
        assert_eq!(driver.feed(bytes), *expected, "{bytes:02x?}");
        assert!(driver.endpoint.is_closing() && driver.requests().is_empty());
    }
}
