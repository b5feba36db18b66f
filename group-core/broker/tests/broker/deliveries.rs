//! The way of a message: enqueued, delivered within credit, settled, gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_broker::{Answer, Item, PartitionNote};
use braid_machine::{Command, Credit, Refused, Reply};
use braid_types::{MemberId, Message, Outcome, Protocol, Ticket, UnackedOnEnd};

use crate::scene::{
    Client, GROUP, OTHER, RELEASED, Scene, Seen, UNLIMITED, detach, enqueue, fresh, handed_off, settle, silent, within,
};

#[tokio::test]
async fn what_is_enqueued_is_delivered_and_goes_when_it_is_settled() {
    let scene = Scene::new().await;
    let consumer = scene.client(1, Protocol::Amqp);
    let member = scene.attach(&consumer, 5, UNLIMITED, RELEASED).await;
    scene.client(2, Protocol::Mqtt).publish(&["one", "two", "three"]);
    assert_eq!(scene.seen(&consumer).await, [fresh(5, 0, "one"), fresh(5, 1, "two"), fresh(5, 2, "three")]);
    assert_eq!(scene.counts(GROUP).await, (0, 3, 1));
    assert_eq!(scene.held_bytes().await, 11);
    consumer.settle(member, &[1], Outcome::Accepted);
    scene.quiet().await;
    assert_eq!(scene.counts(GROUP).await, (0, 2, 1));
    consumer.settle(member, &[0, 2], Outcome::Accepted);
    assert_eq!(scene.held_bytes().await, 0);
    assert_eq!(scene.counts(GROUP).await, (0, 0, 1));
    let counters = &scene.broker.counters;
    assert_eq!(counters.messages_enqueued_total.get(), 3);
    assert_eq!(counters.messages_delivered_total.get(), 3);
    assert_eq!(counters.messages_settled_total.get(), 3);
    assert_eq!(counters.groups_faulted_total.get(), 0);
}

#[tokio::test]
async fn a_delivered_message_is_the_published_one_byte_for_byte() {
    let scene = Scene::new().await;
    let mut published = enqueue(&[GROUP], "body", Answer::Silent);
    let mut message = Message::clone(published.message.as_ref().unwrap());
    message.exchange = "exchange".into();
    message.key = "key".into();
    message.header = "header".into();
    message.reply = "reply".into();
    message.priority = 3;
    let message = Arc::new(message);
    published.message = Some(Arc::clone(&message));
    let consumer = scene.client(1, Protocol::Amqp);
    // It waits in the group first, so that it is no slice of anything else when it is delivered.
    consumer.submit(vec![published]);
    scene.quiet().await;
    consumer.submit(vec![consumer.attach(GROUP, 1, UNLIMITED, RELEASED)]);
    scene.quiet().await;
    let items = consumer.mailbox.take();
    let Some(Item::Deliver { message: delivered, .. }) = items.get(1) else { panic!("{items:?}") };
    assert_eq!(delivered, &message);
}

#[tokio::test]
async fn a_backlog_comes_after_the_answer_to_the_attach() {
    let scene = Scene::new().await;
    scene.publish(&["one", "two"]);
    scene.quiet().await;
    let consumer = scene.client(1, Protocol::Amqp);
    consumer.submit(vec![consumer.attach(GROUP, 1, UNLIMITED, RELEASED)]);
    let seen = scene.seen(&consumer).await;
    assert!(matches!(seen.first(), Some(Seen::Attached { attachment: 1, result: Ok(_) })), "{seen:?}");
    assert_eq!(seen.get(1..), Some(&[fresh(1, 0, "one"), fresh(1, 1, "two")][..]));
}

#[tokio::test]
async fn a_window_is_refilled_by_settling_and_may_be_changed() {
    let scene = Scene::new().await;
    let consumer = scene.client(1, Protocol::Amqp);
    let member = scene.attach(&consumer, 1, Credit::Window { messages: 2 }, RELEASED).await;
    scene.publish(&["0", "1", "2", "3", "4", "5"]);
    assert_eq!(scene.seen(&consumer).await, [fresh(1, 0, "0"), fresh(1, 1, "1")]);
    consumer.settle(member, &[0], Outcome::Accepted);
    assert_eq!(scene.seen(&consumer).await, [fresh(1, 2, "2")]);
    consumer.submit(vec![silent(Command::SetWindow { group: GROUP, member, messages: 3 })]);
    assert_eq!(scene.seen(&consumer).await, [fresh(1, 3, "3")]);
    consumer.submit(vec![silent(Command::SetWindow { group: GROUP, member, messages: 0 })]);
    assert_eq!(scene.seen(&consumer).await, [fresh(1, 4, "4"), fresh(1, 5, "5")]);
}

#[tokio::test]
async fn a_granted_member_stops_at_its_credit_and_goes_on_when_more_is_granted() {
    let scene = Scene::new().await;
    let consumer = scene.client(1, Protocol::Nats);
    let credit = Credit::Granted { messages: 2, bytes: 1_000 };
    let member = scene.attach(&consumer, 1, credit, RELEASED).await;
    scene.publish(&["0", "1", "2", "3", "4"]);
    assert_eq!(scene.seen(&consumer).await, [handed_off(1, 0, "0"), handed_off(1, 1, "1")]);
    assert_eq!(scene.counts(GROUP).await, (3, 0, 1));
    assert_eq!(scene.held_bytes().await, 3, "what was handed off is gone");
    consumer.submit(vec![silent(Command::Grant { group: GROUP, member, messages: 1, bytes: 0 })]);
    assert_eq!(scene.seen(&consumer).await, [handed_off(1, 2, "2")]);
    consumer.submit(vec![silent(Command::Grant { group: GROUP, member, messages: 10, bytes: 0 })]);
    assert_eq!(scene.seen(&consumer).await, [handed_off(1, 3, "3"), handed_off(1, 4, "4")]);
    assert_eq!(scene.held_bytes().await, 0);
    assert_eq!(scene.broker.counters.messages_settled_total.get(), 5);
}

#[tokio::test]
async fn granted_bytes_are_a_limit_too_that_the_last_message_may_exceed() {
    let scene = Scene::new().await;
    let consumer = scene.client(1, Protocol::Nats);
    let credit = Credit::Granted { messages: 100, bytes: 5 };
    let member = scene.attach(&consumer, 1, credit, RELEASED).await;
    scene.publish(&["four", "long", "rest"]);
    assert_eq!(scene.seen(&consumer).await, [handed_off(1, 0, "four"), handed_off(1, 1, "long")]);
    consumer.submit(vec![silent(Command::Grant { group: GROUP, member, messages: 0, bytes: 1 })]);
    assert_eq!(scene.seen(&consumer).await, [handed_off(1, 2, "rest")]);
}

#[tokio::test]
async fn the_answer_to_a_detach_comes_after_the_last_delivery() {
    let mut scene = Scene::new().await;
    let consumer = scene.client(1, Protocol::Amqp);
    let member = scene.attach(&consumer, 1, UNLIMITED, RELEASED).await;
    scene.publish(&["one"]);
    consumer.submit(vec![
        enqueue(&[GROUP], "two", Answer::Silent),
        detach(member, 1, UnackedOnEnd::Keep),
        enqueue(&[GROUP], "three", Answer::Silent),
    ]);
    scene.publish(&["four"]);
    assert_eq!(scene.seen(&consumer).await, [fresh(1, 0, "one"), fresh(1, 1, "two"), Seen::Detached(1)]);
    assert_eq!(within(scene.notes.recv()).await, Some(PartitionNote::Unused(GROUP)));
    // What it holds may still be settled.
    assert_eq!(scene.counts(GROUP).await, (2, 2, 1));
    consumer.submit(vec![settle(member, &[0, 1], Outcome::Accepted)]);
    scene.quiet().await;
    assert_eq!(scene.counts(GROUP).await, (2, 0, 0));
    assert!(consumer.take().is_empty());
}

#[tokio::test]
async fn a_detached_members_unacked_messages_may_go_back_at_once() {
    let scene = Scene::new().await;
    let consumer = scene.client(1, Protocol::Amqp);
    let member = scene.attach(&consumer, 1, UNLIMITED, RELEASED).await;
    scene.publish(&["one", "two"]);
    consumer.submit(vec![detach(member, 1, UnackedOnEnd::Settle(Outcome::Released))]);
    assert_eq!(scene.seen(&consumer).await, [fresh(1, 0, "one"), fresh(1, 1, "two"), Seen::Detached(1)]);
    assert_eq!(scene.counts(GROUP).await, (2, 0, 0));
    assert_eq!(scene.held_bytes().await, 6);
}

#[tokio::test]
async fn members_of_a_deleted_group_are_cancelled_after_their_deliveries() {
    let scene = Scene::new().await;
    let (one, two) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Mqtt));
    scene.attach(&one, 3, UNLIMITED, RELEASED).await;
    scene.attach(&two, 4, UNLIMITED, RELEASED).await;
    scene.publish(&["a", "b"]);
    assert_eq!(scene.delete(GROUP).await, Reply::Removed { message_count: 0 });
    assert_eq!(scene.seen(&one).await, [fresh(3, 0, "a"), Seen::Cancelled(3)]);
    assert_eq!(scene.seen(&two).await, [fresh(4, 0, "b"), Seen::Cancelled(4)]);
    assert_eq!(scene.held_bytes().await, 0);
}

#[tokio::test]
async fn an_attach_that_is_refused_says_why_and_leaves_nothing() {
    let scene = Scene::new().await;
    let (one, two) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Amqp));
    scene.delete(OTHER).await;
    one.submit(vec![one.attach(OTHER, 1, UNLIMITED, RELEASED)]);
    let refused = |attachment, refused| [Seen::Attached { attachment, result: Err(refused) }];
    assert_eq!(scene.seen(&one).await, refused(1, Refused::NoSuchGroup));
    scene.attach(&two, 1, UNLIMITED, RELEASED).await;
    let mut exclusive = one.attach(GROUP, 2, UNLIMITED, RELEASED);
    if let Command::Attach { member, .. } = &mut exclusive.command {
        member.exclusive = true;
    }
    one.submit(vec![exclusive]);
    assert_eq!(scene.seen(&one).await, refused(2, Refused::InUse));
    scene.publish(&["a", "b"]);
    assert_eq!(scene.seen(&two).await, [fresh(1, 0, "a"), fresh(1, 1, "b")]);
    assert!(one.take().is_empty());
    assert_eq!(scene.counts(GROUP).await, (0, 2, 1));
}

/// Consumes and settles until its group is deleted; gives the bodies.
async fn consume(client: Client, member: MemberId) -> Vec<String> {
    let mut bodies = Vec::new();
    loop {
        client.mailbox.notified().await;
        let mut deliveries = Vec::new();
        for seen in client.take() {
            match seen {
                Seen::Delivered(delivered) => {
                    assert!(!delivered.redelivered);
                    bodies.push(delivered.body);
                    deliveries.push(delivered.delivery);
                }
                Seen::Cancelled(1) => return bodies,
                other => panic!("{other:?}"),
            }
        }
        client.settle(member, &deliveries, Outcome::Accepted);
    }
}

/// Publishes `count` messages with confirms, one submission each, and waits for all confirms, which come in order.
async fn publish_confirmed(client: Client, count: u64) {
    for ticket in 0..count {
        let body = format!("{}-{ticket}", client.mailbox.connection().0);
        client.submit(vec![enqueue(&[GROUP], &body, Answer::Confirm { ticket: Ticket(ticket) })]);
        if ticket % 16 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let mut next = 0;
    while next < count {
        client.mailbox.notified().await;
        for seen in client.take() {
            assert_eq!(seen, Seen::Confirmed { ticket: next, refused: None });
            next += 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_publishers_and_consumers_on_threads_lose_and_double_nothing() {
    let scene = Scene::new().await;
    let mut consumers = Vec::new();
    for id in 1..=3 {
        let client = scene.client(id, Protocol::Amqp);
        let member = scene.attach(&client, 1, Credit::Window { messages: 7 }, RELEASED).await;
        consumers.push(tokio::spawn(consume(client, member)));
    }
    let publishers: Vec<_> =
        (11..=14).map(|id| tokio::spawn(publish_confirmed(scene.client(id, Protocol::Mqtt), 500))).collect();
    for publisher in publishers {
        within(publisher).await.unwrap();
    }
    within(async {
        while scene.counts(GROUP).await != (0, 0, 3) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(scene.held_bytes().await, 0);
    scene.delete(GROUP).await;
    let mut count = 0;
    let mut bodies = BTreeSet::new();
    for consumer in consumers {
        let consumed = within(consumer).await.unwrap();
        count += consumed.len();
        bodies.extend(consumed);
    }
    assert_eq!((count, bodies.len()), (2_000, 2_000));
}
