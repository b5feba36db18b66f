//! Random command logs: the invariants hold after every command, effects tell every change, and a snapshot with the
//! rest of the log is as good as the whole log.

use std::collections::{BTreeMap, BTreeSet};

use braid_catalog::{Catalog, Command, Effect, Reply};
use braid_types::{Address, ConnectionId, Filter, GroupId, HeaderValue, Machine, Protocol, Stamp, Wire};
use bytes::{Bytes, BytesMut};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::kit::{arguments, mqtt, text, word};

const VHOSTS: [&str; 2] = ["/", "v"];
const NAMES: [&str; 5] = ["n", "m", "amq.gen-x", "$share/n/a/+", ""];
const SHARES: [&str; 2] = ["n", "m"];
const FILTERS: [&str; 4] = ["a/+", "a/b", "#", "b"];
const EXCHANGES: [&str; 6] = ["amq.topic", "amq.direct", "amq.headers", "x", "y", ""];
const KEYS: [&str; 4] = ["a.*", "a.b", "#", "b"];

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = Bytes> {
    select(words).prop_map(text)
}

fn some_arguments() -> impl Strategy<Value = Vec<(Bytes, HeaderValue)>> {
    select(vec![
        Vec::new(),
        arguments(&[("x-message-ttl", HeaderValue::Integer(10))]),
        arguments(&[("x-match", word("any")), ("h", HeaderValue::Integer(1))]),
        arguments(&[("x-queue-type", word("quorum"))]),
        arguments(&[("deep", HeaderValue::List(vec![HeaderValue::Float(0.5), HeaderValue::Void]))]),
    ])
}

fn declares() -> impl Strategy<Value = Command> {
    let exchange = (one_of(&VHOSTS), one_of(&EXCHANGES), one_of(&["topic", "direct", "headers"]), any::<[bool; 3]>())
        .prop_map(|(vhost, name, kind, [durable, auto_delete, internal])| Command::DeclareExchange {
            vhost,
            name,
            kind,
            durable,
            auto_delete,
            internal,
            arguments: Vec::new(),
        });
    let group = (one_of(&VHOSTS), one_of(&NAMES), any::<[bool; 3]>(), some_arguments(), 0..3u64).prop_map(
        |(vhost, name, [durable, exclusive, auto_delete], arguments, suffix)| Command::DeclareGroup {
            vhost,
            name,
            durable,
            exclusive: exclusive.then_some(ConnectionId(suffix)),
            auto_delete,
            arguments,
            suffix,
        },
    );
    prop_oneof![1 => exchange, 3 => group]
}

fn bindings() -> impl Strategy<Value = Command> {
    let ends = (one_of(&VHOSTS), one_of(&NAMES), one_of(&EXCHANGES), one_of(&KEYS), some_arguments(), 0..3u64);
    (any::<bool>(), ends).prop_map(|(binds, (vhost, group, exchange, key, arguments, connection))| {
        let connection = ConnectionId(connection);
        if binds {
            Command::Bind { vhost, group, exchange, key, arguments, connection }
        } else {
            Command::Unbind { vhost, group, exchange, key, arguments, connection }
        }
    })
}

fn command() -> impl Strategy<Value = Command> {
    let open = (one_of(&VHOSTS), one_of(&SHARES), select(&FILTERS[..]), any::<bool>()).prop_map(
        |(vhost, share, filter, logged)| Command::OpenShared {
            vhost,
            share,
            filter: mqtt(filter),
            filter_text: text(filter),
            logged,
        },
    );
    let delete_exchange = (one_of(&VHOSTS), one_of(&EXCHANGES), any::<bool>())
        .prop_map(|(vhost, name, if_unused)| Command::DeleteExchange { vhost, name, if_unused });
    prop_oneof![
        1 => one_of(&VHOSTS).prop_map(|name| Command::CreateVhost { name }),
        1 => select(&VHOSTS[1..]).prop_map(|name| Command::DeleteVhost { name: text(name) }),
        1 => (1..3u64, 1..4u32).prop_map(|(node, partitions)| Command::NodeStarted { node, partitions }),
        1 => one_of(&["u", "w"]).prop_map(|name| Command::PutUser {
            name,
            password_hash: "h".to_string(),
            tags: vec!["t".to_string()],
        }),
        8 => declares(),
        10 => bindings(),
        6 => open,
        2 => delete_exchange,
        3 => (1..30u64).prop_map(|id| Command::DeleteGroup { group: GroupId(id) }),
        3 => (1..30u64).prop_map(|id| Command::DropShared { group: GroupId(id) }),
    ]
}

/// A log that begins as every real one does.
fn log() -> impl Strategy<Value = Vec<Command>> {
    vec(command(), 1..60).prop_map(|mut commands| {
        commands.insert(0, Command::CreateVhost { name: text("/") });
        commands.insert(1, Command::NodeStarted { node: 1, partitions: 3 });
        commands
    })
}

fn apply(catalog: &mut Catalog, command: &Command) -> (Reply, Vec<Effect>) {
    let mut effects = Vec::new();
    let reply = catalog.apply(Stamp::default(), command.clone(), &mut effects);
    (reply, effects)
}

fn bytes(catalog: &Catalog) -> Bytes {
    let mut out = BytesMut::new();
    catalog.snapshot(&mut out);
    out.freeze()
}

/// What every pair of the vocabulary resolves to.
fn answers(catalog: &Catalog) -> BTreeMap<(&'static str, &'static str, &'static str), GroupId> {
    let mut answers = BTreeMap::new();
    for vhost in VHOSTS {
        for share in SHARES {
            for filter in FILTERS {
                let row = catalog.resolve(vhost.as_bytes(), share.as_bytes(), &mqtt(filter));
                answers.extend(row.map(|row| ((vhost, share, filter), row.id)));
            }
        }
    }
    answers
}

/// Where publishes of the vocabulary go.
fn routes(catalog: &Catalog) -> Vec<Vec<GroupId>> {
    let mut routes = Vec::new();
    for vhost in VHOSTS {
        for exchange in EXCHANGES {
            for key in ["a.b", "b", "n", "$share/n/a/+"] {
                let address = Address::from_notation(Protocol::Amqp, key.as_bytes()).ok();
                let mut targets = Vec::new();
                let mut headers = || arguments(&[("h", HeaderValue::Integer(1))]);
                let (vhost, exchange) = (vhost.as_bytes(), exchange.as_bytes());
                let routed =
                    catalog.route(vhost, exchange, key.as_bytes(), address.as_ref(), &mut headers, &mut targets);
                assert!(routed.is_ok() || targets.is_empty());
                routes.push(targets.iter().map(|row| row.id).collect());
            }
        }
    }
    routes
}

/// Rule 1 and 2, told from the rows alone, without any index.
fn naive_resolve(catalog: &Catalog, vhost: &str, share: &str, filter: &str) -> Option<GroupId> {
    let filter = mqtt(filter);
    let declared = catalog.group(vhost.as_bytes(), share.as_bytes()).filter(|row| row.is_joinable_by_share());
    let is_bound = |id| {
        catalog.bindings(vhost.as_bytes()).any(|binding| {
            binding.group == id
                && binding.exchange == "amq.topic"
                && Filter::from_notation(Protocol::Amqp, &binding.key).as_ref() == Ok(&filter)
        })
    };
    if let Some(row) = declared.filter(|row| is_bound(row.id)) {
        return Some(row.id);
    }
    let name = format!("$share/{share}/{}", String::from_utf8_lossy(&filter.to_notation(Protocol::Mqtt).unwrap()));
    catalog.group(vhost.as_bytes(), name.as_bytes()).map(|row| row.id)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_and_effects_tell_all(log in log()) {
        let mut catalog = Catalog::default();
        let mut mirror = BTreeMap::new();
        let mut ever = BTreeSet::new();
        for command in &log {
            let (answers_before, routes_before, bytes_before) = (answers(&catalog), routes(&catalog), bytes(&catalog));
            let (reply, effects) = apply(&mut catalog, command);
            prop_assert_eq!(catalog.check_invariants(), Ok(()), "{:?}", command);
            if matches!(reply, Reply::Refused(_)) {
                prop_assert_eq!(&effects, &Vec::new());
                prop_assert_eq!(bytes_before, bytes(&catalog), "a refused command changed something: {:?}", command);
            }
            let mut told = BTreeSet::new();
            let mut routes_told = false;
            for effect in effects {
                match effect {
                    Effect::GroupCreated(row) => {
                        prop_assert!(ever.insert(row.id), "id {:?} is used again", row.id);
                        prop_assert!(mirror.insert(row.id, row).is_none());
                    }
                    Effect::GroupChanged(row) => prop_assert!(mirror.insert(row.id, row).is_some()),
                    Effect::GroupDeleted(row) => prop_assert!(mirror.remove(&row.id).is_some()),
                    Effect::RoutesChanged => routes_told = true,
                    Effect::ResolutionChanged { vhost, share } => prop_assert!(told.insert((vhost, share))),
                }
            }
            prop_assert!(catalog.all_groups().eq(mirror.values()), "effects mirror the groups");
            prop_assert!(routes_told || routes_before == routes(&catalog), "a route changed untold: {:?}", command);
            let after = answers(&catalog);
            for vhost in VHOSTS {
                for share in SHARES {
                    let of = |answers: &BTreeMap<(&'static str, &'static str, &'static str), GroupId>| {
                        FILTERS.map(|filter| answers.get(&(vhost, share, filter)).copied())
                    };
                    let changed = of(&answers_before) != of(&after);
                    prop_assert_eq!(changed, told.contains(&(text(vhost), text(share))), "{} {}: {:?}", vhost, share, command);
                    for filter in FILTERS {
                        let naive = naive_resolve(&catalog, vhost, share, filter);
                        prop_assert_eq!(after.get(&(vhost, share, filter)).copied(), naive);
                    }
                }
            }
        }
    }

    #[test]
    fn a_snapshot_and_the_rest_are_as_good_as_the_log(log in log(), at in any::<prop::sample::Index>()) {
        let at = at.index(log.len());
        let mut whole = Catalog::default();
        for command in &log[..at] {
            apply(&mut whole, command);
        }
        let snapshot = bytes(&whole);
        let mut restored = Catalog::restore(&mut snapshot.clone()).unwrap();
        prop_assert_eq!(&bytes(&restored), &snapshot);
        prop_assert_eq!(routes(&restored), routes(&whole));
        for command in &log[at..] {
            let mut encoded = BytesMut::new();
            command.encode(&mut encoded);
            let decoded = Command::decode(&mut encoded.freeze()).unwrap();
            prop_assert_eq!(apply(&mut restored, &decoded), apply(&mut whole, command));
        }
        prop_assert_eq!(bytes(&restored), bytes(&whole));
    }

    #[test]
    fn a_damaged_snapshot_never_panics(log in log(), cut in any::<prop::sample::Index>(), flip in any::<u8>()) {
        let mut catalog = Catalog::default();
        for command in &log {
            apply(&mut catalog, command);
        }
        let mut snapshot = BytesMut::from(bytes(&catalog).as_ref());
        let at = cut.index(snapshot.len());
        prop_assert!(Catalog::restore(&mut Bytes::copy_from_slice(&snapshot[..at])).is_err());
        snapshot[at] ^= flip;
        if let Ok(restored) = Catalog::restore(&mut snapshot.freeze()) {
            prop_assert_eq!(restored.check_invariants(), Ok(()));
        }
    }

    #[test]
    fn bytes_that_are_no_command_never_panic(junk in vec(any::<u8>(), 0..200)) {
        let mut input = Bytes::from(junk);
        if let Ok(command) = Command::decode(&mut input) {
            let mut encoded = BytesMut::new();
            command.encode(&mut encoded);
            prop_assert!(!encoded.is_empty());
        }
    }
}
