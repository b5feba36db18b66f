//! Filters: equality across notations, matching against a naive reference, reserved first levels, bounded work.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
};

use braid_types::{Address, AddressError, Filter, FilterLevel, Protocol, Wire, limits::ADDRESS_LEVELS_MAX};
use bytes::BytesMut;
use proptest::prelude::*;

use Protocol::{Amqp, Mqtt, Nats};

fn filter(protocol: Protocol, text: impl AsRef<[u8]>) -> Filter {
    Filter::from_notation(protocol, text.as_ref()).unwrap()
}

fn address(protocol: Protocol, text: impl AsRef<[u8]>) -> Address {
    Address::from_notation(protocol, text.as_ref()).unwrap()
}

fn hash(filter: &Filter) -> u64 {
    let mut hasher = DefaultHasher::new();
    filter.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn equal_filters_are_equal_in_all_notations() {
    let classes: [&[(Protocol, &str)]; 8] = [
        &[(Amqp, "a.*"), (Mqtt, "a/+"), (Nats, "a.*")],
        &[(Amqp, "a.#"), (Mqtt, "a/#"), (Amqp, "a.#.#"), (Amqp, "a.#.#.#")],
        &[(Nats, "a.>"), (Mqtt, "a/+/#"), (Amqp, "a.*.#"), (Amqp, "a.#.*"), (Amqp, "a.#.*.#")],
        &[(Nats, "*.>"), (Mqtt, "+/+/#"), (Amqp, "*.#.*"), (Amqp, "#.*.*")],
        &[(Amqp, "#"), (Mqtt, "#")],
        &[(Nats, ">"), (Mqtt, "+/#"), (Amqp, "#.*")],
        &[(Amqp, "a.b/c"), (Mqtt, "a/b.c"), (Nats, "a.b/c")],
        &[(Mqtt, "*/a b"), (Nats, "%2A.a%20b")],
    ];
    for (row, class) in classes.iter().enumerate() {
        for (protocol, text) in *class {
            let one = filter(*protocol, text);
            for (other_row, others) in classes.iter().enumerate() {
                for (other_protocol, other_text) in *others {
                    let other = filter(*other_protocol, other_text);
                    assert_eq!(one == other, row == other_row, "{text} {other_text}");
                    assert_eq!(hash(&one) == hash(&other), row == other_row);
                    assert_eq!(one.cmp(&other).is_eq(), row == other_row);
                }
            }
        }
    }
}

#[test]
fn wildcards_stand_alone_and_mqtt_and_nats_end_with_theirs() {
    for text in ["", "a/b+", "+a", "a#", "#/a", "a/#/#", "a\0"] {
        assert_eq!(Filter::from_notation(Mqtt, text.as_bytes()), Err(AddressError::Malformed), "{text}");
    }
    for text in ["", ">.a", "a.>.>", "a..b", "a. ", "."] {
        assert_eq!(Filter::from_notation(Nats, text.as_bytes()), Err(AddressError::Malformed), "{text}");
    }
    assert!(filter(Nats, "a*.>b").matches(&address(Nats, "a*.>b")));
    assert!(filter(Amqp, "a*.#b").matches(&address(Amqp, "a*.#b")));
    assert!(!filter(Nats, "a*").matches(&address(Nats, "ab")));
    assert!(filter(Mqtt, "*/>").matches(&address(Nats, "%2A.%3E")));
    assert!(filter(Amqp, "").matches(&address(Amqp, "")));
    assert!(filter(Amqp, "#").matches(&address(Amqp, "")));
    assert_eq!(Filter::from_notation(Amqp, &[b'.'; ADDRESS_LEVELS_MAX]), Err(AddressError::TooManyLevels));
    assert_eq!(Filter::from_notation(Amqp, &[b'#'; 256]), Err(AddressError::TooLong));
}

#[test]
fn what_a_notation_lacks_is_shown_in_a_form_that_it_does_not_have() {
    let zero_or_more = filter(Mqtt, "a/#").to_notation(Nats).unwrap();
    assert_eq!(zero_or_more, "a. #");
    assert!(Filter::from_notation(Nats, &zero_or_more).is_err());
    let inner = filter(Amqp, "#.a");
    assert_eq!(inner.to_notation(Mqtt).unwrap(), "#/a");
    assert!(Filter::from_notation(Mqtt, b"#/a").is_err());
    assert_eq!(filter(Amqp, "*.#.a").to_notation(Nats).unwrap(), ">.a");
    assert!(Filter::from_notation(Nats, b">.a").is_err());
    assert_eq!(filter(Mqtt, "*/a").to_notation(Amqp).unwrap(), "%2A.a");
}

#[test]
fn reserved_first_levels_are_for_their_own_protocol() {
    // filter, address, (matches, from AMQP, from MQTT, from NATS)
    let rows: [(Protocol, &str, &str, [bool; 4]); 10] = [
        (Mqtt, "#", "$x/1", [false, false, false, false]),
        (Mqtt, "+/1", "$x/1", [false, false, false, false]),
        (Mqtt, "$x/#", "$x/1", [true, true, true, true]),
        (Mqtt, "#", "_INBOX/1", [false, false, true, false]),
        (Amqp, "#", "$x/1", [false, true, false, false]),
        (Amqp, "_INBOX.*", "_INBOX/1", [true, true, true, true]),
        (Nats, ">", "$x/1", [true, false, false, true]),
        (Nats, ">", "_INBOX/1", [true, false, false, true]),
        (Nats, ">", "_INBOXES/1", [true, true, true, true]),
        (Nats, ">", "x/$x", [true, true, true, true]),
    ];
    for (protocol, text, to, expected) in rows {
        let (filter, address) = (filter(protocol, text), address(Mqtt, to));
        let got = [
            filter.matches(&address),
            filter.matches_from(&address, Amqp),
            filter.matches_from(&address, Mqtt),
            filter.matches_from(&address, Nats),
        ];
        assert_eq!(got, expected, "{protocol:?} {text} {to}");
    }
}

#[test]
fn hostile_patterns_end() {
    let pattern = format!("{}a", "#.b.".repeat(63));
    let to = vec!["b"; ADDRESS_LEVELS_MAX].join("/");
    assert!(!filter(Amqp, pattern.get(..250).unwrap()).matches(&address(Mqtt, to)));
}

/// Straight from the definition, exponential, over single-letter levels.
fn naive(pattern: &[FilterLevel], levels: &[&[u8]]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return levels.is_empty() };
    match first {
        FilterLevel::Literal(literal) => levels.first() == Some(&&**literal) && naive(rest, levels.get(1..).unwrap()),
        FilterLevel::One => !levels.is_empty() && naive(rest, levels.get(1..).unwrap()),
        FilterLevel::ZeroOrMore => (0..=levels.len()).any(|skip| naive(rest, levels.get(skip..).unwrap())),
        FilterLevel::OneOrMore => (1..=levels.len()).any(|skip| naive(rest, levels.get(skip..).unwrap())),
    }
}

/// The same for a text, before any rewriting.
fn naive_text(pattern: &[&str], levels: &[&str]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return levels.is_empty() };
    match *first {
        "*" => !levels.is_empty() && naive_text(rest, levels.get(1..).unwrap()),
        "#" => (0..=levels.len()).any(|skip| naive_text(rest, levels.get(skip..).unwrap())),
        literal => levels.first() == Some(&literal) && naive_text(rest, levels.get(1..).unwrap()),
    }
}

fn words(from: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(from), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn matching_is_as_defined(pattern in words(&["a", "b", "*", "#", "#"]), levels in words(&["a", "b", "c"])) {
        let (filter, address) = (filter(Amqp, pattern.join(".")), address(Amqp, levels.join(".")));
        let expected = naive_text(&pattern, &levels);
        prop_assert_eq!(filter.matches(&address), expected);
        prop_assert_eq!(naive(filter.levels(), &address.levels().collect::<Vec<_>>()), expected);
    }

    #[test]
    fn a_filter_without_wildcards_is_an_address(text in "[a-z%25 *>#+./]{0,10}") {
        for own in [Amqp, Mqtt, Nats] {
            let Ok(address) = Address::from_notation(own, text.as_bytes()) else { continue };
            let literal = Filter::from_notation(own, text.as_bytes()).unwrap();
            prop_assert!(literal.begins_with_wildcard() || literal.matches(&address));
            for foreign in [Mqtt, Nats] {
                let crossed = Filter::from_notation(foreign, &address.to_notation(foreign).unwrap()).unwrap();
                prop_assert!(crossed.levels().iter().all(|level| matches!(level, FilterLevel::Literal(_))));
                prop_assert!(crossed.matches(&address));
            }
        }
    }

    #[test]
    fn texts_come_back(text in "[ab%25 *>#+./]{0,10}") {
        for own in [Amqp, Mqtt, Nats] {
            let Ok(filter) = Filter::from_notation(own, text.as_bytes()) else { continue };
            for foreign in [Amqp, Mqtt, Nats] {
                let crossed = filter.to_notation(foreign).unwrap();
                if let Ok(back) = Filter::from_notation(foreign, &crossed)
                    && (foreign != Amqp || !filter.levels().iter().any(is_amqp_wildcard_literal))
                {
                    prop_assert_eq!(&back, &filter);
                }
            }
        }
    }

    #[test]
    fn byte_form_comes_back(text in "[ab%*#.]{0,10}", cut in 0_usize..20) {
        let filter = filter(Amqp, &text);
        let mut out = BytesMut::new();
        filter.encode(&mut out);
        let whole = out.freeze();
        let mut input = whole.clone();
        let back = Filter::decode(&mut input).unwrap();
        prop_assert_eq!(back.dialect(), Amqp);
        prop_assert_eq!(back, filter);
        prop_assert!(input.is_empty());
        if cut < whole.len() {
            prop_assert!(Filter::decode(&mut whole.slice(..cut)).is_err());
        }
    }
}

fn is_amqp_wildcard_literal(level: &FilterLevel) -> bool {
    matches!(level, FilterLevel::Literal(literal) if matches!(&**literal, b"*" | b"#"))
}
