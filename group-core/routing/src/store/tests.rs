//! Work of a search, pruning, the map itself.

use alloc::{format, vec, vec::Vec};

use super::*;

fn filter(text: impl AsRef<[u8]>) -> Filter {
    Filter::from_notation(Protocol::Amqp, text.as_ref()).unwrap()
}

fn address(text: impl AsRef<[u8]>) -> Address {
    Address::from_notation(Protocol::Mqtt, text.as_ref()).unwrap()
}

#[test]
fn it_is_a_map() {
    let mut store = Store::new();
    assert_eq!(store.insert(&address("a/b"), 1), None);
    assert_eq!(store.insert(&address("a/b"), 2), Some(1));
    assert_eq!(store.insert(&address("a"), 3), None);
    assert_eq!((store.len(), store.get(&address("a/b")), store.get(&address("a/c"))), (2, Some(&2), None));
    assert_eq!(store.remove(&address("a/b")), Some(2));
    assert_eq!(store.remove(&address("a/b")), None);
    assert_eq!(store.get(&address("a")), Some(&3));
    assert_eq!(store.remove(&address("a")), Some(3));
    assert!(store.is_empty());
    assert_eq!(store.tree.len(), 1);
}

#[test]
fn a_search_goes_only_where_its_literals_lead() {
    let mut store = Store::new();
    for site in 0..50 {
        for device in 0..50 {
            store.insert(&address(format!("site/{site}/{device}/state")), (site, device));
        }
    }
    let mut found = Vec::new();
    let visits = store.search(&filter("site.7.*.state"), |_, value| found.push(*value));
    assert_eq!(found.len(), 50);
    assert!(found.iter().all(|(site, _)| *site == 7));
    assert!(visits <= 2 + 50 * 2, "{visits}");
    assert_eq!(store.search(&filter("site.7.8.state"), |_, _| {}), 4);
}

/// CASES S4: each node once, however the wildcards stand.
#[test]
fn hostile_patterns_visit_each_node_once() {
    let mut store = Store::new();
    for length in 1..=128 {
        store.insert(&address(vec!["b"; length].join("/")), length);
        store.insert(&address([vec!["b"; length - 1], vec!["c"]].concat().join("/")), length);
    }
    let nodes = store.tree.len();
    for pattern in ["#.b.".repeat(60) + "a", "#.b.".repeat(60) + "#", "*.#.".repeat(60) + "c", "#".into()] {
        let mut count = 0;
        let visits = store.search(&filter(pattern), |_, _| count += 1);
        assert!(visits <= nodes, "{visits} visits of {nodes} nodes, {count} found");
    }
}

#[test]
fn siblings_stay_linked_whatever_goes() {
    let mut store = Store::new();
    let texts: Vec<_> = (0..6).map(|n| format!("a/{n}")).collect();
    for gone in 0..6 {
        for text in &texts {
            store.insert(&address(text), text.clone());
        }
        assert!(store.remove(&address(format!("a/{gone}"))).is_some());
        let mut count = 0;
        store.for_each_matching(&filter("a.*"), |to, value| {
            assert_eq!(*to, address(value));
            count += 1;
        });
        assert_eq!(count, 5);
    }
}
