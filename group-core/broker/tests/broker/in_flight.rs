//! Bytes of publishes on their way to a partition: given back when they are there, which wakes who waits for room.

use std::sync::Arc;

use braid_broker::{Answer, Submission};
use braid_types::Protocol;

use crate::scene::{Client, GROUP, Scene, enqueue, has_wake_up, within};

fn publish(client: &Client, in_flight_bytes: usize) {
    client.mailbox.add_in_flight(in_flight_bytes);
    let tasks = vec![enqueue(&[GROUP], "body", Answer::Silent)];
    client.partition.submit(Submission { from: Arc::clone(&client.mailbox), tasks, in_flight_bytes });
}

#[tokio::test]
async fn a_connection_that_waits_for_room_is_woken_when_its_publishes_have_arrived() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Mqtt);
    assert_eq!(client.mailbox.add_in_flight(0), 0);
    publish(&client, 100);
    publish(&client, 50);
    assert_eq!(client.mailbox.in_flight_bytes(), 150);
    client.mailbox.wait_for_room();
    within(client.mailbox.notified()).await;
    assert_eq!(client.mailbox.in_flight_bytes(), 0, "one wake-up for the round");
    assert!(client.take().is_empty());
    assert!(!has_wake_up(&client.mailbox));
}

#[tokio::test]
async fn who_does_not_wait_for_room_is_not_woken() {
    let scene = Scene::new().await;
    let (client, waiting) = (scene.client(1, Protocol::Mqtt), scene.client(2, Protocol::Mqtt));
    waiting.mailbox.add_in_flight(10);
    waiting.mailbox.wait_for_room();
    publish(&client, 100);
    scene.quiet().await;
    assert_eq!(client.mailbox.in_flight_bytes(), 0);
    assert!(!has_wake_up(&client.mailbox));
    assert!(!has_wake_up(&waiting.mailbox), "another's bytes are no room");
    assert_eq!(waiting.mailbox.in_flight_bytes(), 10);
}

#[tokio::test]
async fn bytes_are_given_back_also_for_what_was_refused_and_after_a_loss() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Mqtt);
    scene.delete(GROUP).await;
    publish(&client, 30);
    client.lose();
    publish(&client, 12);
    scene.quiet().await;
    assert_eq!(client.mailbox.in_flight_bytes(), 0);
    assert_eq!(scene.broker.memory.held_bytes(), 0);
}

#[tokio::test]
async fn a_wait_for_room_is_over_with_its_wake_up() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Mqtt);
    client.mailbox.add_in_flight(20);
    client.mailbox.wait_for_room();
    client.mailbox.release_in_flight(0);
    assert!(!has_wake_up(&client.mailbox), "no bytes are no room");
    client.mailbox.release_in_flight(5);
    assert!(has_wake_up(&client.mailbox));
    client.mailbox.release_in_flight(5);
    assert!(!has_wake_up(&client.mailbox), "it has to say again that it waits");
    assert_eq!(client.mailbox.in_flight_bytes(), 10);
    scene.quiet().await;
}
