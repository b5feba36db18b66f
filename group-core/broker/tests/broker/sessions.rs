//! Members of persistent sessions: paused with their connection, resumed by another, nothing is sent again.

use braid_types::{Outcome, Protocol};

use crate::scene::{GROUP, RELEASED, Scene, UNLIMITED, again, fresh};

#[tokio::test]
async fn a_sessions_member_is_paused_with_its_connection_and_goes_on_with_the_next() {
    let scene = Scene::new().await;
    let (first, second) = (scene.client(1, Protocol::Mqtt), scene.client(2, Protocol::Mqtt));
    let member = scene.attach_session(&first).await;
    scene.publish(&["0", "1"]);
    assert_eq!(scene.seen(&first).await, [fresh(0, 0, "0"), fresh(0, 1, "1")]);
    first.lose_keeping(&[0, 1]);
    scene.publish(&["2"]);
    scene.quiet().await;
    assert!(first.take().is_empty());
    assert_eq!(scene.counts(GROUP).await, (1, 2, 1), "it holds what it was sent");
    second.resume(member);
    assert_eq!(scene.seen(&second).await, [fresh(0, 2, "2")], "and is not sent it again");
    second.settle(member, &[0, 1, 2], Outcome::Accepted);
    assert_eq!(scene.held_bytes().await, 0);
    assert_eq!(scene.counts(GROUP).await, (0, 0, 1));
    scene.publish(&["3"]);
    assert_eq!(scene.seen(&second).await, [fresh(0, 3, "3")]);
}

#[tokio::test]
async fn a_resumed_member_is_paused_with_its_new_connection_too() {
    let scene = Scene::new().await;
    let clients = [1, 2, 3].map(|id| scene.client(id, Protocol::Mqtt));
    let [first, second, third] = &clients;
    let member = scene.attach_session(first).await;
    first.lose();
    second.resume(member);
    scene.publish(&["0"]);
    assert_eq!(scene.seen(second).await, [fresh(0, 0, "0")]);
    second.lose_keeping(&[0]);
    // The loss of a connection that has nothing to do with it any more changes nothing.
    first.lose();
    scene.publish(&["1"]);
    third.resume(member);
    assert_eq!(scene.seen(third).await, [fresh(0, 1, "1")]);
    first.lose_keeping(&[0, 1]);
    second.lose();
    scene.publish(&["2"]);
    assert_eq!(scene.seen(third).await, [fresh(0, 2, "2")]);
}

#[tokio::test]
async fn a_paused_members_messages_are_not_given_to_others() {
    let scene = Scene::new().await;
    let (session, other) = (scene.client(1, Protocol::Mqtt), scene.client(2, Protocol::Mqtt));
    scene.attach_session(&session).await;
    scene.publish(&["0"]);
    scene.quiet().await;
    session.lose_keeping(&[0]);
    scene.attach(&other, 1, UNLIMITED, RELEASED).await;
    scene.publish(&["1"]);
    assert_eq!(scene.seen(&other).await, [fresh(1, 0, "1")]);
    assert_eq!(scene.counts(GROUP).await, (0, 2, 2));
}

#[tokio::test]
async fn nobody_is_told_of_a_paused_member_whose_group_is_deleted() {
    let scene = Scene::new().await;
    let (first, second) = (scene.client(1, Protocol::Mqtt), scene.client(2, Protocol::Mqtt));
    let member = scene.attach_session(&first).await;
    scene.publish(&["0"]);
    first.lose();
    scene.delete(GROUP).await;
    second.resume(member);
    assert!(scene.seen(&second).await.is_empty());
    assert_eq!(scene.held_bytes().await, 0);
    second.lose();
    scene.quiet().await;
}

#[tokio::test]
async fn what_the_session_does_not_keep_never_arrived_and_is_sent_again() {
    let scene = Scene::new().await;
    let (first, second) = (scene.client(1, Protocol::Mqtt), scene.client(2, Protocol::Mqtt));
    let member = scene.attach_session(&first).await;
    scene.publish(&["0", "1", "2", "3"]);
    scene.quiet().await;
    first.lose_keeping(&[0, 2]);
    scene.publish(&["4"]);
    scene.quiet().await;
    assert_eq!(scene.counts(GROUP).await, (3, 2, 1));
    second.resume(member);
    assert_eq!(scene.seen(&second).await, [again(0, 4, 0, "1"), again(0, 5, 0, "3"), fresh(0, 6, "4")]);
    second.settle(member, &[0, 2, 4, 5, 6], Outcome::Accepted);
    assert_eq!(scene.held_bytes().await, 0);
}
