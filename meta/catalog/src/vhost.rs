//! One vhost: its exchanges, groups and bindings, and what follows from them.
//!
//! Invariants: `shared` holds exactly the shared groups of `groups`; `topic_filters` counts, per joinable declared group,
//! its bindings on `amq.topic` by filter; an exchange's routes hold exactly its bindings, and `amq.topic`'s also the filter
//! of each shared group; `shadowed` has those shared groups that a declared one of their share name stands for, which are
//! left out of every route (invariant 6 of the crate).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    sync::Arc,
    vec::Vec,
};

use braid_routing::{BindError, Exchange};
use braid_types::{Filter, GroupId, Protocol, Refusal, RefusalKind};
use bytes::Bytes;

use crate::{Binding, ExchangeRow, GroupKind, GroupRow, binding::BindingTable, changes::Changes, exchange, refusals};

/// An exchange and what it routes.
#[derive(Debug)]
pub(crate) struct ExchangeState {
    pub(crate) row: Arc<ExchangeRow>,
    pub(crate) routes: Exchange<GroupId>,
}

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Vhost {
    pub(crate) name: Bytes,
    pub(crate) exchanges: BTreeMap<Bytes, ExchangeState>,
    pub(crate) groups: BTreeMap<Bytes, Arc<GroupRow>>,
    pub(crate) bindings: BindingTable,
    shared: BTreeMap<Bytes, BTreeMap<Filter, Arc<GroupRow>>>,
    shadowed: BTreeSet<GroupId>,
    topic_filters: BTreeMap<(GroupId, Filter), usize>,
}

impl Vhost {
    /// A vhost with its predeclared exchanges.
    pub(crate) fn new(name: Bytes) -> Self {
        let mut vhost = Self {
            name,
            exchanges: BTreeMap::new(),
            groups: BTreeMap::new(),
            bindings: BindingTable::default(),
            shared: BTreeMap::new(),
            shadowed: BTreeSet::new(),
            topic_filters: BTreeMap::new(),
        };
        for (name, kind) in exchange::PREDECLARED {
            vhost.insert_exchange(ExchangeRow {
                vhost: vhost.name.clone(),
                name: Bytes::from_static(name),
                kind,
                durable: true,
                auto_delete: false,
                internal: false,
                arguments: Vec::new(),
            });
        }
        vhost
    }

    /// Rules 1 and 2 of SPEC section 3, Identity.
    pub(crate) fn resolve(&self, share: &[u8], filter: &Filter) -> Option<&Arc<GroupRow>> {
        self.declared_for(share, filter).or_else(|| self.shared(share, filter))
    }

    /// Rule 2 alone.
    pub(crate) fn shared(&self, share: &[u8], filter: &Filter) -> Option<&Arc<GroupRow>> {
        self.shared.get(share)?.get(filter)
    }

    pub(crate) fn insert_exchange(&mut self, row: ExchangeRow) {
        let routes = Exchange::new(row.kind);
        self.exchanges.insert(row.name.clone(), ExchangeState { row: Arc::new(row), routes });
    }

    /// Puts a new group in, or a new row of a known one in its place.
    ///
    /// # Errors
    /// The filter of a new shared group finds no room in the routes; nothing has changed then.
    pub(crate) fn put_group(&mut self, row: &Arc<GroupRow>, changes: &mut Changes<'_>) -> Result<(), Refusal> {
        if let GroupKind::Shared { share, filter } = &row.kind {
            let is_known = self.shared(share, filter).is_some();
            if !is_known && !self.bind_filter(filter, row.id) {
                return Err(refusals::limit("shared filters"));
            }
            self.shared.entry(share.clone()).or_default().insert(filter.clone(), Arc::clone(row));
            if !is_known {
                if self.declared_for(share, filter).is_none() {
                    changes.resolution_changed(&self.name, share);
                }
                self.settle_shadow(share, filter);
            }
        }
        self.groups.insert(row.name.clone(), Arc::clone(row));
        Ok(())
    }

    /// Takes a group out, with its bindings and the exchanges that go with their last one.
    pub(crate) fn remove_group(&mut self, row: &GroupRow, changes: &mut Changes<'_>) {
        let bindings: Vec<Arc<Binding>> = self.bindings.of_group(row.id).map(Arc::clone).collect();
        for binding in bindings {
            self.remove_binding(&binding, changes);
        }
        self.groups.remove(&row.name);
        let GroupKind::Shared { share, filter } = &row.kind else {
            return;
        };
        if let Some(filters) = self.shared.get_mut(share) {
            filters.remove(filter);
            if filters.is_empty() {
                self.shared.remove(share);
            }
        }
        if let Some(topic) = self.exchanges.get_mut(exchange::TOPIC) {
            topic.routes.unbind_filter(&row.id, filter);
        }
        if !self.shadowed.remove(&row.id) {
            changes.resolution_changed(&self.name, share);
        }
    }

    /// Adds a binding whose ends exist. Adding one twice changes nothing.
    pub(crate) fn add_binding(&mut self, binding: Binding, changes: &mut Changes<'_>) -> Result<(), Refusal> {
        if self.bindings.contains(&binding) {
            return Ok(());
        }
        let Some(exchange) = self.exchanges.get_mut(&binding.exchange) else {
            return Err(refusals::no_exchange(&binding.exchange, &self.name));
        };
        let bound = exchange.routes.bind(binding.group, binding.key.clone(), binding.arguments.clone());
        bound.map_err(|error| bind_refusal(error, &binding.exchange, &self.name))?;
        let binding = Arc::new(binding);
        self.bindings.insert(Arc::clone(&binding));
        changes.routes_changed();
        self.count_topic_filter(&binding, true, changes);
        Ok(())
    }

    /// Takes a binding out, and its exchange when it was the last one of an auto-delete exchange.
    pub(crate) fn remove_binding(&mut self, binding: &Binding, changes: &mut Changes<'_>) {
        let Some(binding) = self.bindings.remove(binding) else {
            return;
        };
        changes.routes_changed();
        if let Some(exchange) = self.exchanges.get_mut(&binding.exchange) {
            exchange.routes.unbind(&binding.group, &binding.key, &binding.arguments);
            if exchange.row.auto_delete && self.bindings.of_exchange(&binding.exchange).next().is_none() {
                self.exchanges.remove(&binding.exchange);
            }
        }
        self.count_topic_filter(&binding, false, changes);
    }

    /// Takes an exchange out, with its bindings.
    pub(crate) fn remove_exchange(&mut self, name: &Bytes, changes: &mut Changes<'_>) {
        let bindings: Vec<Arc<Binding>> = self.bindings.of_exchange(name).map(Arc::clone).collect();
        for binding in bindings {
            self.remove_binding(&binding, changes);
        }
        self.exchanges.remove(name);
        changes.routes_changed();
    }

    /// Whether a message that matches it is for this group: not for a shared group that a declared one stands for.
    pub(crate) fn is_routed_to(&self, group: GroupId) -> bool {
        self.shadowed.is_empty() || !self.shadowed.contains(&group)
    }

    /// The shared groups, for the check of invariant 6.
    pub(crate) fn shared_groups(&self) -> impl Iterator<Item = &Arc<GroupRow>> {
        self.shared.values().flat_map(BTreeMap::values)
    }

    /// Rule 1 alone.
    fn declared_for(&self, share: &[u8], filter: &Filter) -> Option<&Arc<GroupRow>> {
        let row = self.groups.get(share).filter(|row| row.is_joinable_by_share())?;
        self.topic_filters.contains_key(&(row.id, filter.clone())).then_some(row)
    }

    /// A binding on `amq.topic` came or went: rule 1 may begin or cease to hold for its group's name and its filter.
    fn count_topic_filter(&mut self, binding: &Binding, added: bool, changes: &mut Changes<'_>) {
        if binding.exchange.as_ref() != exchange::TOPIC {
            return;
        }
        let is_joinable = self.groups.get(&binding.group_name).is_some_and(|row| row.is_joinable_by_share());
        let Ok(filter) = Filter::from_notation(Protocol::Amqp, &binding.key) else {
            return;
        };
        if !is_joinable {
            return;
        }
        let key = (binding.group, filter.clone());
        let before = self.topic_filters.remove(&key).unwrap_or(0);
        let after = if added { before + 1 } else { before.saturating_sub(1) };
        if after > 0 {
            self.topic_filters.insert(key, after);
        }
        if (before == 0) != (after == 0) {
            changes.resolution_changed(&self.name, &binding.group_name);
            self.settle_shadow(&binding.group_name, &filter);
        }
    }

    /// Notes whether a declared group stands for the shared group of the pair, if there is one.
    fn settle_shadow(&mut self, share: &[u8], filter: &Filter) {
        let Some(shared) = self.shared(share, filter).map(|row| row.id) else {
            return;
        };
        if self.declared_for(share, filter).is_some() {
            self.shadowed.insert(shared);
        } else {
            self.shadowed.remove(&shared);
        }
    }

    fn bind_filter(&mut self, filter: &Filter, group: GroupId) -> bool {
        self.exchanges.get_mut(exchange::TOPIC).is_some_and(|topic| topic.routes.bind_filter(group, filter))
    }
}

fn bind_refusal(error: BindError, exchange: &[u8], vhost: &[u8]) -> Refusal {
    let kind = match error {
        BindError::Pattern(_) | BindError::MatchKind => RefusalKind::PreconditionFailed,
        BindError::TooMany => RefusalKind::LimitReached,
    };
    Refusal::new(kind, format!("cannot bind to {}: {error}", refusals::exchange_text(exchange, vhost)))
}
