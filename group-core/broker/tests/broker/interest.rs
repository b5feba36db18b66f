//! The interest table: what is inserted, replaced and removed, across the dialects of three protocols.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use braid_broker::{Interest, InterestKey, InterestTable, Mailbox, QueueKey, Subscriber};
use braid_types::{Address, ConnectionId, Filter, GroupId, PartitionId, Protocol, SubscriptionId};
use bytes::Bytes;

use crate::scene::mailbox;

const VHOST: Bytes = Bytes::from_static(b"/");

fn filter(protocol: Protocol, text: &str) -> Filter {
    Filter::from_notation(protocol, text.as_bytes()).unwrap()
}

fn key(connection: u64, subscription: u64) -> InterestKey {
    InterestKey::Connection(ConnectionId(connection), SubscriptionId(subscription))
}

fn plain(mailbox: &Arc<Mailbox>, subscription: u64, no_local: bool) -> Interest {
    let (mailbox, id) = (Arc::clone(mailbox), SubscriptionId(subscription));
    let key = InterestKey::Connection(mailbox.connection(), id);
    Interest { key, subscriber: Subscriber::Plain { mailbox, subscription: id, no_local } }
}

/// The keys that a publish by a client of `origin` finds, in order of their numbers.
fn found(table: &InterestTable, vhost: &Bytes, origin: Protocol, topic: &str) -> Vec<(u64, u64)> {
    let address = Address::from_notation(origin, topic.as_bytes()).unwrap();
    let mut found = Vec::new();
    table.for_each_match(vhost, &address, origin, |interest| match interest.key {
        InterestKey::Connection(connection, subscription) => found.push((connection.0, subscription.0)),
        InterestKey::Session(session, subscription) => found.push((1_000 + session, subscription.0)),
    });
    found.sort_unstable();
    found
}

#[tokio::test]
async fn filters_of_all_dialects_match_addresses_of_all_notations() {
    let table = InterestTable::new(3);
    let (amqp, mqtt, nats) = (mailbox(1, Protocol::Amqp), mailbox(2, Protocol::Mqtt), mailbox(3, Protocol::Nats));
    for (mailbox, protocol, subscription, text) in [
        (&amqp, Protocol::Amqp, 1, "sensors.*"),
        (&amqp, Protocol::Amqp, 2, "#.kitchen"),
        (&mqtt, Protocol::Mqtt, 1, "sensors/+"),
        (&mqtt, Protocol::Mqtt, 2, "sensors/#"),
        (&mqtt, Protocol::Mqtt, 3, "sensors/kitchen"),
        (&nats, Protocol::Nats, 1, "sensors.*"),
        (&nats, Protocol::Nats, 2, "sensors.>"),
    ] {
        assert!(table.insert(&VHOST, &filter(protocol, text), plain(mailbox, subscription, false), false));
    }
    let all = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)];
    assert_eq!(found(&table, &VHOST, Protocol::Amqp, "sensors.kitchen"), all);
    assert_eq!(found(&table, &VHOST, Protocol::Mqtt, "sensors/kitchen"), all);
    assert_eq!(found(&table, &VHOST, Protocol::Nats, "sensors.kitchen"), all);
    assert_eq!(found(&table, &VHOST, Protocol::Mqtt, "sensors"), [(2, 2)], "only MQTT's # takes no level at all");
    assert_eq!(found(&table, &VHOST, Protocol::Nats, "sensors.hall"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2)]);
    assert_eq!(found(&table, &VHOST, Protocol::Nats, "sensors.hall.north"), [(2, 2), (3, 2)]);
    assert!(found(&table, &VHOST, Protocol::Amqp, "Sensors.hall").is_empty());
}

#[tokio::test]
async fn wildcards_reach_reserved_addresses_within_their_own_protocol_only() {
    let table = InterestTable::new(3);
    let (mqtt, nats) = (mailbox(2, Protocol::Mqtt), mailbox(3, Protocol::Nats));
    assert!(table.insert(&VHOST, &filter(Protocol::Mqtt, "#"), plain(&mqtt, 1, false), false));
    assert!(table.insert(&VHOST, &filter(Protocol::Nats, ">"), plain(&nats, 1, false), false));
    assert_eq!(found(&table, &VHOST, Protocol::Mqtt, "a"), [(2, 1), (3, 1)]);
    assert!(found(&table, &VHOST, Protocol::Mqtt, "$x/a").is_empty());
    assert_eq!(found(&table, &VHOST, Protocol::Nats, "_INBOX.a"), [(3, 1)]);
    assert!(table.insert(&VHOST, &filter(Protocol::Mqtt, "$x/#"), plain(&mqtt, 2, false), false));
    assert_eq!(found(&table, &VHOST, Protocol::Mqtt, "$x/a"), [(2, 2)]);
}

#[tokio::test]
async fn vhosts_are_apart() {
    let table = InterestTable::new(3);
    let mqtt = mailbox(2, Protocol::Mqtt);
    let other = Bytes::from_static(b"other");
    assert!(table.insert(&VHOST, &filter(Protocol::Mqtt, "a"), plain(&mqtt, 1, false), false));
    assert!(found(&table, &other, Protocol::Mqtt, "a").is_empty());
    assert!(!table.remove(&other, &filter(Protocol::Mqtt, "a"), key(2, 1)));
    assert!(table.insert(&other, &filter(Protocol::Mqtt, "a"), plain(&mqtt, 7, false), false));
    assert_eq!(found(&table, &VHOST, Protocol::Mqtt, "a"), [(2, 1)]);
    assert_eq!(found(&table, &other, Protocol::Mqtt, "a"), [(2, 7)]);
}

#[tokio::test]
async fn an_interest_is_replaced_by_the_one_of_its_key_and_no_other() {
    let table = InterestTable::new(3);
    let (one, two) = (mailbox(1, Protocol::Mqtt), mailbox(2, Protocol::Mqtt));
    let subscribed = filter(Protocol::Mqtt, "a/+");
    assert!(table.insert(&VHOST, &subscribed, plain(&one, 1, false), false));
    assert!(table.insert(&VHOST, &subscribed, plain(&two, 1, false), false));
    assert!(table.insert(&VHOST, &subscribed, plain(&one, 1, true), true));
    assert_eq!(found(&table, &VHOST, Protocol::Mqtt, "a/b"), [(1, 1), (2, 1)]);
    let address = Address::from_notation(Protocol::Nats, b"a.b").unwrap();
    let mut without_local = Vec::new();
    table.for_each_match(&VHOST, &address, Protocol::Nats, |interest| {
        if let Subscriber::Plain { mailbox, no_local: true, .. } = &interest.subscriber {
            without_local.push(mailbox.connection());
        }
    });
    assert_eq!(without_local, [ConnectionId(1)]);
    assert!(table.insert(&VHOST, &filter(Protocol::Nats, "b"), plain(&one, 2, false), true));
    assert_eq!(found(&table, &VHOST, Protocol::Mqtt, "b"), [(1, 2)], "there need not be one to replace");
}

#[tokio::test]
async fn an_interest_is_removed_by_key_and_filter() {
    let table = InterestTable::new(3);
    let one = mailbox(1, Protocol::Mqtt);
    let subscribed = filter(Protocol::Mqtt, "a/+");
    assert!(table.insert(&VHOST, &subscribed, plain(&one, 1, false), false));
    assert!(table.insert(&VHOST, &subscribed, plain(&one, 2, false), false));
    assert!(!table.remove(&VHOST, &subscribed, key(1, 3)));
    assert!(!table.remove(&VHOST, &filter(Protocol::Mqtt, "a/b"), key(1, 1)));
    assert!(!table.remove(&VHOST, &subscribed, InterestKey::Session(1, SubscriptionId(1))));
    assert_eq!(found(&table, &VHOST, Protocol::Mqtt, "a/b"), [(1, 1), (1, 2)]);
    assert!(table.remove(&VHOST, &filter(Protocol::Nats, "a.*"), key(1, 1)), "equal filters are one filter");
    assert!(!table.remove(&VHOST, &subscribed, key(1, 1)));
    assert_eq!(found(&table, &VHOST, Protocol::Mqtt, "a/b"), [(1, 2)]);
    assert!(table.remove(&VHOST, &subscribed, key(1, 2)));
    assert!(found(&table, &VHOST, Protocol::Mqtt, "a/b").is_empty());
}

#[tokio::test]
async fn the_generation_changes_with_every_change_and_only_then() {
    let table = InterestTable::new(3);
    let one = mailbox(1, Protocol::Mqtt);
    let subscribed = filter(Protocol::Mqtt, "a");
    let mut generations = vec![table.generation()];
    assert!(table.insert(&VHOST, &subscribed, plain(&one, 1, false), false));
    generations.push(table.generation());
    assert!(table.insert(&VHOST, &subscribed, plain(&one, 1, true), true));
    generations.push(table.generation());
    assert!(table.remove(&VHOST, &subscribed, key(1, 1)));
    generations.push(table.generation());
    assert!(generations.is_sorted_by(|earlier, later| earlier < later), "{generations:?}");
    let last = table.generation();
    assert!(!table.remove(&VHOST, &subscribed, key(1, 1)));
    assert!(!table.remove(&Bytes::from_static(b"none"), &subscribed, key(1, 1)));
    assert!(found(&table, &VHOST, Protocol::Mqtt, "a").is_empty());
    assert_eq!(table.generation(), last);
}

#[tokio::test]
async fn all_kinds_of_subscribers_come_back_as_they_were() {
    let table = InterestTable::new(3);
    let nats = mailbox(3, Protocol::Nats);
    let subscribed = filter(Protocol::Nats, "a.*");
    let queue = QueueKey::Name(Bytes::from_static(b"workers"));
    let subscription = SubscriptionId(1);
    let (mailbox, kept) = (Arc::clone(&nats), subscribed.clone());
    let subscriber = Subscriber::Queue { mailbox, subscription, queue: queue.clone(), filter: kept };
    assert!(table.insert(&VHOST, &subscribed, Interest { key: key(3, 1), subscriber }, false));
    let (partition, group) = (PartitionId(2), GroupId(8));
    let connection = Arc::new(AtomicU64::new(5));
    let subscriber = Subscriber::Session { partition, group, no_local: true, connection };
    let session = InterestKey::Session(4, subscription);
    assert!(table.insert(&VHOST, &subscribed, Interest { key: session, subscriber }, false));
    assert_eq!(found(&table, &VHOST, Protocol::Amqp, "a.b"), [(3, 1), (1_004, 1)]);
    let address = Address::from_notation(Protocol::Amqp, b"a.b").unwrap();
    let mut kinds = 0;
    table.for_each_match(&VHOST, &address, Protocol::Amqp, |interest| match &interest.subscriber {
        Subscriber::Queue { mailbox, queue: found, filter, .. } => {
            assert!(Arc::ptr_eq(mailbox, &nats));
            assert_eq!((found, filter), (&queue, &subscribed));
            kinds += 1;
        }
        Subscriber::Session { partition: PartitionId(2), group: GroupId(8), no_local: true, .. } => kinds += 1,
        other => panic!("{other:?}"),
    });
    assert_eq!(kinds, 2);
}
