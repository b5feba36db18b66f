//! Declaring and deleting exchanges.

use alloc::format;

use braid_types::{ExchangeKind, Headers, Refusal, RefusalKind};
use bytes::Bytes;

use crate::{
    Catalog, ExchangeRow, Reply, arguments,
    changes::Changes,
    limits::{EXCHANGES_PER_VHOST_MAX, NAME_BYTES_MAX},
    refusals,
};

/// An exchange as somebody declares it.
pub(super) struct Wanted {
    pub(super) vhost: Bytes,
    pub(super) name: Bytes,
    pub(super) kind: Bytes,
    pub(super) durable: bool,
    pub(super) auto_delete: bool,
    pub(super) internal: bool,
    pub(super) arguments: Headers,
}

impl Catalog {
    pub(super) fn declare_exchange(&mut self, wanted: Wanted, changes: &mut Changes<'_>) -> Result<Reply, Refusal> {
        let vhost = self.vhost_mut(&wanted.vhost)?;
        if wanted.name.is_empty() {
            return Err(refusals::default_exchange());
        }
        let kind = kind(&wanted.kind)?;
        let which = refusals::exchange_text(&wanted.name, &wanted.vhost);
        if let Some(existing) = vhost.exchanges.get(&wanted.name) {
            check_equivalent(&existing.row, kind, &wanted, &which)?;
            return Ok(Reply::Done);
        }
        if wanted.name.starts_with(b"amq.") {
            return Err(refusals::reserved("exchange", &wanted.name, "amq.*"));
        }
        if wanted.name.len() > NAME_BYTES_MAX {
            return Err(refusals::limit("exchange name length"));
        }
        arguments::check_alternate_exchange(&wanted.arguments, &which)?;
        arguments::check_size(&wanted.arguments)?;
        if vhost.exchanges.len() >= EXCHANGES_PER_VHOST_MAX {
            return Err(refusals::limit("exchanges"));
        }
        vhost.insert_exchange(ExchangeRow {
            vhost: wanted.vhost,
            name: wanted.name,
            kind,
            durable: wanted.durable,
            auto_delete: wanted.auto_delete,
            internal: wanted.internal,
            arguments: wanted.arguments,
        });
        changes.routes_changed();
        Ok(Reply::Done)
    }

    pub(super) fn delete_exchange(
        &mut self,
        vhost: &Bytes,
        name: &Bytes,
        if_unused: bool,
        changes: &mut Changes<'_>,
    ) -> Result<Reply, Refusal> {
        let vhost = self.vhost_mut(vhost)?;
        if name.is_empty() {
            return Err(refusals::default_exchange());
        }
        if name.starts_with(b"amq.") {
            return Err(refusals::system_exchange(name, &vhost.name));
        }
        if !vhost.exchanges.contains_key(name) {
            return Ok(Reply::Done);
        }
        if if_unused && vhost.bindings.of_exchange(name).next().is_some() {
            return Err(refusals::exchange_in_use(name, &vhost.name));
        }
        vhost.remove_exchange(name, changes);
        Ok(Reply::Done)
    }
}

fn kind(name: &Bytes) -> Result<ExchangeKind, Refusal> {
    if let Some(kind) = ExchangeKind::from_name(name) {
        return Ok(kind);
    }
    let text = refusals::text(name);
    Err(match name.as_ref() {
        b"x-consistent-hash" | b"x-delayed-message" => {
            Refusal::new(RefusalKind::NotImplemented, format!("exchange type '{text}' is not implemented"))
        }
        _ => Refusal::new(RefusalKind::PreconditionFailed, format!("unknown exchange type '{text}'")),
    })
}

fn check_equivalent(row: &ExchangeRow, kind: ExchangeKind, wanted: &Wanted, which: &str) -> Result<(), Refusal> {
    if row.kind != kind {
        let (received, current) = (format!("'{}'", kind.name()), format!("'{}'", row.kind.name()));
        return Err(refusals::inequivalent("type", which, &received, &current));
    }
    for (name, current, received) in [
        ("durable", row.durable, wanted.durable),
        ("auto_delete", row.auto_delete, wanted.auto_delete),
        ("internal", row.internal, wanted.internal),
    ] {
        super::groups::check_flag(name, current, received, which)?;
    }
    arguments::check_equivalent("alternate-exchange", &row.arguments, &wanted.arguments, which)
}
