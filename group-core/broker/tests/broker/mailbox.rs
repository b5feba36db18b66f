//! A mailbox by itself: its order, its limits for direct deliveries, and the pause of publishers.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use braid_broker::limits::{
    MAILBOX_CROWDED_BYTES, MAILBOX_CROWDED_COUNT, MAILBOX_DIRECT_BYTES_MAX, MAILBOX_DIRECT_COUNT_MAX,
};
use braid_broker::{Item, Mailbox, Pushed};
use braid_types::{CloseReason, Event, Protocol, Ticket};

use crate::scene::{Seen, direct, has_wake_up, is_ready, mailbox, message, within};

/// One direct delivery that counts as `bytes`.
fn push(mailbox: &Mailbox, bytes: usize) -> Pushed {
    mailbox.push_direct(&mut vec![direct(1, &message("x"))], bytes)
}

fn confirmed(ticket: u64) -> Item {
    Item::Confirmed { ticket: Ticket(ticket), refused: None }
}

fn take(mailbox: &Mailbox) -> Vec<Seen> {
    mailbox.take().into_iter().map(Seen::of).collect()
}

const ROOM: Pushed = Pushed { dropped: 0, pauses: false };

fn direct_seen() -> Seen {
    Seen::Direct { subscription: 1, body: "x".into() }
}

#[tokio::test]
async fn all_kinds_of_items_come_in_order_and_batches_with_one_wake_up() {
    let mailbox = mailbox(1, Protocol::Mqtt);
    mailbox.push(confirmed(1));
    let mut batch = vec![confirmed(2), confirmed(3)];
    mailbox.push_batch(&mut batch);
    assert!(batch.is_empty());
    let mut batch = vec![direct(1, &message("x"))];
    assert_eq!(mailbox.push_direct(&mut batch, 1), ROOM);
    assert!(batch.is_empty());
    mailbox.push(confirmed(4));
    assert!(has_wake_up(&mailbox));
    assert!(!has_wake_up(&mailbox), "wake-ups that nobody has waited for are one");
    let seen = |ticket| Seen::Confirmed { ticket, refused: None };
    assert_eq!(take(&mailbox), [seen(1), seen(2), seen(3), direct_seen(), seen(4)]);
    assert!(take(&mailbox).is_empty());
}

#[tokio::test]
async fn attachments_are_numbered_from_1() {
    let mailbox = mailbox(1, Protocol::Mqtt);
    assert_eq!([mailbox.allocate_attachment(), mailbox.allocate_attachment()], [1, 2]);
    assert_eq!(mailbox.connection(), mailbox.info().id);
}

#[tokio::test]
async fn a_nats_client_that_does_not_read_is_disconnected_once() {
    let mailbox = mailbox(1, Protocol::Nats);
    assert_eq!(push(&mailbox, MAILBOX_DIRECT_BYTES_MAX - 1).dropped, 0);
    assert!(mailbox.has_room());
    let mut batch = vec![direct(2, &message("y")), direct(2, &message("z"))];
    assert_eq!(mailbox.push_direct(&mut batch, 2), Pushed { dropped: 2, pauses: false });
    assert!(batch.is_empty());
    assert!(!mailbox.has_room());
    // From here on nothing is taken.
    assert_eq!(push(&mailbox, MAILBOX_DIRECT_BYTES_MAX), ROOM);
    assert_eq!(push(&mailbox, 1), ROOM);
    mailbox.push(confirmed(1));
    mailbox.push_batch(&mut vec![confirmed(2)]);
    assert!(is_ready(mailbox.close_requested()));
    assert!(!is_ready(mailbox.close_requested()), "it is asked once");
    let Some(Event::Close { reason: CloseReason::SlowConsumer, .. }) = mailbox.take_close() else { panic!() };
    assert!(mailbox.take_close().is_none());
    assert_eq!(take(&mailbox), [direct_seen()]);
    assert_eq!(push(&mailbox, 1), ROOM);
    mailbox.push(confirmed(3));
    assert!(take(&mailbox).is_empty());
    assert!(!mailbox.has_room());
    assert!(mailbox.take_close().is_none());
}

#[tokio::test]
async fn a_client_that_reads_is_not_slow_however_much_comes() {
    let mailbox = mailbox(1, Protocol::Nats);
    for _ in 0..10 {
        assert_eq!(push(&mailbox, MAILBOX_DIRECT_BYTES_MAX).dropped, 0);
        assert!(!mailbox.has_room());
        assert_eq!(take(&mailbox), [direct_seen()]);
        assert!(mailbox.has_room());
    }
}

#[tokio::test]
async fn messages_for_an_mqtt_client_that_does_not_read_are_dropped_and_counted() {
    let mailbox = mailbox(1, Protocol::Mqtt);
    assert_eq!(push(&mailbox, MAILBOX_DIRECT_BYTES_MAX).dropped, 0);
    let mut batch = vec![direct(2, &message("y")), direct(2, &message("z"))];
    assert_eq!(mailbox.push_direct(&mut batch, 2).dropped, 2);
    assert!(batch.is_empty());
    assert_eq!(push(&mailbox, 1).dropped, 1);
    assert!(mailbox.take_close().is_none());
    mailbox.push(confirmed(1));
    assert_eq!(take(&mailbox), [direct_seen(), Seen::Confirmed { ticket: 1, refused: None }]);
    assert_eq!(push(&mailbox, 1), ROOM);
    assert_eq!(take(&mailbox), [direct_seen()]);
}

#[tokio::test]
async fn the_count_is_a_limit_too() {
    let mailbox = mailbox(1, Protocol::Mqtt);
    let message = message("x");
    let mut batch: Vec<_> = (0..MAILBOX_DIRECT_COUNT_MAX).map(|_| direct(1, &message)).collect();
    assert_eq!(mailbox.push_direct(&mut batch, 0).dropped, 0);
    assert!(!mailbox.has_room());
    assert_eq!(push(&mailbox, 0).dropped, 1);
    assert_eq!(mailbox.take().len(), MAILBOX_DIRECT_COUNT_MAX);
    assert_eq!(push(&mailbox, 0), ROOM);
}

#[tokio::test]
async fn the_first_reason_to_close_stands() {
    let mailbox = mailbox(1, Protocol::Nats);
    assert!(!is_ready(mailbox.close_requested()));
    let close = |reason| Event::Close { reason, text: String::new() };
    mailbox.request_close(close(CloseReason::TakenOver));
    mailbox.request_close(close(CloseReason::ShuttingDown));
    assert!(is_ready(mailbox.close_requested()));
    assert!(matches!(mailbox.take_close(), Some(Event::Close { reason: CloseReason::TakenOver, .. })));
    assert!(mailbox.take_close().is_none());
    mailbox.push(confirmed(1));
    assert_eq!(take(&mailbox).len(), 1, "it is not closed by that");
}

#[tokio::test]
async fn what_a_closed_mailbox_had_is_gone_and_nothing_comes_after_it() {
    let mailbox = mailbox(1, Protocol::Mqtt);
    mailbox.push(confirmed(1));
    push(&mailbox, 1);
    mailbox.close();
    mailbox.push(confirmed(2));
    let mut batch = vec![confirmed(3)];
    mailbox.push_batch(&mut batch);
    assert!(batch.is_empty());
    assert_eq!(push(&mailbox, MAILBOX_DIRECT_BYTES_MAX + 1), ROOM);
    assert!(take(&mailbox).is_empty());
    assert!(!mailbox.has_room());
}

#[tokio::test]
async fn publishers_pause_for_a_mailbox_that_is_crowded_by_bytes_or_count() {
    let by_bytes = mailbox(1, Protocol::Nats);
    assert!(!push(&by_bytes, MAILBOX_CROWDED_BYTES - 1).pauses);
    assert!(push(&by_bytes, 1).pauses);
    assert!(push(&by_bytes, 1).pauses);
    assert_eq!(take(&by_bytes).len(), 3);
    assert!(!push(&by_bytes, 1).pauses);
    let by_count = mailbox(2, Protocol::Mqtt);
    let message = message("x");
    let mut batch = (1..MAILBOX_CROWDED_COUNT).map(|_| direct(1, &message)).collect();
    assert!(!by_count.push_direct(&mut batch, 0).pauses);
    assert!(push(&by_count, 0).pauses);
}

#[tokio::test]
async fn nobody_pauses_for_a_mailbox_that_is_not_crowded() {
    let mailbox = mailbox(1, Protocol::Mqtt);
    assert!(is_ready(mailbox.pause_for()));
    push(&mailbox, MAILBOX_CROWDED_BYTES);
    assert_eq!(take(&mailbox).len(), 1);
    assert!(is_ready(mailbox.pause_for()), "it was taken in between");
}

#[tokio::test]
async fn a_pause_is_over_when_the_mailbox_is_taken() {
    let mailbox = mailbox(1, Protocol::Mqtt);
    assert!(push(&mailbox, MAILBOX_CROWDED_BYTES).pauses);
    let mut pauses = [pin!(mailbox.pause_for()), pin!(mailbox.pause_for())];
    for pause in &mut pauses {
        assert!(pause.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(take(&mailbox).len(), 1);
    for pause in pauses {
        within(pause).await;
    }
    // A pause that had been in vain would have made this one needless.
    assert!(push(&mailbox, MAILBOX_CROWDED_BYTES).pauses);
}

#[tokio::test]
async fn after_a_pause_in_vain_nobody_pauses_until_the_mailbox_is_taken() {
    let mailbox = mailbox(1, Protocol::Mqtt);
    assert!(push(&mailbox, MAILBOX_CROWDED_BYTES).pauses);
    within(mailbox.pause_for()).await;
    assert!(!push(&mailbox, 1).pauses);
    assert_eq!(take(&mailbox).len(), 2);
    assert!(push(&mailbox, MAILBOX_CROWDED_BYTES).pauses);
}
