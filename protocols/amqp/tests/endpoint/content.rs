//! Messages on their way out: the same bytes as came in, split to the frame size, with delivery counts.

use braid_amqp::{
    field_table,
    method::{basic, connection},
    properties::View,
};
use braid_types::{Delivery, Endpoint, Event, HeaderValue, Message};
use bytes::Bytes;

use crate::driver::{delivery, golden, message, once, text};

/// A header table with every letter, content type and priority.
const BLOCK: &[u8] = b"\xa8\x00\x01t\x00\x00\x00\x0b\x01ab\xff\x01bB\x80\x01cV\x07";

#[test]
fn an_amqp_message_is_passed_on_verbatim_until_it_was_returned() {
    golden(|driver| {
        driver.open();
        driver.open_channel(1);
        let subscription = driver.consume(1, &basic::Consume { queue: text("q"), ..Default::default() });
        let message = Message { header: Bytes::from_static(BLOCK), ..message("x", "k", b"body") };
        let first = delivery(subscription, 0, message.clone());
        let again = Delivery { delivery_count: 3, redelivered: true, ..delivery(subscription, 1, message) };
        driver.events([Event::Deliver(first), Event::Deliver(again)]);
        let (_, header, body) = driver.expect_delivery(1);
        assert_eq!((header.as_ref(), body.as_ref()), (BLOCK, &b"body"[..]));
        let (_, header, _) = driver.expect_delivery(1);
        let view = View::parse(&header).unwrap();
        assert_eq!((view.content_type, view.priority), (Some(&b"t"[..]), Some(7)));
        let raw = view.headers.unwrap();
        assert_eq!(raw[..11], BLOCK[8..19], "the publisher's fields keep their bytes");
        let table = field_table::decode(raw, &header).unwrap();
        assert_eq!(table.last(), Some(&(text("x-delivery-count"), HeaderValue::Integer(3))));
    });
}

#[test]
fn large_bodies_are_not_copied() {
    once(|driver| {
        driver.open_with(&connection::TuneOk { channel_max: 0, frame_max: 8192, heartbeat: 0 });
        driver.open_channel(1);
        let subscription = driver.consume(1, &basic::Consume { queue: text("q"), ..Default::default() });
        let message = message("", "q", &[7; 20_000]);
        let body = message.body.as_ptr();
        driver.connection_handle_without_write(Event::Deliver(delivery(subscription, 0, message)));
        let pieces: Vec<_> = driver.connection.transmit().pieces().map(<[u8]>::as_ptr).collect();
        assert!(pieces.contains(&body) && pieces.contains(&body.wrapping_add(8184)));
    });
}
