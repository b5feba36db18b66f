//! The state machine itself: one match over commands, and the queries. What a command does is in `catalog/`, by what
//! it is about.

mod bindings;
mod exchanges;
mod groups;
mod nodes;
mod shares;
mod vhosts;

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use braid_types::{Address, ConnectionId, CorruptBytes, Filter, GroupId, Headers, Machine, Protocol, Refusal, Stamp};
use bytes::{Bytes, BytesMut};

use crate::{
    Binding, Command, Effect, ExchangeRow, GroupRow, Node, Reply, UserRow, changes::Changes, placement::Placement,
    refusals, snapshot, vhost::Vhost,
};

/// Why a publish cannot be routed. That it matches nothing is not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// There is no such vhost.
    NoVhost,
    /// There is no such exchange in it.
    NoExchange,
    /// The exchange cannot be published to.
    Internal,
}

/// Where a message is published to.
#[derive(Clone, Copy, Debug)]
pub struct Publish<'a> {
    /// The exchange's name; empty: the default exchange.
    pub exchange: &'a [u8],
    /// Routing key.
    pub key: &'a [u8],
    /// The key as a canonical address, where it is one.
    pub address: Option<&'a Address>,
}

/// The catalog. See the crate's documentation.
#[derive(Debug, Default)]
pub struct Catalog {
    pub(crate) vhosts: BTreeMap<Bytes, Vhost>,
    pub(crate) users: BTreeMap<Bytes, Arc<UserRow>>,
    pub(crate) placement: Placement,
    pub(crate) by_id: BTreeMap<GroupId, Arc<GroupRow>>,
    /// The last id that was given to a group.
    pub(crate) last_group: u64,
}

impl Catalog {
    /// The group of that name.
    #[must_use]
    pub fn group(&self, vhost: &[u8], name: &[u8]) -> Option<&Arc<GroupRow>> {
        self.vhosts.get(vhost)?.groups.get(name)
    }

    /// The last id that was given to a group: one up to here that no group has was deleted.
    #[must_use]
    pub fn last_group(&self) -> GroupId {
        GroupId(self.last_group)
    }

    /// The group of that id.
    #[must_use]
    pub fn group_by_id(&self, group: GroupId) -> Option<&Arc<GroupRow>> {
        self.by_id.get(&group)
    }

    /// The groups of a vhost, ordered by name; none when there is no such vhost.
    pub fn groups(&self, vhost: &[u8]) -> impl Iterator<Item = &Arc<GroupRow>> {
        self.vhosts.get(vhost).into_iter().flat_map(|vhost| vhost.groups.values())
    }

    /// All groups, ordered by id: the order in which they were made.
    pub fn all_groups(&self) -> impl Iterator<Item = &Arc<GroupRow>> {
        self.by_id.values()
    }

    /// The group that `$share/<share>/<filter>` and `SUB <filter> <share>` mean now, by rules 1 and 2 of SPEC section 3,
    /// Identity.
    #[must_use]
    pub fn resolve(&self, vhost: &[u8], share: &[u8], filter: &Filter) -> Option<&Arc<GroupRow>> {
        self.vhosts.get(vhost)?.resolve(share, filter)
    }

    /// The groups that a message published to `exchange` with `key` goes to are added to `targets`, which then holds
    /// each group once, ordered by id. `address` is the key as a canonical address, where it is one; `headers` is called
    /// at most once, and only by a headers exchange.
    ///
    /// # Errors
    /// The vhost or exchange does not exist, or takes no publishes.
    pub fn route(
        &self,
        vhost: &[u8],
        exchange: &[u8],
        key: &[u8],
        address: Option<&Address>,
        headers: &mut dyn FnMut() -> Headers,
        targets: &mut Vec<Arc<GroupRow>>,
    ) -> Result<(), RouteError> {
        self.route_from(None, vhost, Publish { exchange, key, address }, headers, targets)
    }

    /// As [`Catalog::route`], when the publisher's protocol is known: a pattern of its own protocol that begins with a
    /// wildcard may then match an address whose first level is reserved (SPEC section 4).
    ///
    /// # Errors
    /// The vhost or exchange does not exist, or takes no publishes.
    pub fn route_from(
        &self,
        origin: Option<Protocol>,
        vhost: &[u8],
        publish: Publish<'_>,
        headers: &mut dyn FnMut() -> Headers,
        targets: &mut Vec<Arc<GroupRow>>,
    ) -> Result<(), RouteError> {
        let Publish { exchange, key, address } = publish;
        let vhost = self.vhosts.get(vhost).ok_or(RouteError::NoVhost)?;
        if exchange.is_empty() {
            targets.extend(vhost.groups.get(key).map(Arc::clone));
        } else {
            let exchange = vhost.exchanges.get(exchange).ok_or(RouteError::NoExchange)?;
            if exchange.row.internal {
                return Err(RouteError::Internal);
            }
            exchange.routes.route(key, address, origin, headers, |group| {
                if vhost.is_routed_to(*group) {
                    targets.extend(self.by_id.get(group).map(Arc::clone));
                }
            });
        }
        if targets.len() > 1 {
            targets.sort_unstable_by_key(|row| row.id);
            targets.dedup_by_key(|row| row.id);
        }
        Ok(())
    }

    /// The exchange of that name; the default exchange is no row.
    #[must_use]
    pub fn exchange(&self, vhost: &[u8], name: &[u8]) -> Option<&Arc<ExchangeRow>> {
        Some(&self.vhosts.get(vhost)?.exchanges.get(name)?.row)
    }

    /// The exchanges of a vhost, ordered by name.
    pub fn exchanges(&self, vhost: &[u8]) -> impl Iterator<Item = &Arc<ExchangeRow>> {
        self.vhosts.get(vhost).into_iter().flat_map(|vhost| vhost.exchanges.values()).map(|state| &state.row)
    }

    /// The bindings of a vhost, ordered by exchange.
    pub fn bindings(&self, vhost: &[u8]) -> impl Iterator<Item = &Arc<Binding>> {
        self.vhosts.get(vhost).into_iter().flat_map(|vhost| vhost.bindings.iter())
    }

    /// The bindings of one group.
    pub fn bindings_of_group(&self, group: GroupId) -> impl Iterator<Item = &Arc<Binding>> {
        let vhost = self.by_id.get(&group).and_then(|row| self.vhosts.get(&row.vhost));
        vhost.into_iter().flat_map(move |vhost| vhost.bindings.of_group(group))
    }

    /// The bindings of one exchange.
    pub fn bindings_of_exchange<'a>(
        &'a self,
        vhost: &[u8],
        exchange: &'a [u8],
    ) -> impl Iterator<Item = &'a Arc<Binding>> {
        self.vhosts.get(vhost).into_iter().flat_map(move |vhost| vhost.bindings.of_exchange(exchange))
    }

    /// The names of all vhosts, ordered.
    pub fn vhosts(&self) -> impl Iterator<Item = &Bytes> {
        self.vhosts.keys()
    }

    /// Whether there is such a vhost.
    #[must_use]
    pub fn has_vhost(&self, vhost: &[u8]) -> bool {
        self.vhosts.contains_key(vhost)
    }

    /// The user of that name.
    #[must_use]
    pub fn user(&self, name: &[u8]) -> Option<&Arc<UserRow>> {
        self.users.get(name)
    }

    /// All users, ordered by name.
    pub fn users(&self) -> impl Iterator<Item = &Arc<UserRow>> {
        self.users.values()
    }

    /// The nodes that were registered, ordered by number.
    pub fn nodes(&self) -> impl Iterator<Item = (u64, &Node)> {
        self.placement.nodes.iter().map(|(id, node)| (*id, node))
    }

    /// Whether `connection` may use the group: an exclusive group is its owner's alone.
    ///
    /// # Errors
    /// It may not; the refusal is the one to be sent.
    pub fn may_use(row: &GroupRow, connection: ConnectionId) -> Result<(), Refusal> {
        match row.exclusive {
            Some(owner) if owner != connection => Err(refusals::locked(&row.name, &row.vhost)),
            Some(_) | None => Ok(()),
        }
    }

    /// The vhost, for a command that changes it.
    fn vhost_mut(&mut self, vhost: &[u8]) -> Result<&mut Vhost, Refusal> {
        self.vhosts.get_mut(vhost).ok_or_else(|| refusals::no_vhost(vhost))
    }

    fn carry_out(&mut self, command: Command, changes: &mut Changes<'_>) -> Result<Reply, Refusal> {
        match command {
            Command::CreateVhost { name } => self.create_vhost(name),
            Command::DeleteVhost { name } => Ok(self.delete_vhost(&name, changes)),
            Command::PutUser { name, password_hash, tags } => self.put_user(name, password_hash, tags),
            Command::DeleteUser { name } => Ok(self.delete_user(&name)),
            Command::NodeStarted { node, partitions } => self.node_started(node, partitions, changes),
            Command::DeclareExchange { vhost, name, kind, durable, auto_delete, internal, arguments } => {
                let wanted = exchanges::Wanted { vhost, name, kind, durable, auto_delete, internal, arguments };
                self.declare_exchange(wanted, changes)
            }
            Command::DeleteExchange { vhost, name, if_unused } => {
                self.delete_exchange(&vhost, &name, if_unused, changes)
            }
            Command::DeclareGroup { vhost, name, durable, exclusive, auto_delete, arguments, suffix } => {
                let wanted = groups::Wanted { vhost, name, durable, exclusive, auto_delete, arguments };
                self.declare_group(wanted, suffix, changes)
            }
            Command::DeleteGroup { group } => Ok(self.delete_group(group, changes)),
            Command::Bind { vhost, group, exchange, key, arguments, connection } => {
                let ends = bindings::Ends { vhost, group, exchange, key, arguments, connection };
                self.bind(ends, changes)
            }
            Command::Unbind { vhost, group, exchange, key, arguments, connection } => {
                let ends = bindings::Ends { vhost, group, exchange, key, arguments, connection };
                self.unbind(ends, changes)
            }
            Command::OpenShared { vhost, share, filter, filter_text, logged } => {
                let pair = shares::Pair { vhost, share, filter };
                self.open_shared(pair, &filter_text, logged, changes)
            }
            Command::DropShared { group } => Ok(self.drop_shared(group, changes)),
        }
    }
}

impl Machine for Catalog {
    type Command = Command;
    type Reply = Reply;
    type Effect = Effect;

    fn apply(&mut self, _stamp: Stamp, command: Command, effects: &mut Vec<Effect>) -> Reply {
        let mut changes = Changes::new(effects);
        let reply = self.carry_out(command, &mut changes).unwrap_or_else(Reply::Refused);
        changes.finish();
        reply
    }

    fn snapshot(&self, out: &mut BytesMut) {
        snapshot::write(self, out);
    }

    fn restore(bytes: &mut Bytes) -> Result<Self, CorruptBytes> {
        snapshot::read(bytes)
    }
}
