//! Work of a match, pruning.

use alloc::{format, string::String, vec, vec::Vec};

use super::*;

fn filter(protocol: Protocol, text: impl AsRef<[u8]>) -> Filter {
    Filter::from_notation(protocol, text.as_ref()).unwrap()
}

fn address(text: impl AsRef<[u8]>) -> Address {
    Address::from_notation(Protocol::Mqtt, text.as_ref()).unwrap()
}

fn visits(trie: &Trie<u32>, address: &Address) -> (usize, Vec<u32>) {
    let mut found = Vec::new();
    let visits = trie.walk(address, |_| true, |value| found.push(*value));
    (visits, found)
}

/// CASES S4. Each node is visited at most once for each level, however many ways lead there.
#[test]
fn hostile_patterns_cost_levels_times_nodes() {
    let mut trie = Trie::new();
    let patterns = [
        "#.".repeat(120) + "a",
        "#.b.".repeat(60) + "#.a",
        "*.#.".repeat(60) + "a",
        "#.b.".repeat(60) + "#",
        "#.b.*.".repeat(40) + "#.b.a",
    ];
    for (value, pattern) in (0..).zip(&patterns) {
        assert!(trie.insert(&filter(Protocol::Amqp, pattern), value));
    }
    let nodes = trie.tree.len();
    let (count, found) = visits(&trie, &address(vec!["b"; 128].join("/")));
    assert_eq!(found, [3]);
    assert!(count <= nodes * 129, "{count} visits of {nodes} nodes");
}

#[test]
fn many_hostile_patterns_cost_no_more_than_their_nodes() {
    let mut trie = Trie::new();
    for value in 0..500_u32 {
        let pattern: String = (0..8).map(|bit| if value >> bit & 1 == 0 { "#.a." } else { "#.b." }).collect();
        trie.insert(&filter(Protocol::Amqp, format!("{pattern}#.{value}")), value);
    }
    let nodes = trie.tree.len();
    let levels: Vec<&str> = (0..127).map(|n| if n % 3 == 0 { "a" } else { "b" }).chain(["499"]).collect();
    let (count, found) = visits(&trie, &address(levels.join("/")));
    assert_eq!(found, [499]);
    assert!(count <= nodes * 129, "{count} visits of {nodes} nodes");
}

#[test]
fn a_plain_match_visits_its_path_only() {
    let mut trie = Trie::new();
    for value in 0..1_000 {
        trie.insert(&filter(Protocol::Mqtt, format!("site/{value}/+/temperature")), value);
    }
    let (count, found) = visits(&trie, &address("site/500/kitchen/temperature"));
    assert_eq!(found, [500]);
    assert!(count <= 5, "{count}");
}

#[test]
fn empty_branches_are_pruned_and_shared_ones_stay() {
    let mut trie = Trie::new();
    let texts = ["a.b.c", "a.b", "a.*.c", "a.#", "#", "#.*", "*.*.#.x", "", "a.b.#.c.#.d", "$x.*"];
    let all: Vec<Filter> = texts.iter().map(|text| filter(Protocol::Amqp, text)).collect();
    for filter in &all {
        assert!(trie.insert(filter, 1) && trie.insert(filter, 2));
    }
    assert_eq!(trie.len(), 2 * all.len());
    for filter in &all {
        assert!(!trie.remove(filter, &3));
        assert!(trie.remove(filter, &1) && !trie.remove(filter, &1));
    }
    let nodes = trie.tree.len();
    for filter in &all {
        assert!(trie.insert(filter, 1) && trie.remove(filter, &1));
    }
    assert_eq!(trie.tree.len(), nodes);
    for filter in &all {
        assert!(trie.remove(filter, &2));
    }
    assert!(trie.is_empty());
    assert_eq!(trie.tree.len(), ROOTS as usize);
}

#[test]
fn dialects_differ_only_in_reserved_first_levels() {
    let mut trie = Trie::new();
    trie.insert(&filter(Protocol::Amqp, "#"), "amqp");
    trie.insert(&filter(Protocol::Mqtt, "#"), "mqtt");
    trie.insert(&filter(Protocol::Nats, ">"), "nats");
    trie.insert(&filter(Protocol::Nats, "$x.>"), "named");
    let found = |text: &str, origin: Option<Protocol>| {
        let mut found = Vec::new();
        match origin {
            Some(origin) => trie.for_each_match_from(&address(text), origin, |value| found.push(*value)),
            None => trie.for_each_match(&address(text), |value| found.push(*value)),
        }
        found.sort_unstable();
        found
    };
    assert_eq!(found("x/y", None), ["amqp", "mqtt", "nats"]);
    assert_eq!(found("$x/y", None), ["named", "nats"]);
    assert_eq!(found("$x/y", Some(Protocol::Amqp)), ["amqp", "named"]);
    assert_eq!(found("$x/y", Some(Protocol::Mqtt)), ["named"]);
    assert_eq!(found("$x/y", Some(Protocol::Nats)), ["named", "nats"]);
    assert_eq!(found("_INBOX/y", Some(Protocol::Nats)), ["nats"]);
}

#[test]
fn an_equal_filter_of_another_dialect_removes() {
    let mut trie = Trie::new();
    trie.insert(&filter(Protocol::Amqp, "#.*"), 1);
    trie.insert(&filter(Protocol::Nats, ">"), 1);
    assert!(trie.remove(&filter(Protocol::Nats, ">"), &1));
    let mut left = 0;
    trie.for_each_match_from(&address("$x"), Protocol::Amqp, |_| left += 1);
    assert_eq!(left, 1, "the filter of its own dialect goes first");
    assert!(trie.remove(&filter(Protocol::Mqtt, "+/#"), &1));
    assert!(trie.is_empty());
}
