//! Bad inputs (CASES, section 4): each ends in a proper close, hurts nothing else, and never panics.

use braid_amqp::{
    frame::FrameKind,
    method::{basic, channel, confirm, connection, exchange, queue},
};
use braid_types::Endpoint;
use bytes::Bytes;

use crate::driver::{
    Driver, frame_bytes, golden, header_bytes, method_bytes, once, publish, publish_bytes, publish_frames, text,
};

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It goes on.
    Lives,
    /// `channel.close` on channel 1.
    Channel(u16),
    /// `connection.close`, then the rest is still read.
    Connection(u16),
    /// `connection.close`, then nothing can be read.
    Unreadable,
}

fn check(name: &str, bytes: &[u8], end: End) {
    golden(|driver| {
        driver.open();
        driver.open_channel(1);
        driver.send(bytes);
        check_end(driver, name, end);
    });
}

fn check_end(driver: &mut Driver, name: &str, end: End) {
    match end {
        End::Lives => driver.open_channel(2),
        End::Channel(code) => {
            driver.expect_channel_close(1, code);
            driver.send_method(1, &channel::CloseOk {});
            driver.open_channel(1);
        }
        End::Connection(code) => {
            driver.expect_close(code);
            assert!(!driver.connection.is_closing(), "{name}");
            driver.send_method(1, &basic::Qos::default());
            driver.send_method(0, &connection::CloseOk {});
            assert!(driver.connection.is_closing(), "{name}");
        }
        End::Unreadable => {
            driver.expect_close(501);
            driver.send_method(0, &connection::CloseOk {});
            driver.pass_ms(1_000);
            assert!(driver.connection.is_closing(), "{name}");
        }
    }
    driver.expect_silence();
}

fn raw(class: u16, method: u16, arguments: &[u8]) -> Bytes {
    let payload = [&class.to_be_bytes()[..], &method.to_be_bytes()[..], arguments].concat();
    frame_bytes(FrameKind::Method, 1, &payload)
}

#[test]
fn every_frame_type_on_every_kind_of_channel() {
    let method = |channel| method_bytes(channel, &basic::Qos::default());
    let cases = [
        ("a channel's method on channel 0", method(0), End::Connection(504)),
        ("a connection's method on a channel", method_bytes(1, &connection::CloseOk {}), End::Connection(503)),
        ("a header on channel 0", header_bytes(0, 0, &[0, 0]), End::Connection(505)),
        ("a body on channel 0", frame_bytes(FrameKind::Body, 0, b"x"), End::Connection(505)),
        ("a heartbeat with a payload", frame_bytes(FrameKind::Heartbeat, 0, b"x"), End::Connection(501)),
        ("a header out of place", header_bytes(1, 0, &[0, 0]), End::Connection(505)),
        ("a body out of place", frame_bytes(FrameKind::Body, 1, b"x"), End::Connection(505)),
        ("a heartbeat on a channel", frame_bytes(FrameKind::Heartbeat, 1, b""), End::Connection(505)),
        ("a method on an unopened channel", method(2), End::Connection(504)),
        ("a header on an unopened channel", header_bytes(2, 0, &[0, 0]), End::Connection(504)),
        ("a body on an unopened channel", frame_bytes(FrameKind::Body, 2, b"x"), End::Connection(504)),
        ("a heartbeat on an unopened channel", frame_bytes(FrameKind::Heartbeat, 2, b""), End::Connection(505)),
        ("a close-ok out of the blue", method_bytes(1, &channel::CloseOk {}), End::Connection(503)),
        ("a second connection.open", method_bytes(0, &connection::Open::default()), End::Connection(504)),
        ("a second start-ok", method_bytes(0, &connection::StartOk::default()), End::Connection(504)),
        ("a server's method", method_bytes(1, &basic::GetEmpty::default()), End::Connection(503)),
        ("tx.select", raw(90, 10, &[]), End::Connection(540)),
        ("an unknown class", raw(77, 10, &[]), End::Connection(540)),
        ("an unknown method", raw(60, 99, &[]), End::Connection(503)),
        ("connection.update-secret", frame_bytes(FrameKind::Method, 0, &[0, 10, 0, 70]), End::Connection(540)),
    ];
    for (name, bytes, end) in cases {
        check(name, &bytes, end);
    }
}

#[test]
fn frames_of_a_closing_channel_are_discarded() {
    let frames = [
        method_bytes(1, &basic::Qos::default()),
        header_bytes(1, 9, &[0xff, 0xff]),
        frame_bytes(FrameKind::Body, 1, b"x"),
        frame_bytes(FrameKind::Heartbeat, 1, b""),
        frame_bytes(FrameKind::Method, 1, &[1]),
        publish_bytes(1, "", "q", &[0, 0], b"x"),
    ];
    for bytes in frames {
        golden(|driver| {
            driver.open();
            driver.open_channel(1);
            driver.send_method(1, &basic::Ack { delivery_tag: 9, multiple: false });
            driver.expect_channel_close(1, 406);
            driver.send(&bytes);
            driver.expect_silence();
            driver.expect_no_request();
            driver.send_method(1, &channel::CloseOk {});
            driver.open_channel(1);
        });
    }
}

#[test]
fn broken_frames() {
    let mut bad_end = method_bytes(1, &basic::Qos::default()).to_vec();
    *bad_end.last_mut().unwrap() = 0;
    let cases: [(&str, Vec<u8>, End); 6] = [
        ("a bad end", bad_end, End::Unreadable),
        ("an unknown type", vec![4, 0, 0, 0, 0, 0, 0, 206], End::Unreadable),
        ("an announced 2^32 - 1", vec![1, 0, 1, 255, 255, 255, 255], End::Unreadable),
        ("one byte more than frame_max", [&[3, 0, 1][..], &131_073_u32.to_be_bytes()[..]].concat(), End::Unreadable),
        ("no payload at all", frame_bytes(FrameKind::Method, 1, &[]).to_vec(), End::Connection(501)),
        ("half a method id", frame_bytes(FrameKind::Method, 1, &[0, 60, 0]).to_vec(), End::Connection(501)),
    ];
    for (name, bytes, end) in cases {
        check(name, &bytes, end);
    }
    // RabbitMQ's tolerance: a payload of exactly frame_max.
    once(|driver| {
        driver.open();
        driver.open_channel(1);
        driver.send_method(1, &publish("", "q"));
        driver.send(&header_bytes(1, 131_072, &[0, 0]));
        driver.send(&frame_bytes(FrameKind::Body, 1, &vec![0; 131_072]));
        driver.request();
        driver.expect_silence();
    });
}

#[test]
fn contents_that_do_not_add_up() {
    let begun = method_bytes(1, &publish("", "q"));
    let header = header_bytes(1, 3, &[0, 0]);
    let body = |octets: &[u8]| frame_bytes(FrameKind::Body, 1, octets);
    let with = |rest: &[Bytes]| [std::slice::from_ref(&begun), rest].concat().concat();
    let mut weight = header.to_vec();
    weight[10] = 1;
    let mut class = header.to_vec();
    class[8] = 50;
    let cases = [
        ("more body than announced", with(&[header.clone(), body(b"abcd")]), End::Connection(501)),
        ("more body in the second frame", with(&[header.clone(), body(b"ab"), body(b"cd")]), End::Connection(501)),
        ("less body than announced", with(&[header.clone(), body(b"ab"), begun.clone()]), End::Connection(505)),
        ("no header", with(&[body(b"abc")]), End::Connection(505)),
        ("a method instead of a header", with(std::slice::from_ref(&begun)), End::Connection(505)),
        ("two headers", with(&[header.clone(), header.clone()]), End::Connection(505)),
        ("a weight", with(&[weight.into()]), End::Connection(505)),
        ("another class", with(&[class.into()]), End::Connection(505)),
        ("a short header", with(&[frame_bytes(FrameKind::Header, 1, &[0, 60, 0, 0])]), End::Connection(501)),
        ("a close in a content", with(&[method_bytes(1, &channel::Close::default())]), End::Connection(505)),
    ];
    for (name, bytes, end) in cases {
        check(name, &bytes, end);
    }
}

#[test]
fn properties_that_make_no_sense() {
    let cases: [(&str, &[u8], End); 9] = [
        ("a continuation bit", &[0, 1, 0, 0], End::Connection(502)),
        ("an unknown flag", &[0, 2], End::Connection(502)),
        ("no flags", &[0], End::Connection(501)),
        ("a missing value", &[0x10, 0], End::Connection(501)),
        ("a value too many", &[0, 0, 1], End::Connection(501)),
        ("a table beyond the end", &[0x20, 0, 0, 0, 1, 0], End::Connection(501)),
        ("a field of unknown type", b"\x20\x00\x00\x00\x00\x03\x01kq", End::Connection(502)),
        ("a field without type", b"\x20\x00\x00\x00\x00\x02\x01k", End::Connection(501)),
        ("an expiration that is none", b"\x01\x00\x02-1", End::Channel(406)),
    ];
    for (name, block, end) in cases {
        check(name, &publish_bytes(1, "", "q", block, b""), end);
    }
    let nested = (0..40).fold(Vec::new(), |inner: Vec<u8>, _| {
        [&[1, b'k', b'F'][..], &u32::try_from(inner.len()).unwrap().to_be_bytes()[..], &inner].concat()
    });
    let block = [&[0x20, 0][..], &u32::try_from(nested.len()).unwrap().to_be_bytes()[..], &nested].concat();
    check("nested tables", &publish_bytes(1, "", "q", &block, b""), End::Connection(502));
}

#[test]
fn arguments_that_make_no_sense() {
    let nested_arguments = [&[0, 0, 1, b'q', 0, 0, 0, 0, 3][..], b"\x01kq"].concat();
    let cases = [
        ("arguments cut short", raw(60, 10, &[0, 0]), End::Connection(501)),
        ("arguments too long", raw(60, 10, &[0; 9]), End::Connection(501)),
        ("a string beyond the end", raw(50, 10, &[0, 0, 200, b'q']), End::Connection(501)),
        ("a table field of unknown type", raw(50, 10, &nested_arguments), End::Connection(502)),
    ];
    for (name, bytes, end) in cases {
        check(name, &bytes, end);
    }
}

#[test]
fn odd_but_legal() {
    let long = "n".repeat(255);
    let empty_ack = basic::Ack { delivery_tag: 0, multiple: true };
    check("ack 0 multiple on nothing", &method_bytes(1, &empty_ack), End::Lives);
    golden(|driver| {
        driver.open();
        driver.open_channel(1);
        driver.send(&publish_frames(1, &publish(&long, &long), &[0, 0], b""));
        driver.request();
        driver.send_method(1, &exchange::Declare { exchange: text(&long), kind: text("fanout"), ..Default::default() });
        driver.complete_done();
        driver.expect::<exchange::DeclareOk>(1);
        driver.send_method(1, &confirm::Select::default());
        driver.send_method(1, &confirm::Select::default());
        driver.expect::<confirm::SelectOk>(1);
        driver.expect::<confirm::SelectOk>(1);
    });
}

#[test]
fn tx_inside_confirm_is_not_implemented() {
    let bytes = [method_bytes(1, &confirm::Select { no_wait: true }), raw(90, 10, &[])].concat();
    check("tx inside confirm", &bytes, End::Connection(540));
}

#[test]
fn too_many_frames_behind_a_nameless_queue() {
    once(|driver| {
        driver.open();
        driver.open_channel(1);
        driver.send_method(1, &queue::Declare::default());
        let publish = publish_bytes(1, "", "q", &[0, 0], &[0; 100_000]);
        for _ in 0..12 {
            driver.send(&publish);
        }
        driver.expect_close(506);
    });
}

#[test]
fn reply_texts_fit_into_a_short_string() {
    let consume = basic::Consume { queue: text("q"), consumer_tag: text(&"t".repeat(255)), ..Default::default() };
    golden(|driver| {
        driver.open();
        driver.open_channel(1);
        driver.send_method(1, &consume);
        driver.send_method(1, &consume);
        let close = driver.expect_close(530);
        assert_eq!(close.reply_text.len(), 255);
        assert!(close.reply_text.ends_with(b"ttt..."));
    });
}
