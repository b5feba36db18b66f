//! One wake-up of a connection for all that a round has for it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use braid_broker::Answer;
use braid_types::{Outcome, Protocol, Ticket};

use crate::scene::{GROUP, RELEASED, Scene, Seen, UNLIMITED, enqueue, fresh, has_wake_up, within};

#[tokio::test]
async fn what_comes_of_one_submission_arrives_together_with_one_wake_up() {
    let scene = Scene::new().await;
    let consumer = scene.client(1, Protocol::Amqp);
    scene.attach(&consumer, 1, UNLIMITED, RELEASED).await;
    assert!(has_wake_up(&consumer.mailbox), "that of the attach");
    let mut wake_up = pin!(consumer.mailbox.notified());
    assert!(wake_up.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let bodies: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    scene.publish(&bodies.iter().map(String::as_str).collect::<Vec<_>>());
    within(wake_up).await;
    let expected: Vec<Seen> = (0..).zip(&bodies).map(|(delivery, body)| fresh(1, delivery, body)).collect();
    assert_eq!(consumer.take(), expected);
    assert!(!has_wake_up(&consumer.mailbox), "there was no second one");
}

#[tokio::test]
async fn the_submissions_of_one_round_wake_each_connection_once() {
    let scene = Scene::new().await;
    let (one, two) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Nats));
    let member = scene.attach(&one, 1, UNLIMITED, RELEASED).await;
    scene.attach(&two, 1, UNLIMITED, RELEASED).await;
    assert!(has_wake_up(&one.mailbox) && has_wake_up(&two.mailbox), "those of the attaches");
    let mut wake_up_one = pin!(one.mailbox.notified());
    let mut wake_up_two = pin!(two.mailbox.notified());
    let mut context = Context::from_waker(Waker::noop());
    assert!(wake_up_one.as_mut().poll(&mut context).is_pending());
    assert!(wake_up_two.as_mut().poll(&mut context).is_pending());
    // The owner runs on this thread too, so it finds all of them at once.
    for ticket in 0..4 {
        one.submit(vec![enqueue(&[GROUP], "x", Answer::Confirm { ticket: Ticket(ticket) })]);
    }
    one.settle(member, &[0], Outcome::Accepted);
    within(wake_up_one).await;
    within(wake_up_two).await;
    let confirmed = |ticket| Seen::Confirmed { ticket, refused: None };
    let expected = [confirmed(0), fresh(1, 0, "x"), confirmed(1), confirmed(2), fresh(1, 1, "x"), confirmed(3)];
    assert_eq!(one.take(), expected);
    assert_eq!(two.take(), [fresh(1, 0, "x"), fresh(1, 1, "x")]);
    assert!(!has_wake_up(&one.mailbox) && !has_wake_up(&two.mailbox));
}

#[tokio::test]
async fn who_has_nothing_coming_is_not_woken() {
    let scene = Scene::new().await;
    let (consumer, idle) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Amqp));
    let member = scene.attach(&consumer, 1, UNLIMITED, RELEASED).await;
    scene.publish(&["one"]);
    scene.quiet().await;
    assert!(has_wake_up(&consumer.mailbox));
    consumer.settle(member, &[0], Outcome::Accepted);
    scene.quiet().await;
    assert!(!has_wake_up(&consumer.mailbox), "a settle has no answer");
    assert!(!has_wake_up(&idle.mailbox));
    assert_eq!(Arc::strong_count(&idle.mailbox), 1);
}
