//! What the arguments of a declare come to.

use braid_catalog::{DeadLetterStrategy, DelayedRetry, DispatchStrategy, GroupOptions};
use braid_types::{HeaderValue, RefusalKind};

use crate::kit::{Kit, arguments, declare, word};

/// The options of a group with these arguments, of a queue type.
fn options(queue_type: &str, list: &[(&str, HeaderValue)]) -> GroupOptions {
    let mut all = arguments(list);
    all.extend(arguments(&[("x-queue-type", word(queue_type))]));
    Kit::new().row(declare("q", true, None, all)).options.clone()
}

fn number(value: i64) -> HeaderValue {
    HeaderValue::Integer(value)
}

#[test]
fn delayed_retry_has_rabbitmqs_names_on_both_types() {
    type Case<'a> = (&'a [(&'a str, HeaderValue)], Option<DelayedRetry>);
    let retry = |shortest_ms, longest_ms| Some(DelayedRetry { shortest_ms, longest_ms });
    let (kind, min, max) = ("x-delayed-retry-type", "x-delayed-retry-min", "x-delayed-retry-max");
    let cases: [Case<'_>; 8] = [
        (&[], None),
        (&[(kind, word("disabled")), (min, number(100))], None),
        (&[(kind, word("failed"))], retry(1_000, 60_000)),
        (&[(kind, word("failed")), (min, number(100)), (max, number(250))], retry(100, 250)),
        (&[(min, number(100)), (max, number(250))], retry(100, 250)),
        (&[(min, number(100))], retry(100, 60_000)),
        (&[(min, number(90_000))], retry(90_000, 90_000)),
        (&[(max, number(300))], retry(300, 300)),
    ];
    for queue_type in ["classic", "quorum"] {
        for (list, expected) in &cases {
            assert_eq!(options(queue_type, list).delayed_retry, *expected, "{queue_type}: {list:?}");
        }
    }
}

#[test]
fn strategy_and_window() {
    let cases = [
        ("round_robin", DispatchStrategy::RoundRobin),
        ("least_unacked", DispatchStrategy::LeastUnacked),
        ("random", DispatchStrategy::Random),
        ("local_first", DispatchStrategy::LocalFirst),
        ("key", DispatchStrategy::Key),
    ];
    for queue_type in ["classic", "quorum"] {
        for (name, expected) in cases {
            assert_eq!(options(queue_type, &[("x-dispatch-strategy", word(name))]).dispatch_strategy, expected);
        }
        let found = options(queue_type, &[("x-deduplication-window", number(500))]);
        assert_eq!(found.deduplication_window_ms, Some(500));
        let plain = options(queue_type, &[]);
        assert_eq!((plain.dispatch_strategy, plain.deduplication_window_ms), (DispatchStrategy::RoundRobin, None));
    }
}

#[test]
fn at_least_once_needs_reject_publish() {
    let cases = [
        (None, DeadLetterStrategy::AtMostOnce),
        (Some("drop-head"), DeadLetterStrategy::AtMostOnce),
        (Some("reject-publish-dlx"), DeadLetterStrategy::AtMostOnce),
        (Some("reject-publish"), DeadLetterStrategy::AtLeastOnce),
    ];
    for (overflow, expected) in cases {
        let mut list = vec![("x-dead-letter-exchange", word("d")), ("x-dead-letter-strategy", word("at-least-once"))];
        list.extend(overflow.map(|overflow| ("x-overflow", word(overflow))));
        assert_eq!(options("quorum", &list).dead_letter_strategy, expected, "{overflow:?}");
    }
}

#[test]
fn a_delivery_limit_below_zero_is_none() {
    let limit = |value: i64| options("quorum", &[("x-delivery-limit", number(value))]).delivery_limit;
    assert_eq!((limit(-1), limit(0), limit(7)), (None, Some(0), Some(7)));
    assert_eq!(options("quorum", &[]).delivery_limit, Some(20));
    assert_eq!(options("classic", &[]).delivery_limit, None);
    let timeout = options("quorum", &[("x-consumer-timeout", number(1_000))]);
    assert_eq!(timeout.consumer_timeout_ms, Some(1_000));
}

#[test]
fn a_redeclare_has_to_say_the_same() {
    let cases = [
        ("x-delayed-retry-type", word("failed"), word("disabled")),
        ("x-delayed-retry-min", number(1), number(2)),
        ("x-delayed-retry-max", number(1), number(2)),
        ("x-dispatch-strategy", word("key"), word("random")),
        ("x-deduplication-window", number(1), number(2)),
    ];
    for (name, current, other) in cases {
        let mut kit = Kit::new();
        let declared = |value: &HeaderValue| declare("q", true, None, arguments(&[(name, value.clone())]));
        kit.row(declared(&current));
        kit.row(declared(&current));
        for command in [declared(&other), declare("q", true, None, Vec::new())] {
            let refusal = kit.refused(command);
            assert_eq!(refusal.kind, RefusalKind::PreconditionFailed, "{name}");
            let begin = format!("inequivalent arg '{name}' for queue 'q' in vhost '/': received ");
            assert!(refusal.text.starts_with(&begin), "{}", refusal.text);
        }
    }
}
