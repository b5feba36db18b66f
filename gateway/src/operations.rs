//! Operations that wait for the catalog or a partition. They run beside their connection, which meanwhile goes on
//! with settles and deliveries; later requests of the client wait until the operation has ended.

use std::sync::Arc;

use braid_catalog::{Catalog, Command, GroupRow, Reply};
use braid_types::{
    BindGroup, Completion, ConnectionId, DeclareExchange, DeclareGroup, Filter, Protocol, Refusal, RefusalKind,
};
use bytes::Bytes;

use crate::node::{Node, show};

/// On whose behalf an operation runs.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) node: Arc<Node>,
    pub(crate) connection: ConnectionId,
    pub(crate) vhost: Bytes,
}

/// Declares a group, or asks for it. The row tells the caller whether it became the exclusive owner.
pub(crate) async fn declare_group(
    caller: &Caller,
    request: DeclareGroup,
) -> Result<(Completion, Option<Arc<GroupRow>>), Refusal> {
    let row = if request.passive {
        caller.group(&request.name)?
    } else {
        let command = Command::DeclareGroup {
            vhost: caller.vhost.clone(),
            name: request.name,
            durable: request.durable,
            exclusive: request.exclusive.then_some(caller.connection),
            auto_delete: request.auto_delete,
            arguments: request.arguments,
            suffix: random(),
        };
        match caller.node.commit(command).await? {
            Reply::Declared { row, .. } => row,
            other => return Err(unexpected(&other)),
        }
    };
    let inspected = match caller.node.broker.partition(row.partition) {
        Some(partition) => partition.inspect(Some(vec![row.id])).await,
        None => Vec::new(),
    };
    let (message_count, consumer_count) =
        inspected.first().map_or((0, 0), |(_, inspected)| (inspected.ready, inspected.members.len()));
    let completion = Completion::Declared {
        name: row.name.clone(),
        message_count,
        consumer_count: u32::try_from(consumer_count).unwrap_or(u32::MAX),
    };
    Ok((completion, Some(row)))
}

/// Deletes a group; one that does not exist is fine, as in RabbitMQ.
pub(crate) async fn delete_group(
    caller: &Caller,
    name: &Bytes,
    if_unused: bool,
    if_empty: bool,
) -> Result<Completion, Refusal> {
    let message_count = match caller.group(name) {
        Ok(row) => caller.node.delete_group(row.id, if_unused, if_empty).await?,
        Err(refusal) if refusal.kind == RefusalKind::NotFound => 0,
        Err(refusal) => return Err(refusal),
    };
    Ok(Completion::Removed { message_count })
}

/// Drops the ready messages of a group.
pub(crate) async fn purge_group(caller: &Caller, name: &Bytes) -> Result<Completion, Refusal> {
    let row = caller.group(name)?;
    let command = braid_machine::Command::PurgeGroup { group: row.id };
    let reply = match caller.node.broker.partition(row.partition) {
        Some(partition) => partition.request(command).await,
        None => None,
    };
    match reply {
        Some(braid_machine::Reply::Removed { message_count }) => Ok(Completion::Removed { message_count }),
        _ => Err(Refusal::new(RefusalKind::Unavailable, "the group's partition does not answer")),
    }
}

/// Declares an exchange, or asks for it.
pub(crate) async fn declare_exchange(caller: &Caller, request: DeclareExchange) -> Result<Completion, Refusal> {
    if request.passive {
        let exists = caller.node.meta.catalog().exchange(&caller.vhost, &request.name).is_some();
        return if exists { Ok(Completion::Done) } else { Err(no_exchange(&request.name, &caller.vhost)) };
    }
    let command = Command::DeclareExchange {
        vhost: caller.vhost.clone(),
        name: request.name,
        kind: request.kind,
        durable: request.durable,
        auto_delete: request.auto_delete,
        internal: request.internal,
        arguments: request.arguments,
    };
    caller.node.commit(command).await.map(|_| Completion::Done)
}

/// Deletes an exchange; one that does not exist is fine.
pub(crate) async fn delete_exchange(caller: &Caller, name: Bytes, if_unused: bool) -> Result<Completion, Refusal> {
    let command = Command::DeleteExchange { vhost: caller.vhost.clone(), name, if_unused };
    caller.node.commit(command).await.map(|_| Completion::Done)
}

/// Binds or unbinds a group.
pub(crate) async fn bind(caller: &Caller, request: BindGroup, binds: bool) -> Result<Completion, Refusal> {
    let BindGroup { group, exchange, key, arguments, .. } = request;
    let (vhost, connection) = (caller.vhost.clone(), caller.connection);
    let command = if binds {
        Command::Bind { vhost, group, exchange, key, arguments, connection }
    } else {
        Command::Unbind { vhost, group, exchange, key, arguments, connection }
    };
    caller.node.commit(command).await.map(|_| Completion::Done)
}

/// Makes the shared group of (share, filter), unless a declared one is in its place, and counts a holder.
pub(crate) async fn hold_shared(
    node: &Arc<Node>,
    vhost: &Bytes,
    share: &Bytes,
    filter: &Filter,
    logged: bool,
) -> Result<(), Refusal> {
    let mut holders = node.shares.holders.lock().await;
    open_shared(node, vhost, share, filter, logged).await?;
    *holders.entry((vhost.clone(), share.clone(), filter.clone())).or_default() += 1;
    if let Some(row) = node.meta.catalog().resolve(vhost, share, filter) {
        // Somebody is back: from now on it goes with its holders.
        node.restored_shares.lock().remove(&row.id);
    }
    Ok(())
}

/// Makes the shared group again, if it is still held.
pub(crate) async fn reopen_shared(node: &Arc<Node>, vhost: &Bytes, share: &Bytes, filter: &Filter, logged: bool) {
    let holders = node.shares.holders.lock().await;
    if holders.contains_key(&(vhost.clone(), share.clone(), filter.clone()))
        && let Err(refusal) = open_shared(node, vhost, share, filter, logged).await
    {
        tracing::warn!(%refusal, share = %show(share), "a shared group could not be opened again");
    }
}

/// Makes the shared group of (share, filter), unless a declared one is in its place.
pub(crate) async fn open_shared(
    node: &Arc<Node>,
    vhost: &Bytes,
    share: &Bytes,
    filter: &Filter,
    logged: bool,
) -> Result<(), Refusal> {
    let filter_text = filter
        .to_notation(Protocol::Mqtt)
        .map_err(|error| Refusal::new(RefusalKind::NotAllowed, format!("the filter has no MQTT notation: {error}")))?;
    let command =
        Command::OpenShared { vhost: vhost.clone(), share: share.clone(), filter: filter.clone(), filter_text, logged };
    node.commit(command).await.map(|_| ())
}

/// Counts a holder less; with the last one the shared group goes.
pub(crate) async fn release_shared(node: &Arc<Node>, vhost: Bytes, share: Bytes, filter: Filter) {
    let mut holders = node.shares.holders.lock().await;
    let holding = (vhost, share, filter);
    let Some(count) = holders.get_mut(&holding) else { return };
    *count -= 1;
    if *count > 0 {
        return;
    }
    holders.remove(&holding);
    // By its name: a declared group may have taken its place in the look-up.
    let Ok(filter_text) = holding.2.to_notation(Protocol::Mqtt) else { return };
    let name = [b"$share/", &holding.1[..], b"/", &filter_text].concat();
    let row = node.meta.catalog().group(&holding.0, &name).cloned();
    // Members that came by the group's name may be left; the last of them takes it away.
    if let Some(row) = row
        && let Err(refusal) = node.delete_group(row.id, true, false).await
        && refusal.kind != RefusalKind::PreconditionFailed
    {
        tracing::warn!(%refusal, "a shared group that nobody holds stays");
    }
}

impl Caller {
    /// A group that the connection may use.
    pub(crate) fn group(&self, name: &[u8]) -> Result<Arc<GroupRow>, Refusal> {
        let catalog = self.node.meta.catalog();
        let row = catalog.group(&self.vhost, name).cloned().ok_or_else(|| {
            let text = format!("no queue '{}' in vhost '{}'", show(name), show(&self.vhost));
            Refusal::new(RefusalKind::NotFound, text)
        })?;
        Catalog::may_use(&row, self.connection)?;
        Ok(row)
    }
}

/// A number that nobody can guess, for server-made names. The standard library's hasher keys are the machine's
/// randomness; a name needs no more.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

fn no_exchange(name: &[u8], vhost: &[u8]) -> Refusal {
    Refusal::new(RefusalKind::NotFound, format!("no exchange '{}' in vhost '{}'", show(name), show(vhost)))
}

fn unexpected(reply: &Reply) -> Refusal {
    tracing::error!(?reply, "the catalog answered something else than was asked");
    Refusal::new(RefusalKind::Internal, "the catalog gave an unexpected answer")
}
