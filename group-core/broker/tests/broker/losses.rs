//! Lost connections: what their members held ends as they were attached, and nobody else notices.

use braid_broker::{OnLoss, PartitionNote};
use braid_machine::Credit;
use braid_types::{ConnectionId, Outcome, Protocol};

use crate::scene::{GROUP, RELEASED, Scene, UNLIMITED, again, fresh, within};

#[tokio::test]
async fn what_a_lost_connection_held_goes_to_the_others_in_order_and_is_flagged() {
    let scene = Scene::new().await;
    let (lost, other) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Mqtt));
    scene.attach(&lost, 1, UNLIMITED, RELEASED).await;
    scene.publish(&["0", "1", "2", "3"]);
    assert_eq!(scene.seen(&lost).await.len(), 4);
    scene.attach(&other, 2, UNLIMITED, RELEASED).await;
    lost.lose();
    assert_eq!(
        scene.seen(&other).await,
        [again(2, 0, 0, "0"), again(2, 1, 0, "1"), again(2, 2, 0, "2"), again(2, 3, 0, "3")]
    );
    assert!(lost.take().is_empty());
    assert_eq!(scene.counts(GROUP).await, (0, 4, 1));
}

#[tokio::test]
async fn a_loss_may_count_as_a_failed_try() {
    let scene = Scene::new().await;
    let (lost, other) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Amqp));
    let member = scene.attach(&lost, 1, UNLIMITED, OnLoss::Detach(Outcome::Modified)).await;
    scene.publish(&["0", "1", "2"]);
    lost.settle(member, &[1], Outcome::Accepted);
    scene.quiet().await;
    lost.lose();
    scene.quiet().await;
    assert_eq!(scene.counts(GROUP).await, (2, 0, 0), "nobody is there: they wait");
    other.submit(vec![other.attach(GROUP, 2, UNLIMITED, RELEASED)]);
    let seen = scene.seen(&other).await;
    assert_eq!(seen.get(1..), Some(&[again(2, 0, 1, "0"), again(2, 1, 1, "2")][..]));
}

#[tokio::test]
async fn what_comes_back_is_ahead_of_what_was_never_handed_out() {
    let scene = Scene::new().await;
    let (lost, other) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Amqp));
    scene.attach(&lost, 1, Credit::Window { messages: 2 }, RELEASED).await;
    scene.publish(&["0", "1", "2", "3"]);
    scene.quiet().await;
    lost.lose();
    other.submit(vec![other.attach(GROUP, 1, UNLIMITED, RELEASED)]);
    let seen = scene.seen(&other).await;
    let expected = [again(1, 0, 0, "0"), again(1, 1, 0, "1"), fresh(1, 2, "2"), fresh(1, 3, "3")];
    assert_eq!(seen.get(1..), Some(&expected[..]));
}

#[tokio::test]
async fn a_loss_may_end_deliveries_for_good() {
    for (outcome, rejected) in [(Outcome::Accepted, 0), (Outcome::Rejected, 2)] {
        let scene = Scene::new().await;
        let lost = scene.client(1, Protocol::Nats);
        scene.attach(&lost, 1, UNLIMITED, OnLoss::Detach(outcome)).await;
        scene.publish(&["0", "1"]);
        lost.lose();
        assert_eq!(scene.held_bytes().await, 0);
        assert_eq!(scene.counts(GROUP).await, (0, 0, 0));
        assert_eq!(scene.broker.counters.messages_dropped_rejected_total.get(), rejected);
    }
}

#[tokio::test]
async fn a_lost_connection_is_sent_nothing_more_by_what_was_on_its_way() {
    let mut scene = Scene::new().await;
    let (lost, other) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Amqp));
    scene.attach(&lost, 1, UNLIMITED, RELEASED).await;
    scene.publish(&["0"]);
    lost.lose();
    scene.publish(&["1"]);
    lost.lose();
    scene.partition().connection_closed(ConnectionId(99), Vec::new(), Vec::new());
    scene.quiet().await;
    assert!(lost.take().is_empty());
    assert_eq!(scene.counts(GROUP).await, (2, 0, 0));
    assert_eq!(within(scene.notes.recv()).await, Some(PartitionNote::Unused(GROUP)));
    assert!(scene.notes.try_recv().is_err(), "it is told once");
    other.submit(vec![other.attach(GROUP, 1, UNLIMITED, RELEASED)]);
    let seen = scene.seen(&other).await;
    assert_eq!(seen.get(1..), Some(&[again(1, 0, 0, "0"), fresh(1, 1, "1")][..]));
}

#[tokio::test]
async fn the_members_of_a_lost_connection_all_go_and_their_messages_keep_their_order() {
    let scene = Scene::new().await;
    let (lost, other) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Amqp));
    for attachment in 1..=3 {
        scene.attach(&lost, attachment, UNLIMITED, RELEASED).await;
    }
    let bodies = ["0", "1", "2", "3", "4", "5", "6"];
    scene.publish(&bodies);
    assert_eq!(scene.seen(&lost).await.len(), 7);
    lost.lose();
    scene.quiet().await;
    assert_eq!(scene.counts(GROUP).await, (7, 0, 0));
    other.submit(vec![other.attach(GROUP, 1, UNLIMITED, RELEASED)]);
    let seen = scene.seen(&other).await;
    let expected: Vec<_> = (0..).zip(bodies).map(|(delivery, body)| again(1, delivery, 0, body)).collect();
    assert_eq!(seen.get(1..), Some(&expected[..]));
}
