//! The four kinds of exchange.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use braid_routing::{BindError, Exchange};
use braid_types::{
    Address, AddressError, ExchangeKind, Filter, HeaderValue, Headers, Protocol, limits::ADDRESS_LEVELS_MAX,
};
use bytes::Bytes;

fn bind(exchange: &mut Exchange<&'static str>, target: &'static str, key: &'static str, arguments: &Headers) -> bool {
    exchange.bind(target, Bytes::from_static(key.as_bytes()), arguments.clone()).unwrap()
}

fn route_from(
    exchange: &Exchange<&'static str>,
    key: &str,
    origin: impl Into<Option<Protocol>>,
    headers: &Headers,
) -> Vec<&'static str> {
    let address = Address::from_notation(Protocol::Amqp, key.as_bytes()).ok();
    let mut found = Vec::new();
    exchange
        .route(key.as_bytes(), address.as_ref(), origin.into(), &mut || headers.clone(), |target| found.push(*target));
    found.sort_unstable();
    found
}

fn route(exchange: &Exchange<&'static str>, key: &str) -> Vec<&'static str> {
    route_from(exchange, key, Protocol::Amqp, &Headers::new())
}

fn argument(name: &'static str, value: HeaderValue) -> (Bytes, HeaderValue) {
    (Bytes::from_static(name.as_bytes()), value)
}

fn text(value: &'static str) -> HeaderValue {
    HeaderValue::Text(Bytes::from_static(value.as_bytes()))
}

#[test]
fn direct_goes_by_equal_key() {
    let mut exchange = Exchange::new(ExchangeKind::Direct);
    let none = Headers::new();
    assert!(bind(&mut exchange, "q1", "a.*", &none));
    assert!(bind(&mut exchange, "q2", "a.*", &none));
    assert!(bind(&mut exchange, "q1", "", &none));
    assert!(!bind(&mut exchange, "q1", "a.*", &none), "the same binding is one");
    assert!(bind(&mut exchange, "q1", "a.*", &vec![argument("n", HeaderValue::Float(f64::NAN))]));
    assert_eq!(route(&exchange, "a.*"), ["q1", "q2"], "once each");
    assert_eq!(route(&exchange, "a.b"), [""; 0]);
    assert_eq!(route(&exchange, ""), ["q1"]);
    assert!(exchange.unbind(&"q1", b"a.*", &none));
    assert!(!exchange.unbind(&"q1", b"a.*", &none));
    assert_eq!(route(&exchange, "a.*"), ["q1", "q2"], "the one with arguments is left");
    assert!(exchange.unbind(&"q1", b"a.*", &vec![argument("n", HeaderValue::Float(f64::NAN))]));
    assert_eq!(route(&exchange, "a.*"), ["q2"]);
    assert_eq!(exchange.len(), 2);
}

#[test]
fn fanout_goes_to_all_once() {
    let mut exchange = Exchange::new(ExchangeKind::Fanout);
    for (target, key) in [("q1", "a"), ("q1", "b"), ("q2", "")] {
        assert!(bind(&mut exchange, target, key, &Headers::new()));
    }
    assert_eq!(route(&exchange, "anything"), ["q1", "q2"]);
    assert!(exchange.unbind(&"q1", b"a", &Headers::new()));
    assert_eq!(route(&exchange, ""), ["q1", "q2"]);
    assert!(exchange.unbind(&"q1", b"b", &Headers::new()));
    assert!(!exchange.unbind(&"q3", b"", &Headers::new()));
    assert_eq!(route(&exchange, ""), ["q2"]);
}

#[test]
fn topic_goes_by_pattern_and_targets_come_once() {
    let mut exchange = Exchange::new(ExchangeKind::Topic);
    for (target, key) in [("q1", "a.*"), ("q1", "a.#"), ("q1", "#"), ("q2", "*.b"), ("q3", "$x.*"), ("q4", "#.#")] {
        assert!(bind(&mut exchange, target, key, &Headers::new()));
    }
    assert!(bind(&mut exchange, "q4", "#", &Headers::new()), "an equal pattern in other words is another binding");
    assert_eq!(route(&exchange, "a.b"), ["q1", "q2", "q4"]);
    assert_eq!(route(&exchange, "$x.b"), ["q1", "q2", "q3", "q4"]);
    assert_eq!(route_from(&exchange, "$x.b", Protocol::Mqtt, &Headers::new()), ["q3"]);
    assert_eq!(route_from(&exchange, "_INBOX.b", Protocol::Nats, &Headers::new()), [""; 0]);
    assert!(exchange.unbind(&"q4", b"#", &Headers::new()));
    assert_eq!(route(&exchange, "x"), ["q1", "q4"]);
    assert!(exchange.unbind(&"q4", b"#.#", &Headers::new()));
    assert_eq!(route(&exchange, "x"), ["q1"]);
    let long = Bytes::from(vec![b'.'; ADDRESS_LEVELS_MAX]);
    assert_eq!(exchange.bind("q1", long, Headers::new()), Err(BindError::Pattern(AddressError::TooManyLevels)));
}

#[test]
fn headers_goes_by_values() {
    let mut exchange = Exchange::new(ExchangeKind::Headers);
    let all = vec![argument("a", text("1")), argument("b", HeaderValue::Integer(2))];
    let turned: Headers = all.iter().rev().cloned().collect();
    let any: Headers = all.iter().cloned().chain([argument("x-match", text("any"))]).collect();
    assert!(bind(&mut exchange, "all", "", &all));
    assert!(!bind(&mut exchange, "all", "", &turned), "the order of arguments does not matter");
    assert!(bind(&mut exchange, "any", "", &any));
    assert!(bind(&mut exchange, "any", "k", &any));
    assert!(bind(&mut exchange, "every", "", &Headers::new()));
    let go = |headers: &Headers| route_from(&exchange, "ignored", Protocol::Amqp, headers);
    assert_eq!(go(&turned), ["all", "any", "every"]);
    assert_eq!(go(&vec![argument("b", HeaderValue::Integer(2))]), ["any", "every"]);
    assert_eq!(go(&vec![argument("b", text("2"))]), ["every"]);
    let wrong = vec![argument("x-match", text("most"))];
    assert_eq!(exchange.bind("q", Bytes::new(), wrong), Err(BindError::MatchKind));
    assert!(exchange.unbind(&"all", b"", &turned));
    assert_eq!(exchange.len(), 3);
}

#[test]
fn headers_are_not_asked_for_in_vain() {
    let mut asked = 0;
    for kind in [ExchangeKind::Direct, ExchangeKind::Fanout, ExchangeKind::Topic, ExchangeKind::Headers] {
        let mut exchange = Exchange::new(kind);
        let mut headers = || {
            asked += 1;
            Headers::new()
        };
        exchange.route(b"k", None, Some(Protocol::Amqp), &mut headers, |_: &u8| {});
        exchange.bind(1, Bytes::from_static(b"k"), Headers::new()).unwrap();
        exchange.route(b"k", None, Some(Protocol::Amqp), &mut headers, |_| {});
    }
    assert_eq!(asked, 1);
}

#[test]
fn bindings_are_listed_as_they_were_made() {
    let mut exchange = Exchange::new(ExchangeKind::Topic);
    let arguments = vec![argument("x", text("1"))];
    bind(&mut exchange, "q1", "a.#.#", &Headers::new());
    bind(&mut exchange, "q2", "b", &arguments);
    bind(&mut exchange, "q1", "c", &Headers::new());
    assert!(exchange.unbind(&"q1", b"a.#.#", &Headers::new()));
    bind(&mut exchange, "q3", "a.#.#", &Headers::new());
    let listed: Vec<_> =
        exchange.bindings().map(|view| (*view.target, view.key.clone(), view.arguments.len())).collect();
    let expected = [("q3", "a.#.#", 0), ("q2", "b", 1), ("q1", "c", 0)];
    assert_eq!(listed, expected.map(|(target, key, count)| (target, Bytes::from_static(key.as_bytes()), count)));
}

#[test]
fn filters_of_other_dialects_are_bound_beside_bindings() {
    let mut exchange = Exchange::new(ExchangeKind::Topic);
    let shared = Filter::from_notation(Protocol::Mqtt, b"#").unwrap();
    assert!(exchange.bind_filter("shared", &shared) && exchange.bind_filter("shared", &shared));
    assert!(bind(&mut exchange, "q1", "#", &Headers::new()));
    assert!(bind(&mut exchange, "shared", "a", &Headers::new()));
    assert_eq!(exchange.len(), 2);
    assert_eq!(route(&exchange, "a"), ["q1", "shared"]);
    assert_eq!(route_from(&exchange, "$x", Protocol::Mqtt, &Headers::new()), [""; 0]);
    assert_eq!(route(&exchange, "$x"), ["q1"]);
    assert_eq!(route_from(&exchange, "$x", None, &Headers::new()), [""; 0]);
    assert!(exchange.unbind_filter(&"shared", &shared) && exchange.unbind_filter(&"shared", &shared));
    assert!(!exchange.unbind_filter(&"shared", &shared));
    assert!(!exchange.unbind_filter(&"q1", &Filter::from_notation(Protocol::Amqp, b"b").unwrap()));
    assert_eq!(route(&exchange, "b"), ["q1"]);
    assert_eq!(route(&exchange, "a"), ["q1", "shared"]);
    assert!(!Exchange::new(ExchangeKind::Fanout).bind_filter("q1", &shared));
}
