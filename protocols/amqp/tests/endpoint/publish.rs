//! Publishing and returns.

use std::sync::Arc;

use braid_amqp::{
    frame::FrameKind,
    method::{basic, channel},
};
use braid_types::{ConnectionId, Event, Message, Protocol, Publish, Refusal, RefusalKind, Request, Timestamp};
use bytes::Bytes;

use crate::driver::{
    Driver, frame_bytes, golden, header_bytes, method_bytes, once, publish, publish_bytes, publish_frames, text,
};

fn start(driver: &mut Driver) {
    driver.open();
    driver.open_channel(1);
}

fn published(driver: &mut Driver) -> Publish {
    match driver.request() {
        Request::Publish(publish) => publish,
        other => panic!("not a publish: {other:?}"),
    }
}

/// Content type, headers `k` = 128 as `B`, delivery mode 2, priority 5, expiration 1500.
const BLOCK: &[u8] = b"\xb9\x00\x01t\x00\x00\x00\x04\x01kB\x80\x02\x05\x041500";

#[test]
fn a_message_keeps_its_bytes() {
    golden(|driver| {
        start(driver);
        driver.send(&publish_bytes(1, "x", "a.b", BLOCK, b"hello"));
        let publish = published(driver);
        let expected = Message {
            exchange: text("x"),
            key: text("a.b"),
            header: Bytes::from_static(BLOCK),
            body: text("hello"),
            qos: 1,
            priority: 5,
            expires_at: Some(Timestamp(1_001_500)),
            received_at: Timestamp(1_000_000),
            publisher: ConnectionId(77),
            ..Message::empty(Protocol::Amqp)
        };
        assert_eq!(*publish.message, expected);
        assert_eq!((publish.ticket, publish.mandatory), (None, false));
        driver.expect_silence();
    });
}

#[test]
fn bodies_come_in_any_number_of_frames() {
    golden(|driver| {
        start(driver);
        driver.send(&publish_bytes(1, "", "q", &[0, 0], b""));
        assert_eq!(published(driver).message.body, "");
        let pieces = [
            method_bytes(1, &publish("", "q")),
            header_bytes(1, 9, &[0, 0]),
            frame_bytes(FrameKind::Body, 1, b"abc"),
            frame_bytes(FrameKind::Body, 1, b""),
            frame_bytes(FrameKind::Heartbeat, 0, b""),
            frame_bytes(FrameKind::Body, 1, b"defgh"),
            frame_bytes(FrameKind::Body, 1, b"i"),
        ];
        driver.send(&pieces.concat());
        assert_eq!(published(driver).message.body, "abcdefghi");
    });
}

#[test]
fn contents_of_channels_interleave() {
    golden(|driver| {
        start(driver);
        driver.open_channel(2);
        let pieces = [
            method_bytes(1, &publish("", "one")),
            method_bytes(2, &publish("", "two")),
            header_bytes(2, 2, &[0, 0]),
            header_bytes(1, 2, &[0, 0]),
            frame_bytes(FrameKind::Body, 1, b"1"),
            frame_bytes(FrameKind::Body, 2, b"22"),
            frame_bytes(FrameKind::Body, 1, b"1"),
        ];
        driver.send(&pieces.concat());
        let (first, second) = (published(driver), published(driver));
        assert_eq!((&first.message.key, &first.message.body), (&text("two"), &text("22")));
        assert_eq!((&second.message.key, &second.message.body), (&text("one"), &text("11")));
    });
}

#[test]
fn one_frame_bodies_are_slices_of_the_read_buffer() {
    once(|driver| {
        start(driver);
        driver.send(&publish_bytes(1, "x", "k", BLOCK, b"hello"));
        let message = published(driver).message;
        let distance = message.body.as_ptr() as usize - message.exchange.as_ptr() as usize;
        assert!(distance < 200, "all parts lie in one buffer");
    });
}

#[test]
fn an_unroutable_mandatory_message_comes_back() {
    golden(|driver| {
        start(driver);
        let mandatory = basic::Publish { mandatory: true, ..publish("x", "k") };
        driver.send(&publish_frames(1, &mandatory, BLOCK, b"hello"));
        let publish = published(driver);
        assert!(publish.mandatory && publish.ticket.is_none());
        let (channel, message) = (publish.channel, publish.message);
        driver.event(Event::Returned { ticket: None, channel, message, refusal: None });
        let returned = driver.expect::<basic::Return>(1);
        assert_eq!((returned.reply_code, returned.reply_text), (312, text("NO_ROUTE")));
        assert_eq!((returned.exchange, returned.routing_key), (text("x"), text("k")));
        let (header, body) = driver.expect_content(1);
        assert_eq!((header, body.concat()), (Bytes::from_static(BLOCK), b"hello".to_vec()));
    });
}

#[test]
fn a_missing_exchange_closes_the_channel_and_what_is_in_flight_is_discarded() {
    golden(|driver| {
        start(driver);
        let message = publish_bytes(1, "nope", "k", &[0, 0], b"x");
        driver.send(&[message.clone(), message.clone()].concat());
        let (first, second) = (published(driver), published(driver));
        let returned = |publish: Publish| Event::Returned {
            ticket: None,
            channel: publish.channel,
            message: publish.message,
            refusal: Some(Refusal::new(RefusalKind::NotFound, "no exchange 'nope' in vhost '/'")),
        };
        driver.event(returned(first));
        let close = driver.expect_channel_close(1, 404);
        assert_eq!(close.reply_text, "NOT_FOUND - no exchange 'nope' in vhost '/'");
        assert_eq!((close.class_id, close.method_id), (60, 40));
        driver.event(returned(second));
        driver.send(&message);
        driver.send(&[200; 0]);
        driver.expect_no_request();
        driver.expect_silence();
        driver.send_method(1, &channel::CloseOk {});
        driver.open_channel(1);
        driver.send(&publish_bytes(1, "", "q", &[0, 0], b"y"));
        assert_eq!(published(driver).message.body, "y");
    });
}

#[test]
fn a_return_for_a_closed_channel_does_not_reach_its_successor() {
    golden(|driver| {
        start(driver);
        driver.send(&publish_bytes(1, "nope", "k", &[0, 0], b"x"));
        let publish = published(driver);
        driver.send_method(1, &channel::Close::default());
        driver.expect::<channel::CloseOk>(1);
        driver.open_channel(1);
        let refusal = Some(Refusal::new(RefusalKind::NotFound, "no exchange"));
        let message = Arc::clone(&publish.message);
        driver.event(Event::Returned { ticket: None, channel: publish.channel, message, refusal });
        driver.expect_silence();
    });
}

#[test]
fn immediate_is_not_implemented() {
    golden(|driver| {
        start(driver);
        driver.send_method(1, &basic::Publish { immediate: true, ..publish("", "q") });
        let close = driver.expect_close(540);
        assert_eq!(close.reply_text, "NOT_IMPLEMENTED - immediate=true");
        assert_eq!((close.class_id, close.method_id), (60, 40));
    });
}

#[test]
fn a_bad_expiration_is_refused_at_publish() {
    golden(|driver| {
        start(driver);
        driver.send(&publish_bytes(1, "", "q", b"\x01\x00\x03abc", b"x"));
        let close = driver.expect_channel_close(1, 406);
        assert!(close.reply_text.starts_with(b"PRECONDITION_FAILED - invalid expiration 'abc'"), "{close:?}");
        assert_eq!((close.class_id, close.method_id), (60, 40));
        driver.expect_no_request();
    });
}

#[test]
fn a_huge_announced_body_is_refused_at_its_header() {
    golden(|driver| {
        start(driver);
        driver.send_method(1, &publish("", "q"));
        driver.send(&header_bytes(1, u64::MAX, &[0, 0]));
        let close = driver.expect_channel_close(1, 406);
        assert!(close.reply_text.starts_with(b"PRECONDITION_FAILED - message size"), "{close:?}");
    });
}

#[test]
fn a_reply_to_a_topic_goes_to_the_topic_exchange() {
    golden(|driver| {
        start(driver);
        driver.send(&publish_bytes(1, "", "amq.topic/replies.7", &[0, 0], b"x"));
        let message = published(driver).message;
        assert_eq!((&message.exchange, &message.key), (&text("amq.topic"), &text("replies.7")));
    });
}
