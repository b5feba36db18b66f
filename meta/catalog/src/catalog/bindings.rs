//! Binding groups to exchanges, and undoing it.

use braid_types::{ConnectionId, Headers, Refusal};
use bytes::Bytes;

use crate::{
    Binding, Catalog, Reply, arguments,
    changes::Changes,
    limits::{BINDINGS_PER_VHOST_MAX, NAME_BYTES_MAX},
    refusals,
};

/// A binding as somebody asks for it.
pub(super) struct Ends {
    pub(super) vhost: Bytes,
    pub(super) group: Bytes,
    pub(super) exchange: Bytes,
    pub(super) key: Bytes,
    pub(super) arguments: Headers,
    pub(super) connection: ConnectionId,
}

impl Catalog {
    pub(super) fn bind(&mut self, ends: Ends, changes: &mut Changes<'_>) -> Result<Reply, Refusal> {
        let vhost = self.vhost_mut(&ends.vhost)?;
        if ends.exchange.is_empty() {
            return Err(refusals::default_exchange());
        }
        if !vhost.exchanges.contains_key(&ends.exchange) {
            return Err(refusals::no_exchange(&ends.exchange, &vhost.name));
        }
        let Some(row) = vhost.groups.get(&ends.group) else {
            return Err(refusals::no_group(&ends.group, &vhost.name));
        };
        if row.is_shared() {
            return Err(refusals::shared_group(&row.name, &vhost.name));
        }
        Self::may_use(row, ends.connection)?;
        if ends.key.len() > NAME_BYTES_MAX {
            return Err(refusals::limit("routing key length"));
        }
        arguments::check_size(&ends.arguments)?;
        if vhost.bindings.len() >= BINDINGS_PER_VHOST_MAX {
            return Err(refusals::limit("bindings"));
        }
        let binding = Binding {
            exchange: ends.exchange,
            group: row.id,
            group_name: ends.group,
            key: ends.key,
            arguments: ends.arguments,
        };
        vhost.add_binding(binding, changes)?;
        Ok(Reply::Done)
    }

    /// What is not there needs no undoing: only the vhost must exist, and the group's owner may not be another.
    pub(super) fn unbind(&mut self, ends: Ends, changes: &mut Changes<'_>) -> Result<Reply, Refusal> {
        let vhost = self.vhost_mut(&ends.vhost)?;
        if ends.exchange.is_empty() {
            return Err(refusals::default_exchange());
        }
        let Some(row) = vhost.groups.get(&ends.group) else {
            return Ok(Reply::Done);
        };
        if row.is_shared() {
            return Err(refusals::shared_group(&row.name, &vhost.name));
        }
        Self::may_use(row, ends.connection)?;
        let binding = Binding {
            exchange: ends.exchange,
            group: row.id,
            group_name: ends.group,
            key: ends.key,
            arguments: ends.arguments,
        };
        vhost.remove_binding(&binding, changes);
        Ok(Reply::Done)
    }
}
