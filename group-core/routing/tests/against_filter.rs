//! The trie and the store against `Filter::matches`, over random filters and addresses, with insert and remove in turn.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeMap;

use braid_routing::{Store, Trie};
use braid_types::{Address, Filter, Protocol};
use proptest::prelude::*;

use Protocol::{Amqp, Mqtt, Nats};

fn levels(words: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(words), 1..7)
}

fn address() -> impl Strategy<Value = Address> {
    levels(&["a", "b", "c", "$x", "_INBOX", "longer-than-sixteen-bytes"])
        .prop_map(|levels| Address::from_notation(Mqtt, levels.join("/").as_bytes()).unwrap())
}

fn filter() -> impl Strategy<Value = Filter> {
    let words = &["a", "b", "$x", "_INBOX", "longer-than-sixteen-bytes", "*", "*", "#"];
    let amqp = levels(words).prop_map(|levels| Filter::from_notation(Amqp, levels.join(".").as_bytes()).unwrap());
    let mqtt = (levels(&["a", "b", "$x", "+"]), any::<bool>()).prop_map(|(mut levels, open)| {
        levels.extend(open.then_some("#"));
        Filter::from_notation(Mqtt, levels.join("/").as_bytes()).unwrap()
    });
    let nats = (levels(&["a", "b", "_INBOX", "*"]), any::<bool>()).prop_map(|(mut levels, open)| {
        levels.extend(open.then_some(">"));
        Filter::from_notation(Nats, levels.join(".").as_bytes()).unwrap()
    });
    prop_oneof![amqp, mqtt, nats]
}

/// Inserted or removed.
#[derive(Clone, Debug)]
enum Change {
    Insert(Filter, u8),
    /// One of those inserted before, or one that may not be there.
    RemoveKnown(prop::sample::Index),
    RemoveAny(Filter, u8),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (filter(), 0..4_u8).prop_map(|(filter, value)| Change::Insert(filter, value)),
        3 => any::<prop::sample::Index>().prop_map(Change::RemoveKnown),
        1 => (filter(), 0..4_u8).prop_map(|(filter, value)| Change::RemoveAny(filter, value)),
    ]
}

/// The trie removes the entry of the same dialect first.
fn remove_from_model(model: &mut Vec<(Filter, u8)>, filter: &Filter, value: u8) -> bool {
    let same = |known: &(Filter, u8)| known.0 == *filter && known.1 == value;
    let of_dialect = model.iter().position(|known| same(known) && known.0.dialect() == filter.dialect());
    // Where the dialect makes no difference, the trie does not keep it.
    let position = if filter.begins_with_wildcard() {
        let order = [Amqp, Mqtt, Nats];
        of_dialect.or_else(|| {
            order.iter().find_map(|dialect| model.iter().position(|known| same(known) && known.0.dialect() == *dialect))
        })
    } else {
        model.iter().position(same)
    };
    position.map(|position| model.swap_remove(position)).is_some()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn trie_finds_what_the_filters_match(
        changes in prop::collection::vec(change(), 1..60),
        addresses in prop::collection::vec(address(), 1..8),
        seed in any::<u64>(),
    ) {
        let mut trie = Trie::with_seed(seed);
        let mut model: Vec<(Filter, u8)> = Vec::new();
        for change in changes {
            match change {
                Change::Insert(filter, value) => {
                    prop_assert!(trie.insert(&filter, value));
                    model.push((filter, value));
                }
                Change::RemoveKnown(index) if !model.is_empty() => {
                    let (filter, value) = index.get(&model).clone();
                    prop_assert!(trie.remove(&filter, &value));
                    prop_assert!(remove_from_model(&mut model, &filter, value));
                }
                Change::RemoveKnown(_) => {}
                Change::RemoveAny(filter, value) => {
                    prop_assert_eq!(trie.remove(&filter, &value), remove_from_model(&mut model, &filter, value));
                }
            }
            prop_assert_eq!(trie.len(), model.len());
        }
        for address in &addresses {
            for origin in [None, Some(Amqp), Some(Mqtt), Some(Nats)] {
                let mut found = Vec::new();
                match origin {
                    None => trie.for_each_match(address, |value| found.push(*value)),
                    Some(origin) => trie.for_each_match_from(address, origin, |value| found.push(*value)),
                }
                let is_match = |filter: &Filter| match origin {
                    None => filter.matches(address),
                    Some(origin) => filter.matches_from(address, origin),
                };
                let mut expected: Vec<u8> = model.iter().filter(|(filter, _)| is_match(filter)).map(|(_, value)| *value).collect();
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(found, expected, "{:?} from {:?} among {:?}", address, origin, model);
            }
        }
        for (filter, value) in &model {
            prop_assert!(trie.remove(filter, value));
        }
        prop_assert!(trie.is_empty());
    }

    #[test]
    fn store_finds_what_the_filter_matches(
        changes in prop::collection::vec((address(), any::<Option<u8>>()), 1..60),
        filters in prop::collection::vec(filter(), 1..8),
    ) {
        let mut store = Store::new();
        let mut model = BTreeMap::new();
        for (address, value) in changes {
            match value {
                Some(value) => prop_assert_eq!(store.insert(&address, value), model.insert(address, value)),
                None => prop_assert_eq!(store.remove(&address), model.remove(&address)),
            }
            prop_assert_eq!(store.len(), model.len());
        }
        for filter in &filters {
            let mut found = Vec::new();
            store.for_each_matching(filter, |address, value| found.push((address.clone(), *value)));
            found.sort_unstable();
            let expected: Vec<_> =
                model.iter().filter(|(address, _)| filter.matches(address)).map(|(address, value)| (address.clone(), *value)).collect();
            prop_assert_eq!(found, expected, "{:?}", filter);
        }
        for (address, value) in &model {
            prop_assert_eq!(store.get(address), Some(value));
        }
    }

    #[test]
    fn the_order_of_matches_does_not_depend_on_the_seed(filters in prop::collection::vec(filter(), 1..40), address in address()) {
        let found = |seed: u64| {
            let mut trie = Trie::with_seed(seed);
            for (value, filter) in filters.iter().enumerate() {
                trie.insert(filter, value);
            }
            let mut found = Vec::new();
            trie.for_each_match(&address, |value| found.push(*value));
            found
        };
        prop_assert_eq!(found(1), found(0xDEAD_BEEF));
    }
}
