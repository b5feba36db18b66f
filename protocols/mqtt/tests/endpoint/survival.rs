//! Whatever comes in, and whatever the broker says, the endpoint neither panics nor grows without bound, and split input
//! means the same. Random bytes, and valid conversations with bytes changed.

use std::sync::Arc;

use braid_types::{
    CloseReason, Completion, Delivery, DeliveryKey, Endpoint, Event, Message, Protocol, PublishResult, Request,
    SubscriptionId,
};
use bytes::Bytes;
use proptest::prelude::*;

use super::{
    driver::Driver,
    packets::{acknowledge, connect_3, connect_5, packet, publish, subscribe_3, subscribe_5, unsubscribe_5},
};

/// A broker that agrees to everything and sends back what is published, until nothing is asked any more. Gives what the
/// endpoint sends.
fn agree(driver: &mut Driver) -> Vec<u8> {
    let mut sent = Vec::new();
    for _ in 0..50 {
        for request in driver.requests() {
            agree_to(driver, request, &mut sent);
        }
    }
    sent
}

fn agree_to(driver: &mut Driver, request: Request, sent: &mut Vec<u8>) {
    let event = match request {
        Request::Authenticate(authenticate) => {
            let identity = braid_types::Identity { user: Bytes::new(), vhost: Bytes::new() };
            Event::Authenticated { ticket: authenticate.ticket, result: Ok(identity) }
        }
        Request::OpenSession(open) => Event::SessionOpened { ticket: open.ticket, result: Ok(None) },
        Request::Subscribe(subscribe) => Event::Completed { ticket: subscribe.ticket, result: Ok(Completion::Done) },
        Request::Unsubscribe { ticket: Some(ticket), .. } => {
            Event::Completed { ticket, result: Ok(Completion::Unsubscribed { existed: true }) }
        }
        Request::Publish(publish) => {
            for (subscription, key) in [(0, Some(1)), (1, None), (2, Some(2))] {
                let delivery = Delivery {
                    subscription: SubscriptionId(subscription),
                    others: None,
                    key: key.map(|delivery| DeliveryKey { attachment: 1, delivery }),
                    message: Arc::clone(&publish.message),
                    properties: None,
                    redelivered: false,
                    retained: false,
                    delivery_count: 0,
                };
                sent.extend(driver.handle(Event::Deliver(delivery)));
            }
            let Some(ticket) = publish.ticket else { return };
            Event::Published { ticket, result: PublishResult::Accepted }
        }
        _ => return,
    };
    sent.extend(driver.handle(event));
}

fn conversation_5() -> Vec<u8> {
    [
        connect_5("c", false, &[0x11, 0, 0, 0, 60, 0x21, 0, 3, 0x22, 0, 3]),
        subscribe_5(1, &[0x0B, 5], "a/#", 2),
        subscribe_5(2, &[], "$share/g/a/+", 1),
        publish(0b100, "a/b", 7, Some(&[0x23, 0, 1, 0x02, 0, 0, 0, 9]), b"two"),
        publish(0b010, "", 8, Some(&[0x23, 0, 1]), b"one"),
        acknowledge(0x62, 7),
        acknowledge(0x50, 1),
        acknowledge(0x70, 1),
        acknowledge(0x40, 2),
        vec![0xC0, 0],
        unsubscribe_5(3, "a/#"),
        publish(1, "a/b", 0, Some(&[0x01, 1, 0x26, 0, 1, b'k', 0, 1, b'v']), b"zero"),
        vec![0xE0, 1, 4],
    ]
    .concat()
}

fn conversation_3() -> Vec<u8> {
    [
        connect_3("c", false),
        subscribe_3(1, "a/#", 1),
        publish(0b100, "a/b", 7, None, b"two"),
        acknowledge(0x62, 7),
        acknowledge(0x40, 1),
        packet(0xA2, &[b"\x00\x03\x00\x03a/#"]),
        vec![0xC0, 0, 0xE0, 0],
    ]
    .concat()
}

fn run(bytes: &[u8], piece: usize) -> (Vec<u8>, bool) {
    let mut driver = Driver::new();
    let mut sent = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        sent.extend(driver.feed(piece));
        sent.extend(agree(&mut driver));
    }
    sent.extend(driver.wait(60_000));
    driver.handle(Event::ConnectionLost);
    (sent, driver.endpoint.is_closing())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200), piece in 1..50_usize) {
        prop_assert!(run(&bytes, piece).1);
    }

    #[test]
    fn random_bytes_after_connect(
        is_5 in any::<bool>(),
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        piece in 1..50_usize,
    ) {
        let connect = if is_5 { connect_5("c", true, &[]) } else { connect_3("c", true) };
        prop_assert!(run(&[connect, bytes].concat(), piece).1);
    }

    #[test]
    fn changed_conversations(
        is_5 in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 0..6),
        piece in 1..80_usize,
    ) {
        let mut bytes = if is_5 { conversation_5() } else { conversation_3() };
        for (at, byte, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => { bytes.remove(at); }
            }
        }
        prop_assert!(run(&bytes, piece).1);
    }

    #[test]
    fn random_events(events in proptest::collection::vec((0..12_u8, any::<u64>(), any::<u16>()), 0..60)) {
        let mut driver = Driver::new();
        driver.feed(&connect_5("c", true, &[0x21, 0, 2]));
        for (sort, number, small) in events {
            let ticket = braid_types::Ticket(number);
            let event = match sort {
                0 => Event::Completed { ticket, result: Ok(Completion::Done) },
                1 => Event::Published { ticket, result: PublishResult::Unroutable },
                2 => Event::SessionOpened { ticket, result: Ok(None) },
                3 => Event::Cancelled { subscription: SubscriptionId(number) },
                4 if small % 8 == 0 => Event::Close { reason: CloseReason::TakenOver, text: String::new() },
                5 => Event::Blocked { blocked: true, reason: String::new() },
                6..=8 => {
                    let message = Message { qos: 2, key: Bytes::from_static(b"a"), ..Message::empty(Protocol::Mqtt) };
                    let delivery = super::driver::delivery(SubscriptionId(number % 3), Some(number), message);
                    Event::Deliver(delivery)
                }
                9 => {
                    driver.feed(&subscribe_5(small.max(1), &[], "a", 2));
                    continue;
                }
                _ => {
                    driver.feed(&acknowledge([0x40, 0x50, 0x62, 0x70][usize::from(small % 4)], small % 5 + 1));
                    continue;
                }
            };
            driver.handle(event);
            if small % 3 == 0 {
                agree(&mut driver);
            }
        }
        driver.handle(Event::ConnectionLost);
        prop_assert!(driver.endpoint.is_closing());
    }
}

#[test]
fn unchanged_conversations_reach_their_end() {
    let (sent, _) = run(&conversation_5(), 1_000);
    assert!(sent.windows(2).any(|bytes| bytes == [0xD0, 0]));
    assert!(!sent.windows(2).any(|bytes| bytes == [0xE0, 1]), "{sent:02x?}");
    let (sent, _) = run(&conversation_3(), 1_000);
    assert_eq!(sent[sent.len() - 2..], [0xD0, 0]);
}

#[test]
fn an_idle_connection_is_small() {
    assert!(size_of::<braid_mqtt::Connection>() <= 1_024, "{}", size_of::<braid_mqtt::Connection>());
}
