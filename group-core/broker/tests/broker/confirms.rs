//! Confirms: what they say, and that they come before the publisher's own copy.

use braid_broker::Answer;
use braid_machine::{GroupConfig, Overflow, Refused};
use braid_types::{GroupId, Outcome, Protocol, Ticket};

use crate::scene::{GROUP, OTHER, RELEASED, Scene, Seen, UNLIMITED, enqueue, fresh};

const FULL: GroupId = GroupId(3);

fn confirmed(ticket: u64) -> Seen {
    Seen::Confirmed { ticket, refused: None }
}

#[tokio::test]
async fn a_confirm_comes_before_the_publishers_own_copy() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    scene.attach(&client, 1, UNLIMITED, RELEASED).await;
    client.submit(vec![
        enqueue(&[GROUP], "one", Answer::Confirm { ticket: Ticket(10) }),
        enqueue(&[GROUP], "two", Answer::ConfirmPart { join: 77 }),
        enqueue(&[GROUP], "three", Answer::Silent),
    ]);
    client.submit(vec![enqueue(&[GROUP], "four", Answer::Confirm { ticket: Ticket(11) })]);
    let part = Seen::ConfirmedPart { join: 77, refused: None };
    let expected = [
        confirmed(10),
        fresh(1, 0, "one"),
        part,
        fresh(1, 1, "two"),
        fresh(1, 2, "three"),
        confirmed(11),
        fresh(1, 3, "four"),
    ];
    assert_eq!(scene.seen(&client).await, expected);
}

#[tokio::test]
async fn confirms_go_to_the_publisher_alone_also_when_it_has_no_member() {
    let scene = Scene::new().await;
    let (publisher, consumer) = (scene.client(1, Protocol::Mqtt), scene.client(2, Protocol::Amqp));
    scene.attach(&consumer, 1, UNLIMITED, RELEASED).await;
    publisher.submit(vec![enqueue(&[GROUP], "one", Answer::Confirm { ticket: Ticket(1) })]);
    assert_eq!(scene.seen(&publisher).await, [confirmed(1)]);
    assert_eq!(scene.seen(&consumer).await, [fresh(1, 0, "one")]);
}

#[tokio::test]
async fn a_full_group_refuses_in_the_confirm_and_holds_no_body() {
    let scene = Scene::new().await;
    let config = GroupConfig { messages_max: Some(2), overflow: Overflow::RejectPublish, ..GroupConfig::default() };
    scene.create(FULL, config).await;
    let publisher = scene.client(1, Protocol::Amqp);
    let tasks = (0..5).map(|ticket| enqueue(&[FULL], "body", Answer::Confirm { ticket: Ticket(ticket) })).collect();
    publisher.submit(tasks);
    let seen = scene.seen(&publisher).await;
    let taken = seen.iter().filter(|seen| matches!(seen, Seen::Confirmed { refused: None, .. })).count();
    let expected: Vec<_> = (0..5)
        .map(|ticket| Seen::Confirmed { ticket, refused: (ticket >= 2).then_some(Refused::LimitReached) })
        .collect();
    assert_eq!(seen, expected);
    assert_eq!(scene.held_bytes().await, 4 * taken);
    // A part that one group refuses is a refusal, and the other group holds it nevertheless.
    publisher.submit(vec![enqueue(&[FULL, OTHER], "both", Answer::ConfirmPart { join: 5 })]);
    let refused = Some(Refused::LimitReached);
    assert_eq!(scene.seen(&publisher).await, [Seen::ConfirmedPart { join: 5, refused }]);
    assert_eq!(scene.counts(OTHER).await, (1, 0, 0));
}

#[tokio::test]
async fn a_publish_to_a_group_that_is_gone_is_confirmed_and_held_nowhere() {
    let scene = Scene::new().await;
    let publisher = scene.client(1, Protocol::Amqp);
    scene.delete(OTHER).await;
    publisher.submit(vec![enqueue(&[OTHER], "lost", Answer::Confirm { ticket: Ticket(1) })]);
    assert_eq!(scene.seen(&publisher).await, [confirmed(1)]);
    assert_eq!(scene.held_bytes().await, 0);
}

#[tokio::test]
async fn a_message_of_two_groups_is_delivered_and_held_until_both_are_done() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    let member = scene.attach(&client, 1, UNLIMITED, RELEASED).await;
    client.submit(vec![enqueue(&[GROUP, OTHER], "both", Answer::Confirm { ticket: Ticket(1) })]);
    assert_eq!(scene.seen(&client).await, [confirmed(1), fresh(1, 0, "both")]);
    assert_eq!(scene.held_bytes().await, 4, "it is there once");
    client.settle(member, &[0], Outcome::Accepted);
    assert_eq!(scene.held_bytes().await, 4);
    scene.delete(OTHER).await;
    assert_eq!(scene.held_bytes().await, 0);
}
