//! The bytes of bodies that groups hold: counted while they wait, and gone with them.

use braid_broker::Answer;
use braid_machine::{Command, Credit, GroupConfig, Reply};
use braid_types::{GroupId, Message, Outcome, Protocol, Timestamp};

use crate::scene::{GROUP, OTHER, RELEASED, Scene, Seen, UNLIMITED, enqueue, within};

#[tokio::test]
async fn a_backlog_counts_until_it_is_purged() {
    let scene = Scene::new().await;
    scene.publish(&["four", "seventy", ""]);
    assert_eq!(scene.held_bytes().await, 11);
    let consumer = scene.client(1, Protocol::Amqp);
    let credit = Credit::Window { messages: 1 };
    consumer.submit(vec![consumer.attach(GROUP, 1, credit, RELEASED)]);
    let seen = scene.seen(&consumer).await;
    let Some(Seen::Attached { result: Ok(member), .. }) = seen.first() else { panic!("{seen:?}") };
    assert_eq!(scene.request(Command::PurgeGroup { group: GROUP }).await, Reply::Removed { message_count: 2 });
    assert_eq!(scene.held_bytes().await, 4, "what is handed out stays");
    consumer.settle(*member, &[0], Outcome::Accepted);
    assert_eq!(scene.held_bytes().await, 0);
}

#[tokio::test]
async fn a_deleted_group_holds_nothing_ready_or_handed_out() {
    let scene = Scene::new().await;
    let consumer = scene.client(1, Protocol::Amqp);
    scene.attach(&consumer, 1, Credit::Window { messages: 1 }, RELEASED).await;
    scene.publish(&["one", "two", "three"]);
    consumer.submit(vec![enqueue(&[GROUP, OTHER], "shared", Answer::Silent)]);
    assert_eq!(scene.held_bytes().await, 17);
    scene.delete(GROUP).await;
    assert_eq!(scene.held_bytes().await, 6);
    scene.delete(OTHER).await;
    assert_eq!(scene.held_bytes().await, 0);
}

#[tokio::test]
async fn every_outcome_lets_go_or_keeps() {
    let scene = Scene::new().await;
    let consumer = scene.client(1, Protocol::Amqp);
    let member = scene.attach(&consumer, 1, UNLIMITED, RELEASED).await;
    scene.publish(&["a", "bb", "cccc", "dddddddd"]);
    consumer.settle(member, &[0], Outcome::Accepted);
    assert_eq!(scene.held_bytes().await, 14);
    consumer.settle(member, &[1], Outcome::Rejected);
    assert_eq!(scene.held_bytes().await, 12);
    consumer.settle(member, &[2], Outcome::Released);
    consumer.settle(member, &[3], Outcome::Modified);
    assert_eq!(scene.held_bytes().await, 12);
    consumer.settle(member, &[0, 1, 2, 3], Outcome::Accepted);
    assert_eq!(scene.held_bytes().await, 12, "those were settled before");
    consumer.settle(member, &[4, 5], Outcome::Accepted);
    assert_eq!(scene.held_bytes().await, 0);
}

#[tokio::test]
async fn messages_that_a_group_has_no_room_or_time_for_are_not_held() {
    let scene = Scene::new().await;
    let short = GroupId(3);
    scene.create(short, GroupConfig { messages_max: Some(2), ..GroupConfig::default() }).await;
    let client = scene.client(1, Protocol::Amqp);
    client.submit(["a", "bb", "cccc", "dddddddd"].map(|body| enqueue(&[short], body, Answer::Silent)).into());
    assert_eq!(scene.held_bytes().await, 12, "the oldest went");
    assert_eq!(scene.broker.counters.messages_dropped_overflow_total.get(), 2);
    scene.delete(short).await;
    let mut expired = enqueue(&[GROUP], "too late", Answer::Silent);
    if let Command::Enqueue { message, .. } = &mut expired.command {
        message.expires_at = Some(Timestamp(1));
    }
    client.submit(vec![expired, client.get(GROUP, 1, true, Outcome::Modified)]);
    assert_eq!(scene.seen(&client).await, [Seen::Got { ticket: 1, taken: Ok(None) }]);
    assert_eq!(scene.held_bytes().await, 0);
    assert_eq!(scene.broker.counters.messages_dropped_expired_total.get(), 1);
}

#[tokio::test]
async fn headers_count_too() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    let mut task = enqueue(&[GROUP], "body", Answer::Silent);
    let mut message = Message::clone(task.message.as_ref().unwrap());
    message.header = "header".into();
    task.message = Some(message.into());
    client.submit(vec![task]);
    assert_eq!(scene.held_bytes().await, 10);
    scene.delete(GROUP).await;
    assert_eq!(scene.held_bytes().await, 0);
}

#[tokio::test]
async fn publishers_are_told_at_the_limit_and_when_there_is_room_again() {
    let scene = Scene::with_memory(10).await;
    let mut blocked = scene.broker.memory.watch();
    scene.publish(&["123456789"]);
    scene.quiet().await;
    assert!(!scene.broker.memory.is_blocked());
    scene.publish(&["0"]);
    within(blocked.changed()).await.unwrap();
    assert!(*blocked.borrow_and_update());
    assert!(scene.broker.memory.is_blocked());
    scene.request(Command::PurgeGroup { group: GROUP }).await;
    within(blocked.changed()).await.unwrap();
    assert!(!*blocked.borrow_and_update());
    assert!(!scene.broker.memory.is_blocked());
}
