//! What all connections of a node share: the broker, the catalog, sessions, filtered subscriptions, settings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use braid_broker::{Broker, ConnectionInfo, Mailbox, Outbox, PartitionNote, Submission};
use braid_catalog::{Command, GroupKind, Reply};
use braid_cluster::Meta;
use braid_types::{ConnectionId, GroupId, Message, PartitionId, Protocol, Refusal, RefusalKind};
use bytes::Bytes;
use dashmap::DashMap;
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};

use crate::config::Config;
use crate::dead_letters::DeadLetters;
use crate::limits::RESTORED_SHARE_WAITS_MS;
use crate::routes::Routes;
use crate::sessions::Sessions;
use crate::shares::{Holding, Shares};

/// The vhost of clients that do not name one.
pub(crate) const DEFAULT_VHOST: &[u8] = b"/";

/// The exchange that MQTT and NATS publish to (SPEC section 4).
pub(crate) const TOPIC_EXCHANGE: &[u8] = b"amq.topic";

/// A running node.
pub(crate) struct Node {
    pub(crate) broker: Broker,
    pub(crate) meta: Meta,
    pub(crate) config: Config,
    pub(crate) sessions: Sessions,
    pub(crate) shares: Shares,
    pub(crate) connections: DashMap<ConnectionId, Arc<Mailbox>>,
    pub(crate) is_ready: AtomicBool,
    pub(crate) password_checks: Semaphore,
    pub(crate) letters: DeadLetters,
    next_connection: AtomicU64,
    internal: Arc<Mailbox>,
    /// Shared groups of a former run that nobody has come back to yet.
    pub(crate) restored_shares: Mutex<HashSet<GroupId>>,
}

impl Node {
    pub(crate) fn new(broker: Broker, meta: Meta, config: Config, letters: DeadLetters) -> Self {
        let internal = ConnectionInfo { id: ConnectionId(0), protocol: Protocol::Mqtt, peer: String::new() };
        Self {
            broker,
            meta,
            config,
            sessions: Sessions::default(),
            shares: Shares::default(),
            connections: DashMap::new(),
            is_ready: AtomicBool::new(false),
            password_checks: Semaphore::new(crate::limits::PASSWORD_CHECKS_MAX),
            letters,
            next_connection: AtomicU64::new(1),
            internal: Arc::new(Mailbox::new(internal)),
            restored_shares: Mutex::default(),
        }
    }

    /// A number for a new connection, never used before in this run.
    pub(crate) fn allocate_connection(&self) -> ConnectionId {
        ConnectionId(self.next_connection.fetch_add(1, Ordering::Relaxed))
    }

    /// Commits a change of the catalog. When it returns, this node has applied it, its partitions know of it, and
    /// filtered subscriptions whose answer changed have moved (promise P4).
    pub(crate) async fn commit(self: &Arc<Self>, command: Command) -> Result<Reply, Refusal> {
        let reply = self.meta.propose(command).await.map_err(|error| {
            tracing::error!(%error, "the catalog did not take a command");
            Refusal::new(RefusalKind::Unavailable, format!("the catalog is not available: {error}"))
        })?;
        self.shares.settle_changes(self);
        match reply {
            Reply::Refused(refusal) => Err(refusal),
            reply => Ok(reply),
        }
    }

    /// Publishes a message of the node itself (a will): routed and stored like a client's, nobody waits for it.
    pub(crate) fn publish(&self, vhost: &Bytes, message: &Arc<Message>) {
        let routes = match Routes::find(self, vhost, message) {
            Ok(routes) => routes,
            Err(refusal) => {
                tracing::warn!(%refusal, "a message of the node could not be routed");
                return;
            }
        };
        self.retain(vhost, &routes, message);
        for (partition, groups) in routes.stored_in(message.publisher).iter() {
            if let Some(partition) = self.broker.partition(*partition) {
                let task = routes.enqueue(groups, Arc::clone(message), None, braid_broker::Answer::Silent);
                let from = Arc::clone(&self.internal);
                partition.submit(Submission { from, tasks: vec![task], in_flight_bytes: 0 });
            }
        }
        self.deliver_directly(&routes, message);
    }

    /// Gives a message of the node itself to the plain subscriptions that match.
    pub(crate) fn deliver_directly(&self, routes: &Routes, message: &Arc<Message>) {
        let mut outbox = Outbox::default();
        routes.deliver_directly(message, &mut outbox, 0);
        let (dropped, _) = outbox.flush();
        self.broker.counters.messages_dropped_slow_total.add(dropped as u64);
    }

    /// On whose behalf the node itself acts.
    pub(crate) fn internal(&self) -> &Arc<Mailbox> {
        &self.internal
    }

    /// Shared groups that a restart found are held by nobody: the sessions that held them ended with the process. They
    /// wait for a subscriber to come back, for a limited time, because their messages were confirmed.
    pub(crate) fn note_restored_shares(self: &Arc<Self>) {
        let restored: HashSet<GroupId> =
            self.meta.catalog().all_groups().filter(|row| row.is_shared()).map(|row| row.id).collect();
        if restored.is_empty() {
            return;
        }
        *self.restored_shares.lock() = restored;
        let node = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(RESTORED_SHARE_WAITS_MS)).await;
            let left = std::mem::take(&mut *node.restored_shares.lock());
            for group in left {
                let _holders = node.shares.holders.lock().await;
                if let Err(refusal) = node.delete_group(group, true, false).await {
                    tracing::debug!(%refusal, ?group, "a shared group that nobody came back to stays");
                }
            }
        });
    }

    /// Keeps a message that was published with MQTT's retain flag. Returns false at the limits.
    pub(crate) fn retain(&self, vhost: &Bytes, routes: &Routes, message: &Arc<Message>) -> bool {
        match &routes.address {
            Some(address) if message.retain => self.broker.retained.set(vhost, address, message),
            _ => true,
        }
    }

    /// Sends a machine command to the partition of a group.
    pub(crate) fn command(&self, partition: PartitionId, command: braid_machine::Command) {
        if let Some(partition) = self.broker.partition(partition) {
            partition.command(command);
        }
    }

    /// Removes groups that their last member left, if they are auto-delete, and groups that were not used for too long.
    pub(crate) async fn watch_notes(self: Arc<Self>, mut notes: mpsc::UnboundedReceiver<PartitionNote>) {
        while let Some(note) = notes.recv().await {
            // Held until it is gone, so that nobody opens a shared group that is being dropped.
            let holders = self.shares.holders.lock().await;
            let (group, goes) = match note {
                PartitionNote::Unused(group) => (group, self.goes_unused(group, &holders)),
                PartitionNote::Expired(group) => (group, true),
                PartitionNote::DeadLetter(letter) => {
                    drop(holders);
                    self.letters.send(letter);
                    continue;
                }
            };
            if goes && let Err(refusal) = self.delete_group(group, true, false).await {
                tracing::debug!(%refusal, ?group, "an unused group stays");
            }
        }
    }

    /// Whether a group that its last member left goes: an auto-delete one, and a shared one that no session holds.
    fn goes_unused(&self, group: GroupId, holders: &HashMap<Holding, u64>) -> bool {
        let Some(row) = self.meta.catalog().group_by_id(group).cloned() else { return false };
        match &row.kind {
            GroupKind::Declared => row.auto_delete,
            GroupKind::Shared { share, filter } => {
                !holders.contains_key(&(row.vhost.clone(), share.clone(), filter.clone()))
                    && !self.restored_shares.lock().contains(&group)
            }
        }
    }

    /// Deletes a group: its partition decides whether the conditions hold, then the catalog forgets it. Returns how
    /// many ready messages went.
    pub(crate) async fn delete_group(
        self: &Arc<Self>,
        group: GroupId,
        if_unused: bool,
        if_empty: bool,
    ) -> Result<u64, Refusal> {
        let Some(row) = self.meta.catalog().group_by_id(group).cloned() else { return Ok(0) };
        let command = braid_machine::Command::DeleteGroup { group, if_unused, if_empty };
        let reply = match self.broker.partition(row.partition) {
            Some(partition) => partition.request(command).await,
            None => None,
        };
        let message_count = match reply {
            Some(braid_machine::Reply::Removed { message_count }) => message_count,
            Some(braid_machine::Reply::Refused(braid_machine::Refused::InUse)) => {
                let text = format!("queue '{}' in vhost '{}' in use", show(&row.name), show(&row.vhost));
                return Err(Refusal::new(RefusalKind::PreconditionFailed, text));
            }
            Some(braid_machine::Reply::Refused(braid_machine::Refused::NotEmpty)) => {
                let text = format!("queue '{}' in vhost '{}' not empty", show(&row.name), show(&row.vhost));
                return Err(Refusal::new(RefusalKind::PreconditionFailed, text));
            }
            _ => 0,
        };
        self.commit(Command::DeleteGroup { group }).await?;
        Ok(message_count)
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("connections", &self.connections.len()).finish_non_exhaustive()
    }
}

/// Bytes of a name, for people.
pub(crate) fn show(name: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(name)
}
