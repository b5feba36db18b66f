//! An outbox: direct deliveries of a batch, handed over once per receiver.

use std::sync::Arc;

use braid_broker::limits::{MAILBOX_CROWDED_BYTES, MAILBOX_DIRECT_BYTES_MAX};
use braid_broker::{Item, Mailbox, Outbox};
use braid_types::{Message, Protocol, SubscriptionId};
use bytes::Bytes;

use crate::scene::{Seen, has_wake_up, mailbox, message};

fn large(size_bytes: usize) -> Arc<Message> {
    Arc::new(Message { body: Bytes::from(vec![0; size_bytes]), ..Message::empty(Protocol::Nats) })
}

fn push(outbox: &mut Outbox, mailbox: &Arc<Mailbox>, subscription: u64, message: &Arc<Message>) {
    outbox.push(mailbox, SubscriptionId(subscription), None, message);
}

#[tokio::test]
async fn deliveries_are_handed_over_once_per_receiver_and_in_order() {
    let (one, two, idle) = (mailbox(1, Protocol::Mqtt), mailbox(2, Protocol::Nats), mailbox(3, Protocol::Nats));
    let mut outbox = Outbox::default();
    assert!(outbox.is_empty());
    let (first, second) = (message("first"), message("second"));
    push(&mut outbox, &one, 10, &first);
    push(&mut outbox, &two, 20, &first);
    push(&mut outbox, &one, 11, &first);
    push(&mut outbox, &one, 10, &second);
    push(&mut outbox, &two, 20, &second);
    assert!(!outbox.is_empty());
    assert!(one.take().is_empty(), "nothing before the flush");
    assert!(!has_wake_up(&one));
    let (dropped, crowded) = outbox.flush();
    assert_eq!(dropped, 0);
    assert!(crowded.is_none());
    assert!(outbox.is_empty());
    let seen = |subscription, body: &str| Seen::Direct { subscription, body: body.to_owned() };
    let taken = |mailbox: &Mailbox| mailbox.take().into_iter().map(Seen::of).collect::<Vec<_>>();
    assert!(has_wake_up(&one) && has_wake_up(&two) && !has_wake_up(&idle));
    assert!(!has_wake_up(&one) && !has_wake_up(&two), "one wake-up each");
    assert_eq!(taken(&one), [seen(10, "first"), seen(11, "first"), seen(10, "second")]);
    assert_eq!(taken(&two), [seen(20, "first"), seen(20, "second")]);
    assert_eq!(outbox.flush().0, 0);
    assert!(!has_wake_up(&one), "a second flush has nothing");
    push(&mut outbox, &two, 20, &second);
    outbox.flush();
    assert_eq!(taken(&two), [seen(20, "second")]);
    assert!(one.take().is_empty());
}

#[tokio::test]
async fn the_other_subscriptions_that_matched_go_with_the_delivery() {
    let receiver = mailbox(1, Protocol::Mqtt);
    let mut outbox = Outbox::default();
    let others: Arc<[SubscriptionId]> = [SubscriptionId(2), SubscriptionId(3)].into();
    outbox.push(&receiver, SubscriptionId(1), Some(others), &message("x"));
    outbox.flush();
    let items = receiver.take();
    let [Item::Direct { subscription: SubscriptionId(1), others: Some(others), retained: false, .. }] = &items[..]
    else {
        panic!("{items:?}")
    };
    assert_eq!(others[..], [SubscriptionId(2), SubscriptionId(3)]);
}

#[tokio::test]
async fn what_finds_no_room_is_counted_and_does_not_harm_other_receivers() {
    let (slow, fast) = (mailbox(1, Protocol::Mqtt), mailbox(2, Protocol::Mqtt));
    let half = large(MAILBOX_DIRECT_BYTES_MAX / 2 - 200);
    let mut outbox = Outbox::default();
    push(&mut outbox, &slow, 1, &half);
    push(&mut outbox, &slow, 1, &half);
    assert_eq!(outbox.flush().0, 0);
    push(&mut outbox, &slow, 1, &large(200));
    push(&mut outbox, &fast, 1, &message("b"));
    push(&mut outbox, &slow, 1, &large(200));
    assert_eq!(outbox.flush().0, 2);
    assert_eq!(slow.take().len(), 2);
    assert_eq!(fast.take().len(), 1);
}

#[tokio::test]
async fn keys_count_for_the_room_too() {
    let without_key = large(MAILBOX_DIRECT_BYTES_MAX - 200);
    let mut message = Message::clone(&without_key);
    message.key = Bytes::from_static(&[b'k'; 200]);
    for (message, dropped) in [(without_key, 0), (Arc::new(message), 1)] {
        let mut outbox = Outbox::default();
        push(&mut outbox, &mailbox(1, Protocol::Nats), 1, &message);
        assert_eq!(outbox.flush().0, dropped);
    }
}

#[tokio::test]
async fn the_first_crowded_receiver_is_named_for_the_publisher_to_pause_for() {
    let receivers = [1, 2, 3].map(|id| mailbox(id, Protocol::Nats));
    let [idle, crowded, also] = &receivers;
    let body = large(MAILBOX_CROWDED_BYTES);
    let mut outbox = Outbox::default();
    push(&mut outbox, idle, 1, &message("x"));
    push(&mut outbox, crowded, 1, &body);
    push(&mut outbox, also, 1, &body);
    let (dropped, named) = outbox.flush();
    assert_eq!(dropped, 0);
    assert!(named.is_some_and(|named| Arc::ptr_eq(&named, crowded)));
}
