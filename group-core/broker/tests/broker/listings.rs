//! What `inspect` tells of groups and members.

use braid_broker::{Answer, Broker, GroupListing, Options, PartitionHandle};
use braid_machine::{Command, Credit};
use braid_types::{Filter, GroupId, Outcome, PartitionId, Protocol, UnackedOnEnd};
use bytes::Bytes;

use crate::scene::{GROUP, OTHER, RELEASED, Scene, UNLIMITED, detach, within};

#[tokio::test]
async fn groups_are_listed_by_name_or_all_in_order() {
    let scene = Scene::new().await;
    scene.publish(&["one", "two"]);
    let all = within(scene.partition().inspect(None)).await;
    let listed: Vec<_> = all.iter().map(|(group, inspected)| (*group, inspected.ready)).collect();
    assert_eq!(listed, [(GROUP, 2), (OTHER, 0)]);
    let some = within(scene.partition().inspect(Some(vec![OTHER, GroupId(77), GROUP]))).await;
    let listed: Vec<_> = some.iter().map(|(group, _)| *group).collect();
    assert_eq!(listed, [OTHER, GROUP], "in the order in which they were asked for; unknown ones are left out");
}

#[tokio::test]
async fn members_are_listed_with_connection_label_credit_and_unacked() {
    let scene = Scene::new().await;
    let (amqp, mqtt, nats) =
        (scene.client(1, Protocol::Amqp), scene.client(2, Protocol::Mqtt), scene.client(3, Protocol::Nats));
    let mut task = amqp.attach(GROUP, 1, Credit::Window { messages: 3 }, RELEASED);
    if let Command::Attach { member, .. } = &mut task.command {
        member.priority = 5;
    }
    if let Answer::Attach { label, .. } = &mut task.answer {
        *label = Bytes::from_static(b"ctag1");
    }
    amqp.submit(vec![task]);
    scene.quiet().await;
    mqtt.submit(vec![mqtt.attach(GROUP, 2, UNLIMITED, RELEASED)]);
    let mut task = nats.attach(GROUP, 3, Credit::Granted { messages: 9, bytes: 100 }, RELEASED);
    if let Command::Attach { member, .. } = &mut task.command {
        member.filter = Some(Filter::from_notation(Protocol::Nats, b"a.*.>").unwrap());
        member.priority = -1;
    }
    if let Answer::Attach { label, .. } = &mut task.answer {
        *label = Bytes::from_static(b"sid\xff");
    }
    nats.submit(vec![task]);
    scene.publish(&["one", "two"]);
    let inspected = scene.inspect(GROUP).await;
    assert_eq!((inspected.ready, inspected.unacked), (0, 2));
    let [first, second, third] = &inspected.members[..] else { panic!("{inspected:?}") };
    assert_eq!((first.protocol, first.connection, first.peer.as_str()), ("amqp", 1, "192.0.2.1:1"));
    assert_eq!((first.label.as_str(), first.priority), ("ctag1", 5));
    assert_eq!((first.credit_messages, first.unacked), (Some(1), 2));
    assert_eq!((&first.filter, first.skipped), (&None, None));
    assert_eq!((second.protocol, second.connection, second.label.as_str()), ("mqtt", 2, ""));
    assert_eq!((second.credit_messages, second.unacked, second.skipped), (None, 0, None));
    assert_eq!((third.protocol, third.connection, third.priority), ("nats", 3, -1));
    assert_eq!(third.label, "sid\u{fffd}", "a label need not be text");
    assert_eq!((third.credit_messages, third.filter.as_deref()), (Some(9), Some("a/+/+/#")));
    scene.publish(&["three"]);
    let inspected = scene.inspect(GROUP).await;
    let first = &inspected.members[0];
    assert_eq!((first.credit_messages, first.unacked), (Some(0), 3));
    assert_eq!(first.skipped, Some("its window is full"));
}

#[tokio::test]
async fn a_members_place_is_listed_as_long_as_it_holds_something() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Amqp);
    let member = scene.attach(&client, 1, UNLIMITED, RELEASED).await;
    scene.publish(&["one"]);
    client.submit(vec![detach(member, 1, UnackedOnEnd::Keep)]);
    let inspected = scene.inspect(GROUP).await;
    let [listed] = &inspected.members[..] else { panic!("{inspected:?}") };
    assert_eq!((listed.unacked, listed.connection), (1, 1));
    assert_eq!(listed.skipped, Some("it ended and has deliveries to settle"));
    client.settle(member, &[0], Outcome::Accepted);
    assert!(scene.inspect(GROUP).await.members.is_empty());
}

#[tokio::test]
async fn a_paused_member_is_away_until_it_is_resumed() {
    let scene = Scene::new().await;
    let (first, second) = (scene.client(1, Protocol::Mqtt), scene.client(2, Protocol::Mqtt));
    let member = scene.attach_session(&first).await;
    scene.publish(&["one"]);
    assert_eq!(scene.inspect(GROUP).await.members[0].protocol, "mqtt");
    first.lose_keeping(&[0]);
    let inspected = scene.inspect(GROUP).await;
    let [listed] = &inspected.members[..] else { panic!("{inspected:?}") };
    assert_eq!((listed.protocol, listed.peer.as_str(), listed.unacked), ("away", "", 1));
    assert_eq!(listed.skipped, Some("its connection is away"));
    second.resume(member);
    let inspected = scene.inspect(GROUP).await;
    let [listed] = &inspected.members[..] else { panic!("{inspected:?}") };
    assert_eq!((listed.protocol, listed.connection, listed.unacked), ("mqtt", 2, 1));
    assert_eq!(listed.skipped, None);
}

#[tokio::test]
async fn an_inspected_group_fills_a_listing() {
    let scene = Scene::new().await;
    let client = scene.client(1, Protocol::Nats);
    scene.attach(&client, 1, Credit::Window { messages: 1 }, RELEASED).await;
    scene.publish(&["one", "two", "three"]);
    let mut listing = GroupListing {
        vhost: "/".into(),
        name: "group".into(),
        kind: "declared",
        class: "memory",
        partition: 0,
        leader: 1,
        epoch: 1,
        ready: 0,
        unacked: 0,
        members: Vec::new(),
    };
    let mut inspected = within(scene.partition().inspect(Some(vec![GROUP]))).await;
    inspected.remove(0).1.fill(&mut listing);
    assert_eq!((listing.name.as_str(), listing.ready, listing.unacked, listing.members.len()), ("group", 2, 1, 1));
}

#[tokio::test]
async fn a_broker_has_the_partitions_that_it_was_started_with() {
    let (broker, _notes) = start(3).await;
    let ids: Vec<_> = broker.partitions().iter().map(PartitionHandle::id).collect();
    assert_eq!(ids, [PartitionId(0), PartitionId(1), PartitionId(2)]);
    assert_eq!(broker.partition(PartitionId(2)).map(PartitionHandle::id), Some(PartitionId(2)));
    assert!(broker.partition(PartitionId(3)).is_none());
    let (broker, _notes) = start(0).await;
    assert_eq!(broker.partitions().len(), 1, "there is always one");
    assert!(within(broker.partitions()[0].inspect(None)).await.is_empty());
}

async fn start(partitions: u32) -> (Broker, tokio::sync::mpsc::UnboundedReceiver<braid_broker::PartitionNote>) {
    let options = Options { node: 1, partitions, memory_bytes_max: 1, seed: 1, log: None };
    Broker::start(options).await.unwrap()
}
