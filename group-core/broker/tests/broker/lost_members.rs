//! A connection with several members is lost: all stop before anything goes back.
use braid_broker::{Answer, OnLoss};
use braid_machine::{Credit, GroupConfig};
use braid_types::{GroupId, Outcome, Protocol};

use crate::scene::{GROUP, RELEASED, Scene, UNLIMITED, again, enqueue, fresh};

#[tokio::test]
async fn a_loss_noticed_after_a_takeover_leaves_the_session_alone() {
    let scene = Scene::new().await;
    let (first, second) = (scene.client(1, Protocol::Mqtt), scene.client(2, Protocol::Mqtt));
    let member = scene.attach_session(&first).await;
    second.resume(member);
    first.lose();
    scene.publish(&["0"]);
    assert_eq!(scene.seen(&second).await, [fresh(0, 0, "0")]);
}

#[tokio::test]
async fn one_loss_is_one_failed_try_however_many_members_there_were() {
    let scene = Scene::new().await;
    let (lost, other) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Amqp));
    for attachment in 1..=3 {
        scene.attach(&lost, attachment, UNLIMITED, OnLoss::Detach(Outcome::Modified)).await;
    }
    scene.publish(&["0", "1", "2", "3", "4", "5"]);
    scene.quiet().await;
    lost.lose();
    scene.quiet().await;
    other.submit(vec![other.attach(GROUP, 1, UNLIMITED, RELEASED)]);
    let seen = scene.seen(&other).await;
    let expected: Vec<_> = (0..).zip(["0", "1", "2", "3", "4", "5"]).map(|(d, b)| again(1, d, 1, b)).collect();
    assert_eq!(seen.get(1..), Some(&expected[..]));
}

#[tokio::test]
async fn one_loss_takes_no_message_over_its_limit() {
    let scene = Scene::new().await;
    let g = GroupId(5);
    scene.create(g, GroupConfig { delivery_limit: Some(1), ..GroupConfig::default() }).await;
    let lost = scene.client(1, Protocol::Amqp);
    for attachment in 1..=2 {
        lost.submit(vec![lost.attach(g, attachment, UNLIMITED, OnLoss::Detach(Outcome::Modified))]);
    }
    lost.submit(["0", "1", "2", "3"].map(|b| enqueue(&[g], b, Answer::Silent)).into());
    scene.quiet().await;
    lost.lose();
    scene.quiet().await;
    assert_eq!(scene.counts(g).await, (4, 0, 0));
}

#[tokio::test]
async fn a_lost_connection_is_handed_nothing_more() {
    let scene = Scene::new().await;
    let lost = scene.client(1, Protocol::Amqp);
    for attachment in 1..=3 {
        scene.attach(&lost, attachment, UNLIMITED, RELEASED).await;
    }
    scene.publish(&["0", "1", "2"]);
    scene.quiet().await;
    lost.lose();
    scene.quiet().await;
    assert_eq!(scene.broker.counters.messages_delivered_total.get(), 3);
}

#[tokio::test]
async fn what_one_member_gives_back_is_not_lost_with_another_of_the_same_connection() {
    // a lost connection has an acknowledged member and a hand-off member on one group
    let scene = Scene::new().await;
    let lost = scene.client(1, Protocol::Amqp);
    scene.attach(&lost, 1, UNLIMITED, OnLoss::Detach(Outcome::Modified)).await;
    scene.publish(&["0", "1"]);
    assert_eq!(scene.seen(&lost).await.len(), 2);
    scene.attach(&lost, 2, Credit::Granted { messages: 10, bytes: 1000 }, RELEASED).await;
    lost.lose();
    scene.quiet().await;
    assert_eq!(scene.counts(GROUP).await, (2, 0, 0));
}
