//! What is refused, with which kind and in which words.

use braid_catalog::{Catalog, Command};
use braid_types::{ConnectionId, HeaderValue, RefusalKind};

use crate::kit::{Kit, arguments, bind, declare, exchange, open, text, unbind, vhost, word};

const OWNER: Option<ConnectionId> = Some(ConnectionId(1));

#[test]
fn group_declares() {
    let mut kit = Kit::new();
    kit.declare("q");
    kit.row(declare("mine", false, OWNER, Vec::new()));
    kit.row(declare("ttl", true, None, arguments(&[("x-message-ttl", HeaderValue::Integer(1000))])));
    let locked = "cannot obtain exclusive access to locked queue 'mine' in vhost '/'. It could be originally declared \
                  on another connection or the exclusive property value does not match that of the original \
                  declaration.";
    let cases = [
        (
            declare("q", false, None, Vec::new()),
            RefusalKind::PreconditionFailed,
            "inequivalent arg 'durable' for queue 'q' in vhost '/': received 'false' but current is 'true'",
        ),
        // Who owns it comes first, before any other difference, and the owner may not redeclare it shared either.
        (declare("mine", true, Some(ConnectionId(2)), Vec::new()), RefusalKind::ResourceLocked, locked),
        (declare("mine", false, None, Vec::new()), RefusalKind::ResourceLocked, locked),
        (
            declare("ttl", true, None, arguments(&[("x-message-ttl", HeaderValue::Integer(2000))])),
            RefusalKind::PreconditionFailed,
            "inequivalent arg 'x-message-ttl' for queue 'ttl' in vhost '/': received the value '2000' of type \
             'signedint' but current is the value '1000' of type 'signedint'",
        ),
        (
            declare("ttl", true, None, Vec::new()),
            RefusalKind::PreconditionFailed,
            "inequivalent arg 'x-message-ttl' for queue 'ttl' in vhost '/': received none but current is the value \
             '1000' of type 'signedint'",
        ),
        (
            declare("q", true, None, arguments(&[("x-queue-type", word("quorum"))])),
            RefusalKind::PreconditionFailed,
            "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received the value 'quorum' of type \
             'longstr' but current is the value 'classic' of type 'longstr'",
        ),
        (
            declare("amq.mine", true, None, Vec::new()),
            RefusalKind::AccessRefused,
            "queue name 'amq.mine' contains reserved prefix 'amq.*'",
        ),
        (
            declare("amq.gen-mine", true, None, Vec::new()),
            RefusalKind::AccessRefused,
            "queue name 'amq.gen-mine' contains reserved prefix 'amq.*'",
        ),
        (
            declare("$share/n/a", true, None, Vec::new()),
            RefusalKind::AccessRefused,
            "queue name '$share/n/a' contains reserved prefix '$share/'",
        ),
        (
            declare("$queue/n", true, None, Vec::new()),
            RefusalKind::AccessRefused,
            "queue name '$queue/n' contains reserved prefix '$queue/'",
        ),
    ];
    for (command, kind, words) in cases {
        let refusal = kit.refused(command.clone());
        assert_eq!((refusal.kind, refusal.text.as_str()), (kind, words), "{command:?}");
    }
}

#[test]
fn group_arguments() {
    let cases = [
        ("x-message-ttl", HeaderValue::Integer(-1), "{value_negative,-1}"),
        ("x-message-ttl", HeaderValue::Integer(4_294_967_296), "{value_too_big,4294967296}"),
        ("x-message-ttl", word("1000"), "\"expected integer, got longstr\""),
        ("x-expires", HeaderValue::Integer(0), "{value_zero,0}"),
        ("x-max-length", HeaderValue::Integer(-5), "{value_negative,-5}"),
        ("x-max-priority", HeaderValue::Integer(256), "{max_value_exceeded,256}"),
        ("x-overflow", word("drop-tail"), "invalid_overflow"),
        ("x-overflow", HeaderValue::Boolean(true), "{unacceptable_type,bool}"),
        ("x-single-active-consumer", word("true"), "{unacceptable_type,longstr}"),
        ("x-dead-letter-routing-key", word("k"), "routing_key_but_no_dlx_defined"),
        ("x-dead-letter-exchange", HeaderValue::Integer(1), "{unacceptable_type,signedint}"),
        ("x-queue-type", word("fast"), "\"unsupported queue type 'fast'\""),
        ("x-delayed-retry-type", word("always"), "invalid_delayed_retry_type"),
        ("x-delayed-retry-type", word("all"), "delayed_retry_type_not_implemented,all"),
        ("x-delayed-retry-type", word("returned"), "delayed_retry_type_not_implemented,returned"),
        ("x-delayed-retry-type", HeaderValue::Integer(1), "{unacceptable_type,signedint}"),
        ("x-delayed-retry-min", HeaderValue::Integer(0), "{value_zero,0}"),
        ("x-delayed-retry-min", HeaderValue::Integer(4_294_967_296), "{value_too_big,4294967296}"),
        ("x-delayed-retry-max", word("1"), "\"expected integer, got longstr\""),
        ("x-dispatch-strategy", word("fair"), "invalid_dispatch_strategy"),
        ("x-dispatch-strategy", HeaderValue::Void, "{unacceptable_type,void}"),
        ("x-deduplication-window", HeaderValue::Integer(0), "{value_zero,0}"),
        ("x-deduplication-window", HeaderValue::Integer(-1), "{value_negative,-1}"),
    ];
    let mut kit = Kit::new();
    for (name, value, why) in cases {
        let refusal = kit.refused(declare("q", true, None, arguments(&[(name, value)])));
        assert_eq!(refusal.kind, RefusalKind::PreconditionFailed);
        assert_eq!(refusal.text, format!("invalid arg '{name}' for queue 'q' in vhost '/': {why}"));
    }
    let range = arguments(&[
        ("x-delayed-retry-min", HeaderValue::Integer(2)),
        ("x-delayed-retry-max", HeaderValue::Integer(1)),
    ]);
    let refusal = kit.refused(declare("q", true, None, range));
    assert_eq!(
        refusal.text,
        "invalid arg 'x-delayed-retry-max' for queue 'q' in vhost '/': delayed_retry_max_below_min"
    );
    let quorum = |name, value| arguments(&[("x-queue-type", word("quorum")), (name, value)]);
    for (name, value, why) in [
        ("x-consumer-timeout", HeaderValue::Integer(0), "{value_zero,0}"),
        ("x-consumer-timeout", HeaderValue::Integer(4_294_967_296), "{value_too_big,4294967296}"),
        ("x-delivery-limit", word("3"), "\"expected integer, got longstr\""),
        ("x-dead-letter-strategy", word("perhaps"), "invalid_dlx_strategy"),
    ] {
        let refusal = kit.refused(declare("q", true, None, quorum(name, value)));
        assert_eq!(refusal.text, format!("invalid arg '{name}' for queue 'q' in vhost '/': {why}"));
    }
    let refusal = kit.refused(declare("q", true, None, arguments(&[("x-delivery-limit", HeaderValue::Integer(3))])));
    assert_eq!(
        refusal.text,
        "invalid arg 'x-delivery-limit' for queue 'q' in vhost '/' of queue type rabbit_classic_queue"
    );
    let refusal = kit.refused(declare("q", true, None, arguments(&[("x-queue-type", word("stream"))])));
    assert_eq!(refusal.kind, RefusalKind::NotImplemented);
    assert!(kit.catalog.group(b"/", b"q").is_none());
}

#[test]
fn a_quorum_group_is_durable_and_nobodys_own() {
    let mut kit = Kit::new();
    let quorum = || arguments(&[("x-queue-type", word("quorum"))]);
    let refusal = kit.refused(declare("q", false, None, quorum()));
    assert_eq!(refusal.text, "invalid property 'non-durable' for queue 'q' in vhost '/'");
    let refusal = kit.refused(declare("q", true, OWNER, quorum()));
    assert_eq!(refusal.text, "invalid property 'exclusive-owner' for queue 'q' in vhost '/'");
    let too_much = arguments(&[("x-queue-type", word("quorum")), ("x-max-priority", HeaderValue::Integer(5))]);
    let refusal = kit.refused(declare("q", true, None, too_much));
    assert_eq!(
        refusal.text,
        "invalid arg 'x-max-priority' for queue 'q' in vhost '/' of queue type rabbit_quorum_queue"
    );
}

#[test]
fn exchanges() {
    let mut kit = Kit::new();
    kit.done(exchange("x", "direct"));
    let delete = |name: &str| Command::DeleteExchange { vhost: vhost(), name: text(name), if_unused: true };
    let cases = [
        (exchange("", "direct"), RefusalKind::AccessRefused, "operation not permitted on the default exchange"),
        (exchange("y", "fast"), RefusalKind::PreconditionFailed, "unknown exchange type 'fast'"),
        (
            exchange("y", "x-delayed-message"),
            RefusalKind::NotImplemented,
            "exchange type 'x-delayed-message' is not implemented",
        ),
        (
            exchange("x", "fanout"),
            RefusalKind::PreconditionFailed,
            "inequivalent arg 'type' for exchange 'x' in vhost '/': received 'fanout' but current is 'direct'",
        ),
        (
            exchange("amq.topic", "direct"),
            RefusalKind::PreconditionFailed,
            "inequivalent arg 'type' for exchange 'amq.topic' in vhost '/': received 'direct' but current is 'topic'",
        ),
        (
            exchange("amq.mine", "direct"),
            RefusalKind::AccessRefused,
            "exchange name 'amq.mine' contains reserved prefix 'amq.*'",
        ),
        (
            delete("amq.topic"),
            RefusalKind::AccessRefused,
            "deletion of system exchange 'amq.topic' in vhost '/' not allowed",
        ),
        (delete(""), RefusalKind::AccessRefused, "operation not permitted on the default exchange"),
    ];
    for (command, kind, words) in cases {
        let refusal = kit.refused(command.clone());
        assert_eq!((refusal.kind, refusal.text.as_str()), (kind, words), "{command:?}");
    }
    kit.done(exchange("amq.topic", "topic"));
    kit.declare("q");
    kit.done(bind("q", "x", "k"));
    assert_eq!(kit.refused(delete("x")).text, "exchange 'x' in vhost '/' in use");
    kit.done(unbind("q", "x", "k"));
    kit.done(delete("x"));
    kit.done(delete("x"));
}

#[test]
fn bindings() {
    let mut kit = Kit::new();
    kit.declare("q");
    kit.row(declare("other", false, Some(ConnectionId(9)), Vec::new()));
    kit.share("n", "a/#");
    let cases = [
        (bind("q", "x", "k"), RefusalKind::NotFound, "no exchange 'x' in vhost '/'"),
        (bind("nobody", "amq.direct", "k"), RefusalKind::NotFound, "no queue 'nobody' in vhost '/'"),
        (bind("q", "", "k"), RefusalKind::AccessRefused, "operation not permitted on the default exchange"),
        (unbind("q", "", "k"), RefusalKind::AccessRefused, "operation not permitted on the default exchange"),
        (
            bind("$share/n/a/#", "amq.direct", "k"),
            RefusalKind::AccessRefused,
            "operation not permitted on shared queue '$share/n/a/#' in vhost '/'",
        ),
    ];
    for (command, kind, words) in cases {
        let refusal = kit.refused(command.clone());
        assert_eq!((refusal.kind, refusal.text.as_str()), (kind, words), "{command:?}");
    }
    assert_eq!(kit.refused(bind("other", "amq.direct", "k")).kind, RefusalKind::ResourceLocked);
    assert_eq!(kit.refused(unbind("other", "amq.direct", "k")).kind, RefusalKind::ResourceLocked);
    // Undoing what is not there is done already.
    kit.done(unbind("q", "amq.direct", "k"));
    kit.done(unbind("nobody", "amq.direct", "k"));
    kit.done(unbind("q", "nothing", "k"));
}

#[test]
fn the_rest() {
    let mut kit = Kit::new();
    let elsewhere = Command::DeclareGroup {
        vhost: text("v"),
        name: text("q"),
        durable: true,
        exclusive: None,
        auto_delete: false,
        arguments: Vec::new(),
        suffix: 1,
    };
    assert_eq!(kit.refused(elsewhere).text, "vhost 'v' not found");
    for share in ["", "a/b", "a+", "#"] {
        assert_eq!(kit.refused(open(share, "t", false)).kind, RefusalKind::NotAllowed, "{share}");
    }
    assert_eq!(kit.refused(declare(&"n".repeat(256), true, None, Vec::new())).kind, RefusalKind::LimitReached);
    assert_eq!(kit.refused(Command::NodeStarted { node: 2, partitions: 0 }).kind, RefusalKind::LimitReached);

    let mine = kit.row(declare("mine", false, OWNER, Vec::new()));
    assert_eq!(Catalog::may_use(&mine, ConnectionId(1)), Ok(()));
    assert_eq!(Catalog::may_use(&mine, ConnectionId(2)).unwrap_err().kind, RefusalKind::ResourceLocked);
}

#[test]
fn nothing_is_placed_before_a_node_is_there() {
    let mut kit = Kit::default();
    kit.run(Command::CreateVhost { name: vhost() });
    assert_eq!(kit.refused(declare("q", true, None, Vec::new())).kind, RefusalKind::Unavailable);
    assert_eq!(kit.refused(open("n", "t", false)).kind, RefusalKind::Unavailable);
}
