//! How rows come, stay and go.

use std::sync::Arc;

use braid_catalog::{Command, Effect, GroupKind, Overflow, Reply, StorageClass};
use braid_types::{ConnectionId, Epoch, HeaderValue, PartitionId};

use crate::kit::{Kit, VHOST, arguments, bind, declare, exchange, open, text, unbind, vhost, word};

#[test]
fn a_vhost_is_born_with_its_exchanges_and_takes_all_with_it() {
    let mut kit = Kit::new();
    let names: Vec<_> = kit.catalog.exchanges(VHOST).map(|row| row.name.clone()).collect();
    assert_eq!(names, ["amq.direct", "amq.fanout", "amq.headers", "amq.match", "amq.topic"].map(text));
    assert_eq!(kit.run(Command::CreateVhost { name: vhost() }), Reply::Vhost { name: vhost(), created: false });
    let row = kit.declare("q");
    kit.done(Command::DeleteVhost { name: vhost() });
    assert_eq!(kit.effects, [Effect::GroupDeleted(Arc::clone(&row)), Effect::RoutesChanged]);
    assert!(!kit.catalog.has_vhost(VHOST) && kit.catalog.group_by_id(row.id).is_none());
    kit.done(Command::DeleteVhost { name: vhost() });
}

#[test]
fn a_redeclare_gives_the_same_row() {
    let mut kit = Kit::new();
    let wide = |value| arguments(&[("x-max-length", HeaderValue::Integer(value)), ("x-unknown", word("one"))]);
    let row = kit.row(declare("q", true, None, wide(10)));
    assert_eq!((row.leader, row.partition, row.epoch), (1, PartitionId(256), Epoch(1)));
    assert_eq!(kit.effects, [Effect::GroupCreated(Arc::clone(&row)), Effect::RoutesChanged]);
    // The unknown argument is kept, and not compared.
    let again = kit.run(declare("q", true, None, arguments(&[("x-max-length", HeaderValue::Integer(10))])));
    assert_eq!(again, Reply::Declared { row: Arc::clone(&row), created: false });
    assert_eq!(kit.effects, []);
    // No type named: any; the one that it has: fine.
    kit.row(declare("q", true, None, [wide(10), arguments(&[("x-queue-type", word("classic"))])].concat()));
}

#[test]
fn classes_are_resolved_when_declared() {
    let mut kit = Kit::new();
    let quorum = || arguments(&[("x-queue-type", word("quorum"))]);
    assert_eq!(kit.declare("classic").class, StorageClass::Disk);
    assert_eq!(kit.row(declare("passing", false, None, Vec::new())).class, StorageClass::Memory);
    assert_eq!(kit.row(declare("own", true, Some(ConnectionId(1)), Vec::new())).class, StorageClass::Memory);
    let row = kit.row(declare("quorum", true, None, quorum()));
    assert_eq!((row.class, row.options.delivery_limit), (StorageClass::Quorum, Some(20)));
    let unlimited = [quorum(), arguments(&[("x-delivery-limit", HeaderValue::Integer(-1))])].concat();
    assert_eq!(kit.row(declare("unlimited", true, None, unlimited)).options.delivery_limit, None);
}

#[test]
fn options_are_parsed() {
    let mut kit = Kit::new();
    let row = kit.row(declare(
        "q",
        true,
        None,
        arguments(&[
            ("x-message-ttl", HeaderValue::Integer(5)),
            ("x-expires", HeaderValue::Integer(6)),
            ("x-max-length", HeaderValue::Integer(7)),
            ("x-max-length-bytes", HeaderValue::Integer(8)),
            ("x-overflow", word("reject-publish")),
            ("x-dead-letter-exchange", word("")),
            ("x-dead-letter-routing-key", word("k")),
            ("x-max-priority", HeaderValue::Integer(9)),
            ("x-single-active-consumer", HeaderValue::Boolean(true)),
        ]),
    ));
    let options = &row.options;
    assert_eq!((options.message_ttl_ms, options.expires_ms), (Some(5), Some(6)));
    assert_eq!((options.max_length, options.max_length_bytes), (Some(7), Some(8)));
    assert_eq!((options.overflow, options.max_priority), (Overflow::RejectPublish, Some(9)));
    assert_eq!(options.dead_letter_exchange.as_deref(), Some(&b""[..]));
    assert_eq!(options.dead_letter_routing_key.as_deref(), Some(&b"k"[..]));
    assert!(options.single_active_consumer);
    assert_eq!(options.delivery_limit, None);
}

#[test]
fn a_group_without_a_name_gets_one_that_is_free() {
    let mut kit = Kit::new();
    let first = kit.declare("");
    let second = kit.declare("");
    assert!(first.name.starts_with(b"amq.gen-") && first.name.len() == 19, "{:?}", first.name);
    assert_ne!(first.name, second.name);
    let name = String::from_utf8_lossy(&first.name).to_string();
    assert_eq!(kit.declare(&name), first);
}

#[test]
fn a_late_clean_up_spares_the_group_that_came_after() {
    let mut kit = Kit::new();
    let first = kit.row(declare("q", false, Some(ConnectionId(1)), Vec::new()));
    kit.done(Command::DeleteGroup { group: first.id });
    let second = kit.row(declare("q", false, Some(ConnectionId(2)), Vec::new()));
    kit.done(Command::DeleteGroup { group: first.id });
    assert_eq!(kit.effects, []);
    assert_eq!(kit.catalog.group(VHOST, b"q"), Some(&second));
    assert!(second.id > first.id);
}

#[test]
fn an_auto_delete_exchange_goes_with_its_last_binding() {
    let passing = Command::DeclareExchange {
        vhost: vhost(),
        name: text("x"),
        kind: text("fanout"),
        durable: true,
        auto_delete: true,
        internal: false,
        arguments: Vec::new(),
    };
    let mut kit = Kit::new();
    let row = kit.declare("q");
    kit.declare("r");
    kit.done(passing.clone());
    assert!(kit.catalog.exchange(VHOST, b"x").is_some(), "not before it had one");
    kit.done(bind("q", "x", ""));
    kit.done(bind("r", "x", ""));
    kit.done(unbind("q", "x", ""));
    assert!(kit.catalog.exchange(VHOST, b"x").is_some());
    kit.done(unbind("r", "x", ""));
    assert!(kit.catalog.exchange(VHOST, b"x").is_none());

    kit.done(passing);
    kit.done(bind("q", "x", ""));
    kit.done(Command::DeleteGroup { group: row.id });
    assert!(kit.catalog.exchange(VHOST, b"x").is_none(), "also when the group goes");
    assert_eq!(kit.catalog.bindings(VHOST).count(), 0);
}

#[test]
fn a_restarted_node_lost_what_was_in_its_memory() {
    let mut kit = Kit::new();
    kit.declare("stays");
    kit.row(declare("passing", false, None, Vec::new()));
    kit.row(declare("own", true, Some(ConnectionId(1)), Vec::new()));
    kit.share("n", "direct");
    kit.row(open("n", "disk", true));
    kit.done(Command::DeclareExchange {
        vhost: vhost(),
        name: text("x"),
        kind: text("fanout"),
        durable: false,
        auto_delete: false,
        internal: false,
        arguments: Vec::new(),
    });
    kit.done(exchange("y", "fanout"));
    kit.done(bind("stays", "x", ""));
    kit.done(bind("stays", "y", ""));
    kit.done(bind("passing", "y", ""));

    kit.done(Command::NodeStarted { node: 1, partitions: 4 });
    let names: Vec<_> = kit.catalog.all_groups().map(|row| row.name.clone()).collect();
    assert_eq!(names, [text("stays"), text("$share/n/disk")]);
    assert!(kit.catalog.exchange(VHOST, b"x").is_none());
    assert_eq!(kit.routed("y", ""), ["stays"]);
    assert_eq!(kit.catalog.bindings(VHOST).count(), 1);
    assert_eq!(kit.changed_shares(), ["n"]);
}

#[test]
fn another_node_takes_nothing_from_the_first() {
    let mut kit = Kit::new();
    kit.row(declare("passing", false, None, Vec::new()));
    kit.done(Command::NodeStarted { node: 2, partitions: 2 });
    assert_eq!(kit.effects, []);
    let row = kit.declare("next");
    assert_eq!((row.leader, row.partition), (2, PartitionId(1024 + 256)), "the node with the fewest groups");
    kit.done(Command::NodeStarted { node: 2, partitions: 2 });
    assert!(kit.catalog.group(VHOST, b"passing").is_some());
}

#[test]
fn groups_spread_over_partitions_and_follow_when_one_goes() {
    let mut kit = Kit::new();
    for number in 0..8 {
        let row = kit.declare(&format!("q{number}"));
        assert_eq!(row.partition, PartitionId(256 + number % 4));
    }
    kit.done(Command::NodeStarted { node: 1, partitions: 2 });
    let moved = kit.effects.iter().filter(|effect| matches!(effect, Effect::GroupChanged(_))).count();
    assert_eq!(moved, 4);
    let node = kit.catalog.nodes().next().unwrap().1;
    let loads: Vec<_> = node.partitions.iter().map(|(id, groups)| (id.0, *groups)).collect();
    assert_eq!(loads, [(0, 0), (1, 0), (256, 4), (257, 4), (512, 0), (513, 0)]);
    kit.done(Command::NodeStarted { node: 1, partitions: 4 });
    assert_eq!(kit.declare("new").partition, PartitionId(258));
}

#[test]
fn a_shared_group_is_raised_once_and_never_back() {
    let mut kit = Kit::new();
    let direct = kit.share("n", "a/+");
    assert_eq!((direct.class, direct.name.as_ref()), (StorageClass::Direct, &b"$share/n/a/+"[..]));
    assert!(matches!(&direct.kind, GroupKind::Shared { share, .. } if share == "n"));
    let raised = kit.row(open("n", "a/+", true));
    assert_eq!((raised.id, raised.class), (direct.id, StorageClass::Disk));
    assert_eq!(kit.effects, [Effect::GroupChanged(Arc::clone(&raised)), Effect::RoutesChanged]);
    assert_eq!(kit.share("n", "a/+"), raised);
    assert_eq!(kit.effects, []);
    assert_eq!(kit.catalog.group(VHOST, b"$share/n/a/+"), Some(&raised));

    kit.done(Command::DropShared { group: raised.id });
    assert_eq!(kit.catalog.all_groups().count(), 0);
    let declared = kit.declare("q");
    kit.done(Command::DropShared { group: declared.id });
    assert_eq!(kit.catalog.all_groups().count(), 1, "a declared group is not dropped like this");
}

#[test]
fn users_come_and_go() {
    let mut kit = Kit::new();
    let put = |hash: &str| Command::PutUser {
        name: text("u"),
        password_hash: hash.to_string(),
        tags: vec!["administrator".to_string()],
    };
    kit.done(put("one"));
    kit.done(put("two"));
    let user = kit.catalog.user(b"u").unwrap();
    assert_eq!(user.password_hash, "two");
    assert!(!format!("{user:?}").contains("two"), "a hash is not shown");
    kit.done(Command::DeleteUser { name: text("u") });
    assert!(kit.catalog.user(b"u").is_none());
}
