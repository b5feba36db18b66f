//! Where publishes go.

use braid_catalog::{Command, Publish, RouteError};
use braid_types::{Address, ConnectionId, HeaderValue, Protocol};

use crate::kit::{Kit, VHOST, arguments, bind, exchange, text, unbind, vhost, word};

#[test]
fn each_kind_routes_in_its_way() {
    let mut kit = Kit::new();
    for name in ["a", "b", "c"] {
        kit.declare(name);
    }
    assert_eq!(kit.routed("", "b"), ["b"]);
    assert!(kit.routed("", "nobody").is_empty());

    kit.done(bind("a", "amq.direct", "k"));
    kit.done(bind("b", "amq.direct", "k"));
    kit.done(bind("c", "amq.direct", "l"));
    assert_eq!(kit.routed("amq.direct", "k"), ["a", "b"]);

    kit.done(bind("a", "amq.fanout", "x"));
    kit.done(bind("a", "amq.fanout", "y"));
    assert_eq!(kit.routed("amq.fanout", "z"), ["a"], "each group once");
    kit.done(unbind("a", "amq.fanout", "x"));
    assert_eq!(kit.routed("amq.fanout", "z"), ["a"], "the other binding is still there");

    kit.done(bind("a", "amq.topic", "u.*"));
    kit.done(bind("b", "amq.topic", "u.#"));
    kit.done(bind("b", "amq.topic", "#"));
    assert_eq!(kit.routed("amq.topic", "u.v"), ["a", "b"]);
    assert_eq!(kit.routed("amq.topic", "u"), ["b"]);
}

#[test]
fn headers_decide_where_they_should() {
    let mut kit = Kit::new();
    kit.declare("all");
    kit.declare("any");
    let bind = |group: &str, how: &str| Command::Bind {
        vhost: vhost(),
        group: text(group),
        exchange: text("amq.headers"),
        key: text(""),
        arguments: arguments(&[("x-match", word(how)), ("p", word("1")), ("q", HeaderValue::Integer(2))]),
        connection: ConnectionId(1),
    };
    kit.done(bind("all", "all"));
    kit.done(bind("any", "any"));
    let mut calls = 0;
    let mut targets = Vec::new();
    let mut headers = || {
        calls += 1;
        arguments(&[("p", word("1"))])
    };
    kit.catalog.route(VHOST, b"amq.headers", b"", None, &mut headers, &mut targets).unwrap();
    assert_eq!(targets.iter().map(|row| row.name.as_ref()).collect::<Vec<_>>(), [b"any"]);
    assert_eq!(calls, 1, "headers are decoded once");
}

#[test]
fn an_existing_target_is_not_added_again() {
    let mut kit = Kit::new();
    let row = kit.declare("a");
    kit.done(bind("a", "amq.fanout", ""));
    let mut targets = vec![row.clone()];
    kit.catalog.route(VHOST, b"amq.fanout", b"", None, &mut Vec::new, &mut targets).unwrap();
    assert_eq!(targets, [row]);
}

#[test]
fn what_cannot_be_published_to() {
    let mut kit = Kit::new();
    kit.done(exchange("x", "direct"));
    kit.done(Command::DeclareExchange {
        vhost: vhost(),
        name: text("inner"),
        kind: text("direct"),
        durable: true,
        auto_delete: false,
        internal: true,
        arguments: Vec::new(),
    });
    for (vhost, exchange, error) in [
        (&b"nowhere"[..], &b"x"[..], RouteError::NoVhost),
        (VHOST, b"nothing", RouteError::NoExchange),
        (VHOST, b"inner", RouteError::Internal),
    ] {
        let result = kit.catalog.route(vhost, exchange, b"", None, &mut Vec::new, &mut Vec::new());
        assert_eq!(result, Err(error));
    }
}

#[test]
fn a_wildcard_reaches_reserved_levels_of_its_own_protocol_alone() {
    let mut kit = Kit::new();
    kit.declare("a");
    kit.done(bind("a", "amq.topic", "#"));
    kit.share("n", "#");
    let key = b"$reserved.level";
    let address = Address::from_notation(Protocol::Amqp, key).unwrap();
    for (origin, count) in [(Some(Protocol::Amqp), 1), (Some(Protocol::Nats), 0), (None, 0)] {
        let mut targets = Vec::new();
        let publish = Publish { exchange: b"amq.topic", key, address: Some(&address) };
        kit.catalog.route_from(origin, VHOST, publish, &mut Vec::new, &mut targets).unwrap();
        assert_eq!(targets.len(), count, "{origin:?}");
    }
}
