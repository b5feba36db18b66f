//! The table of retained messages.

use std::sync::Arc;

use braid_broker::RetainedTable;
use braid_broker::limits::RETAINED_BYTES_MAX;
use braid_types::{Address, Filter, Message, Protocol, Timestamp};
use bytes::Bytes;

const VHOST: Bytes = Bytes::from_static(b"/");
const NOW: Timestamp = Timestamp(1_000);

fn address(topic: &str) -> Address {
    Address::from_notation(Protocol::Mqtt, topic.as_bytes()).unwrap()
}

fn message(body: &str) -> Arc<Message> {
    crate::scene::message(body)
}

fn expiring(body: &str, expires_at: u64) -> Arc<Message> {
    let expires_at = Some(Timestamp(expires_at));
    Arc::new(Message { expires_at, ..Message::clone(&message(body)) })
}

/// The bodies that a subscription finds, sorted.
fn found(table: &RetainedTable, protocol: Protocol, filter: &str) -> Vec<String> {
    let filter = Filter::from_notation(protocol, filter.as_bytes()).unwrap();
    let matching = table.matching(&VHOST, &filter, NOW);
    let mut bodies: Vec<_> = matching.iter().map(|message| String::from_utf8(message.body.to_vec()).unwrap()).collect();
    bodies.sort_unstable();
    bodies
}

#[test]
fn the_last_message_of_an_address_is_kept() {
    let table = RetainedTable::new(3);
    assert_eq!(table.count(), 0);
    assert!(table.set(&VHOST, &address("a/b"), &message("first")));
    assert!(table.set(&VHOST, &address("a/c"), &message("other")));
    assert_eq!(found(&table, Protocol::Mqtt, "a/b"), ["first"]);
    assert!(table.set(&VHOST, &address("a/b"), &message("second")));
    assert_eq!(table.count(), 2);
    assert_eq!(found(&table, Protocol::Mqtt, "a/b"), ["second"]);
    assert_eq!(found(&table, Protocol::Mqtt, "a/+"), ["other", "second"]);
    assert_eq!(found(&table, Protocol::Nats, "a.>"), ["other", "second"], "filters of all dialects find it");
    assert!(found(&table, Protocol::Mqtt, "b/#").is_empty());
}

#[test]
fn an_empty_body_removes() {
    let table = RetainedTable::new(3);
    assert!(table.set(&VHOST, &address("a"), &message("kept")));
    assert!(table.set(&VHOST, &address("a/b"), &message("below")));
    assert!(table.set(&VHOST, &address("a"), &message("")));
    assert_eq!(table.count(), 1);
    assert_eq!(found(&table, Protocol::Mqtt, "a/#"), ["below"]);
    assert!(table.set(&VHOST, &address("a"), &message("")), "there need not be one");
    assert_eq!(table.count(), 1);
    assert!(table.set(&VHOST, &address("a"), &message("again")));
    assert_eq!(found(&table, Protocol::Mqtt, "a/#"), ["again", "below"]);
}

#[test]
fn what_is_expired_is_not_found() {
    let table = RetainedTable::new(3);
    assert!(table.set(&VHOST, &address("a/late"), &expiring("late", NOW.0)));
    assert!(table.set(&VHOST, &address("a/early"), &expiring("in time", NOW.0 + 1)));
    assert!(table.set(&VHOST, &address("a/never"), &message("never")));
    assert_eq!(found(&table, Protocol::Mqtt, "a/+"), ["in time", "never"]);
    assert!(table.set(&VHOST, &address("a/late"), &message("anew")));
    assert_eq!(found(&table, Protocol::Mqtt, "a/+"), ["anew", "in time", "never"]);
    assert_eq!(table.count(), 3);
}

#[test]
fn vhosts_are_apart() {
    let table = RetainedTable::new(3);
    let other = Bytes::from_static(b"other");
    assert!(table.set(&other, &address("a"), &message("other")));
    assert!(found(&table, Protocol::Mqtt, "#").is_empty());
    assert!(table.set(&VHOST, &address("a"), &message("")));
    assert_eq!(table.count(), 1, "of the node");
}

#[test]
fn a_message_that_is_too_large_is_refused_and_the_earlier_one_stays() {
    let table = RetainedTable::new(3);
    let large =
        |size_bytes| Arc::new(Message { body: Bytes::from(vec![0; size_bytes]), ..Message::empty(Protocol::Mqtt) });
    assert!(table.set(&VHOST, &address("a"), &message("kept")));
    assert!(!table.set(&VHOST, &address("a"), &large(RETAINED_BYTES_MAX + 1)));
    assert_eq!(found(&table, Protocol::Mqtt, "#"), ["kept"]);
    assert!(!table.set(&VHOST, &address("b"), &large(RETAINED_BYTES_MAX + 1)));
    assert_eq!(table.count(), 1);
    assert!(table.set(&VHOST, &address("b"), &large(RETAINED_BYTES_MAX)));
    assert_eq!(table.count(), 2);
}
