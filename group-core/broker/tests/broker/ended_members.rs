//! Who consumes and cancels, or gets, for ever leaves nothing behind.
//!
//! That a partition's own list of members is empty shows in the loss of their connection: it is an entry of the log only
//! when there is somebody to end, and the members that attach before and after it are named by their entries.

use braid_broker::Answer;
use braid_machine::GroupConfig;
use braid_types::{MemberId, Outcome, Protocol, UnackedOnEnd};

use crate::scene::{Client, GROUP, RELEASED, Scene, Seen, UNLIMITED, detach, enqueue, within};

const TIMES: usize = 10_000;

/// For the ways that differ from another only in how a delivery ends.
const TIMES_OF_VARIANTS: usize = 1_000;

/// The client's next items, as soon as there are any.
async fn next(client: &Client) -> Vec<Seen> {
    loop {
        let seen = client.take();
        if !seen.is_empty() {
            return seen;
        }
        within(client.mailbox.notified()).await;
    }
}

async fn consume(client: &Client) -> MemberId {
    client.submit(vec![client.attach(GROUP, 1, UNLIMITED, RELEASED)]);
    let seen = next(client).await;
    let Some(Seen::Attached { result: Ok(member), .. }) = seen.first() else { panic!("{seen:?}") };
    *member
}

/// Loses the client and says how many of its members were still listed: none or some.
async fn has_listed_members(scene: &Scene, client: &Client) -> bool {
    let probe = scene.client(1_000, Protocol::Amqp);
    let before = scene.attach(&probe, 1, UNLIMITED, RELEASED).await;
    client.lose();
    scene.quiet().await;
    let after = scene.attach(&probe, 2, UNLIMITED, RELEASED).await;
    after.index.0 - before.index.0 > 1
}

async fn assert_nothing_is_left(scene: &Scene, client: &Client) {
    assert_eq!(scene.held_bytes().await, 0);
    assert_eq!(scene.counts(GROUP).await, (0, 0, 0));
    assert!(client.take().is_empty());
    assert!(!has_listed_members(scene, client).await);
}

#[tokio::test]
async fn the_loss_of_a_connection_with_a_member_is_an_entry() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    consume(&client).await;
    assert!(has_listed_members(&scene, &client).await);
}

#[tokio::test]
async fn cancelled_members_do_not_stay_listed() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    for _ in 0..TIMES {
        let member = consume(&client).await;
        client.submit(vec![detach(member, 1, UnackedOnEnd::Keep)]);
        assert_eq!(next(&client).await, [Seen::Detached(1)]);
    }
    assert_nothing_is_left(&scene, &client).await;
}

#[tokio::test]
async fn members_that_are_cancelled_with_unacked_deliveries_go_with_the_last_of_them() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    for _ in 0..TIMES_OF_VARIANTS {
        let member = consume(&client).await;
        client.submit(vec![enqueue(&[GROUP], "body", Answer::Silent), detach(member, 1, UnackedOnEnd::Keep)]);
        assert_eq!(next(&client).await.len(), 2);
        client.settle(member, &[0], Outcome::Accepted);
    }
    assert_nothing_is_left(&scene, &client).await;
}

#[tokio::test]
async fn members_whose_deliveries_end_with_the_cancel_do_not_stay_listed() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Mqtt);
    for _ in 0..TIMES_OF_VARIANTS {
        let member = consume(&client).await;
        client.submit(vec![
            enqueue(&[GROUP], "body", Answer::Silent),
            detach(member, 1, UnackedOnEnd::Settle(Outcome::Rejected)),
        ]);
        assert_eq!(next(&client).await.len(), 2);
    }
    assert_nothing_is_left(&scene, &client).await;
}

#[tokio::test]
async fn gets_that_are_settled_do_not_stay_listed() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    for _ in 0..TIMES {
        client.submit(vec![enqueue(&[GROUP], "body", Answer::Silent), client.get(GROUP, 1, false, Outcome::Modified)]);
        let seen = next(&client).await;
        let [Seen::Got { taken: Ok(Some((taken, _))), .. }] = seen.as_slice() else { panic!("{seen:?}") };
        client.settle(taken.member, &[taken.delivery.0], Outcome::Accepted);
    }
    assert_nothing_is_left(&scene, &client).await;
}

#[tokio::test]
async fn gets_that_hand_off_or_find_nothing_are_never_listed() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    for _ in 0..TIMES_OF_VARIANTS {
        client.submit(vec![
            enqueue(&[GROUP], "body", Answer::Silent),
            client.get(GROUP, 1, true, Outcome::Modified),
            client.get(GROUP, 2, false, Outcome::Modified),
        ]);
        assert_eq!(next(&client).await.len(), 2);
    }
    assert_nothing_is_left(&scene, &client).await;
}

#[tokio::test]
async fn members_of_deleted_groups_do_not_stay_listed() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    for _ in 0..TIMES_OF_VARIANTS {
        consume(&client).await;
        scene.delete(GROUP).await;
        assert_eq!(next(&client).await, [Seen::Cancelled(1)]);
        scene.create(GROUP, GroupConfig::default()).await;
    }
    assert_nothing_is_left(&scene, &client).await;
}
