//! A catalog with one vhost and one node, and short ways to say commands.

use std::sync::Arc;

use braid_catalog::{Catalog, Command, Effect, GroupRow, Reply};
use braid_types::{Address, ConnectionId, Filter, GroupId, HeaderValue, Headers, Machine, Protocol, Refusal, Stamp};
use bytes::Bytes;

pub(crate) const VHOST: &[u8] = b"/";

pub(crate) fn text(value: &str) -> Bytes {
    Bytes::copy_from_slice(value.as_bytes())
}

pub(crate) fn vhost() -> Bytes {
    Bytes::from_static(VHOST)
}

pub(crate) fn mqtt(filter: &str) -> Filter {
    Filter::from_notation(Protocol::Mqtt, filter.as_bytes()).unwrap()
}

pub(crate) fn arguments(list: &[(&str, HeaderValue)]) -> Headers {
    list.iter().map(|(name, value)| (text(name), value.clone())).collect()
}

pub(crate) fn word(value: &str) -> HeaderValue {
    HeaderValue::Text(text(value))
}

/// A catalog under test.
#[derive(Debug, Default)]
pub(crate) struct Kit {
    pub(crate) catalog: Catalog,
    pub(crate) effects: Vec<Effect>,
}

impl Kit {
    pub(crate) fn new() -> Self {
        let mut kit = Self::default();
        kit.run(Command::CreateVhost { name: vhost() });
        kit.run(Command::NodeStarted { node: 1, partitions: 4 });
        kit.effects.clear();
        kit
    }

    /// Applies a command; `effects` then holds what it caused.
    pub(crate) fn run(&mut self, command: Command) -> Reply {
        self.effects.clear();
        let reply = self.catalog.apply(Stamp::default(), command, &mut self.effects);
        assert_eq!(self.catalog.check_invariants(), Ok(()));
        reply
    }

    pub(crate) fn row(&mut self, command: Command) -> Arc<GroupRow> {
        match self.run(command) {
            Reply::Declared { row, .. } => row,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn refused(&mut self, command: Command) -> Refusal {
        let reply = self.run(command);
        assert_eq!(self.effects, [], "a refused command changes nothing");
        match reply {
            Reply::Refused(refusal) => refusal,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn done(&mut self, command: Command) {
        assert_eq!(self.run(command), Reply::Done);
    }

    pub(crate) fn declare(&mut self, name: &str) -> Arc<GroupRow> {
        self.row(declare(name, true, None, Vec::new()))
    }

    pub(crate) fn share(&mut self, share: &str, filter: &str) -> Arc<GroupRow> {
        self.row(open(share, filter, false))
    }

    pub(crate) fn resolved(&self, share: &str, filter: &str) -> Option<GroupId> {
        self.catalog.resolve(VHOST, share.as_bytes(), &mqtt(filter)).map(|row| row.id)
    }

    pub(crate) fn routed(&self, exchange: &str, key: &str) -> Vec<String> {
        let address = Address::from_notation(Protocol::Amqp, key.as_bytes()).ok();
        let mut targets = Vec::new();
        self.catalog
            .route(VHOST, exchange.as_bytes(), key.as_bytes(), address.as_ref(), &mut Vec::new, &mut targets)
            .unwrap();
        targets.iter().map(|row| String::from_utf8_lossy(&row.name).to_string()).collect()
    }

    /// The share names whose resolution the last command changed.
    pub(crate) fn changed_shares(&self) -> Vec<String> {
        self.effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::ResolutionChanged { share, .. } => Some(String::from_utf8_lossy(share).to_string()),
                _ => None,
            })
            .collect()
    }
}

pub(crate) fn declare(name: &str, durable: bool, exclusive: Option<ConnectionId>, arguments: Headers) -> Command {
    Command::DeclareGroup {
        vhost: vhost(),
        name: text(name),
        durable,
        exclusive,
        auto_delete: false,
        arguments,
        suffix: 1,
    }
}

pub(crate) fn exchange(name: &str, kind: &str) -> Command {
    Command::DeclareExchange {
        vhost: vhost(),
        name: text(name),
        kind: text(kind),
        durable: true,
        auto_delete: false,
        internal: false,
        arguments: Vec::new(),
    }
}

pub(crate) fn bind(group: &str, exchange: &str, key: &str) -> Command {
    Command::Bind {
        vhost: vhost(),
        group: text(group),
        exchange: text(exchange),
        key: text(key),
        arguments: Vec::new(),
        connection: ConnectionId(1),
    }
}

pub(crate) fn unbind(group: &str, exchange: &str, key: &str) -> Command {
    Command::Unbind {
        vhost: vhost(),
        group: text(group),
        exchange: text(exchange),
        key: text(key),
        arguments: Vec::new(),
        connection: ConnectionId(1),
    }
}

pub(crate) fn open(share: &str, filter: &str, logged: bool) -> Command {
    Command::OpenShared { vhost: vhost(), share: text(share), filter: mqtt(filter), filter_text: text(filter), logged }
}
