//! Gets: one message at a time for somebody who is no member.

use braid_broker::Answer;
use braid_machine::{Command, GroupConfig, Refused, Taken};
use braid_types::{GroupId, Outcome, Protocol};

use crate::scene::{Client, GROUP, OTHER, RELEASED, Scene, Seen, UNLIMITED, again, enqueue, fresh, settle, silent};

async fn get(scene: &Scene, client: &Client, settled: bool, on_loss: Outcome) -> Option<(Taken, String)> {
    client.submit(vec![client.get(GROUP, 4, settled, on_loss)]);
    let seen = scene.seen(client).await;
    let [Seen::Got { ticket: 4, taken: Ok(taken) }] = seen.as_slice() else { panic!("{seen:?}") };
    taken.clone()
}

#[tokio::test]
async fn an_acknowledged_get_holds_its_message_until_it_is_settled() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    scene.publish(&["one", "two"]);
    let (taken, body) = get(&scene, &client, false, Outcome::Modified).await.unwrap();
    assert_eq!((body.as_str(), taken.remaining, taken.redelivered, taken.delivery_count), ("one", 1, false, 0));
    assert_eq!(scene.counts(GROUP).await, (1, 1, 1));
    assert_eq!(scene.held_bytes().await, 6);
    client.settle(taken.member, &[taken.delivery.0], Outcome::Accepted);
    assert_eq!(scene.held_bytes().await, 3);
    assert_eq!(scene.counts(GROUP).await, (1, 0, 0));
    let (taken, body) = get(&scene, &client, false, Outcome::Modified).await.unwrap();
    assert_eq!((body.as_str(), taken.remaining), ("two", 0));
    client.settle(taken.member, &[taken.delivery.0], Outcome::Released);
    scene.quiet().await;
    assert_eq!(scene.counts(GROUP).await, (1, 0, 0));
    let (taken, body) = get(&scene, &client, false, Outcome::Modified).await.unwrap();
    assert_eq!((body.as_str(), taken.redelivered, taken.delivery_count), ("two", true, 0));
}

#[tokio::test]
async fn what_was_got_comes_back_with_the_loss_of_its_connection() {
    let scene = Scene::new().await;
    let (lost, other) = (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Amqp));
    scene.publish(&["one", "two", "three"]);
    get(&scene, &lost, false, Outcome::Modified).await.unwrap();
    get(&scene, &lost, false, Outcome::Released).await.unwrap();
    lost.lose();
    scene.quiet().await;
    assert_eq!(scene.counts(GROUP).await, (3, 0, 0));
    other.submit(vec![other.attach(GROUP, 1, UNLIMITED, RELEASED)]);
    let seen = scene.seen(&other).await;
    assert_eq!(seen.get(1..), Some(&[again(1, 0, 1, "one"), again(1, 1, 0, "two"), fresh(1, 2, "three")][..]));
}

#[tokio::test]
async fn a_get_that_hands_off_is_over_at_once_and_does_not_come_back() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    scene.publish(&["one", "two"]);
    let (taken, body) = get(&scene, &client, true, Outcome::Modified).await.unwrap();
    assert_eq!((body.as_str(), taken.remaining), ("one", 1));
    assert_eq!(scene.counts(GROUP).await, (1, 0, 0));
    assert_eq!(scene.held_bytes().await, 3);
    client.lose();
    scene.quiet().await;
    assert_eq!(scene.counts(GROUP).await, (1, 0, 0));
}

#[tokio::test]
async fn a_message_may_be_published_got_and_settled_in_one_submission() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    client.submit(vec![
        enqueue(&[GROUP], "one", Answer::Silent),
        client.get(GROUP, 1, true, Outcome::Modified),
        client.get(GROUP, 2, false, Outcome::Modified),
    ]);
    let seen = scene.seen(&client).await;
    let [Seen::Got { ticket: 1, taken: Ok(Some((_, body))) }, Seen::Got { ticket: 2, taken: Ok(None) }] = &seen[..]
    else {
        panic!("{seen:?}")
    };
    assert_eq!(body, "one");
    assert_eq!(scene.held_bytes().await, 0);
}

#[tokio::test]
async fn a_get_that_cannot_be_says_so() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    assert_eq!(get(&scene, &client, false, Outcome::Modified).await, None);
    scene.delete(OTHER).await;
    let single = GroupId(3);
    scene.create(single, GroupConfig { single_active: true, ..GroupConfig::default() }).await;
    client
        .submit(vec![client.get(OTHER, 1, false, Outcome::Modified), client.get(single, 2, false, Outcome::Modified)]);
    let refused = |ticket, refused| Seen::Got { ticket, taken: Err(refused) };
    assert_eq!(scene.seen(&client).await, [refused(1, Refused::NoSuchGroup), refused(2, Refused::Exclusive)]);
}

#[tokio::test]
async fn a_got_message_may_be_settled_after_its_group_was_deleted() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    scene.publish(&["one"]);
    let (taken, _) = get(&scene, &client, false, Outcome::Modified).await.unwrap();
    scene.delete(GROUP).await;
    client.submit(vec![settle(taken.member, &[0], Outcome::Accepted), silent(Command::Tick)]);
    assert!(scene.seen(&client).await.is_empty(), "a get is no member: nobody is cancelled");
    assert_eq!(scene.held_bytes().await, 0);
    client.lose();
    scene.quiet().await;
}
