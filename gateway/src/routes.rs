//! Where a publish goes: the groups and the plain subscriptions that match, found once per key and kept until the
//! catalog or the interest changes.
//!
//! Invariant: a queue subscription of NATS that the catalog resolves to a group is not a direct target any more, even
//! while its move is under way: group and direct queue never both get a message.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_broker::{Answer, Interest, Mailbox, Outbox, QueueKey, Subscriber, Task};
use braid_catalog::{Catalog, GroupRow, Publish, RouteError, StorageClass};
use braid_machine::{Command, MessageHeader, PublishIdentity};
use braid_types::{
    Address, ConnectionId, GroupId, Headers, Message, PartitionId, Protocol, Refusal, RefusalKind, SubscriptionId,
};
use bytes::Bytes;
use smallvec::SmallVec;

use crate::node::{Node, TOPIC_EXCHANGE, show};
use crate::shares::Shares;

/// Groups of one partition.
pub(crate) type InPartition = (PartitionId, SmallVec<[GroupId; 1]>);

/// What matched.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    pub(crate) address: Option<Address>,
    pub(crate) groups: Vec<InPartition>,
    pub(crate) plain: Vec<PlainTarget>,
    pub(crate) queues: Vec<Vec<(Arc<Mailbox>, SubscriptionId)>>,
    pub(crate) sessions: Vec<SessionTarget>,
    pub(crate) is_cacheable: bool,
}

/// A connection with one or more plain subscriptions that matched.
#[derive(Debug)]
pub(crate) struct PlainTarget {
    mailbox: Arc<Mailbox>,
    subscription: SubscriptionId,
    others: Option<Arc<[SubscriptionId]>>,
    no_local: bool,
}

/// The group of a persistent session that does not want its own messages.
#[derive(Debug)]
pub(crate) struct SessionTarget {
    partition: PartitionId,
    group: GroupId,
    connection: Arc<AtomicU64>,
}

impl Routes {
    /// Looks up where `message` goes.
    ///
    /// # Errors
    /// The exchange does not exist or cannot be published to.
    pub(crate) fn find(node: &Node, vhost: &Bytes, message: &Message) -> Result<Self, Refusal> {
        let catalog = node.meta.catalog();
        let address = Address::from_notation(message.origin, &message.key).ok();
        let mut routes = Self { is_cacheable: true, ..Self::default() };
        let mut rows: Vec<Arc<GroupRow>> = Vec::new();
        let named = address.as_ref().and_then(|address| named_group(message, address));
        let (exchange, key) = match &named {
            Some(name) => (&b""[..], name.clone()),
            None => (&message.exchange[..], amqp_key(message, address.as_ref())),
        };
        let mut headers = || {
            routes.is_cacheable = false;
            headers_of(message)
        };
        let publish = Publish { exchange, key: &key, address: address.as_ref() };
        catalog
            .route_from(Some(message.origin), vhost, publish, &mut headers, &mut rows)
            .map_err(|error| refusal(error, exchange, vhost))?;
        for row in rows.iter().filter(|row| row.class != StorageClass::Direct) {
            add_group(&mut routes.groups, row.partition, row.id);
        }
        if let Some(address) = &address
            && exchange == TOPIC_EXCHANGE
        {
            routes.add_interest(node, &catalog, vhost, address, message.origin);
        }
        routes.address = address;
        Ok(routes)
    }

    /// Nothing matched.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.plain.is_empty() && self.queues.is_empty() && self.sessions.is_empty()
    }

    /// The task that stores `message` in `groups`; once, if it has an identity.
    pub(crate) fn enqueue(
        &self,
        groups: &SmallVec<[GroupId; 1]>,
        message: Arc<Message>,
        identity: Option<&PublishIdentity>,
        answer: Answer,
    ) -> Task {
        let header = MessageHeader {
            size_bytes: u32::try_from(message.size_bytes()).unwrap_or(u32::MAX),
            priority: message.priority,
            expires_at: message.expires_at,
            address: self.address.clone(),
        };
        let groups = groups.clone().into();
        let command = match identity {
            None => Command::Enqueue { groups, message: header },
            Some(identity) => Command::EnqueueOnce { groups, message: header, identity: identity.clone() },
        };
        Task { command, message: Some(message), answer }
    }

    /// The groups that store a message of `publisher`, by partition: all but those of sessions that refuse what their
    /// own connection publishes.
    pub(crate) fn stored_in(&self, publisher: ConnectionId) -> Cow<'_, [InPartition]> {
        if self.sessions.is_empty() {
            return Cow::Borrowed(&self.groups);
        }
        let mut groups = self.groups.clone();
        for session in &self.sessions {
            if session.connection.load(Ordering::Relaxed) != publisher.0 {
                add_group(&mut groups, session.partition, session.group);
            }
        }
        Cow::Owned(groups)
    }

    /// Gives `message` to the plain subscriptions, and to one member of each direct queue, beginning at the `turn`th.
    /// Returns how many got it.
    pub(crate) fn deliver_directly(&self, message: &Arc<Message>, outbox: &mut Outbox, turn: usize) -> usize {
        let mut count = 0;
        for target in &self.plain {
            if target.no_local && target.mailbox.connection() == message.publisher {
                continue;
            }
            outbox.push(&target.mailbox, target.subscription, target.others.clone(), message);
            count += 1;
        }
        for members in &self.queues {
            let chosen = (0..members.len())
                .filter_map(|step| members.get((turn + step) % members.len()))
                .find(|(mailbox, _)| members.len() == 1 || mailbox.has_room());
            if let Some((mailbox, subscription)) = chosen {
                outbox.push(mailbox, *subscription, None, message);
                count += 1;
            }
        }
        count
    }

    fn add_interest(&mut self, node: &Node, catalog: &Catalog, vhost: &Bytes, address: &Address, origin: Protocol) {
        let mut plain: Vec<(Arc<Mailbox>, Vec<SubscriptionId>, bool)> = Vec::new();
        let mut by_connection = hashbrown::HashMap::new();
        let mut queues: hashbrown::HashMap<QueueKey, usize> = hashbrown::HashMap::new();
        node.broker.interest.for_each_match(vhost, address, origin, |interest: &Interest| match &interest.subscriber {
            Subscriber::Plain { mailbox, subscription, no_local } => {
                let merges = mailbox.info().protocol == Protocol::Mqtt;
                let known = merges.then(|| by_connection.get(&mailbox.connection()).copied()).flatten();
                match known.and_then(|position: usize| plain.get_mut(position)) {
                    Some((_, subscriptions, all_no_local)) => {
                        subscriptions.push(*subscription);
                        *all_no_local &= no_local;
                    }
                    None => {
                        by_connection.insert(mailbox.connection(), plain.len());
                        plain.push((Arc::clone(mailbox), vec![*subscription], *no_local));
                    }
                }
            }
            Subscriber::Queue { mailbox, subscription, queue, filter } => {
                if let QueueKey::Name(name) = queue
                    && Shares::belongs_elsewhere(node, catalog, (vhost, name), filter, mailbox)
                {
                    return;
                }
                let position = *queues.entry(queue.clone()).or_insert_with(|| {
                    self.queues.push(Vec::new());
                    self.queues.len() - 1
                });
                if let Some(members) = self.queues.get_mut(position) {
                    members.push((Arc::clone(mailbox), *subscription));
                }
            }
            Subscriber::Session { partition, group, no_local, connection } => {
                if *no_local {
                    let connection = Arc::clone(connection);
                    self.sessions.push(SessionTarget { partition: *partition, group: *group, connection });
                } else {
                    add_group(&mut self.groups, *partition, *group);
                }
            }
        });
        self.plain =
            plain.into_iter().map(|(mailbox, ids, no_local)| PlainTarget::new(mailbox, &ids, no_local)).collect();
    }
}

impl PlainTarget {
    fn new(mailbox: Arc<Mailbox>, subscriptions: &[SubscriptionId], no_local: bool) -> Self {
        let (first, rest) =
            subscriptions.split_first().map_or((SubscriptionId(0), &[][..]), |(first, rest)| (*first, rest));
        Self { mailbox, subscription: first, others: (!rest.is_empty()).then(|| Arc::from(rest)), no_local }
    }
}

fn add_group(groups: &mut Vec<InPartition>, partition: PartitionId, group: GroupId) {
    match groups.iter_mut().find(|(known, _)| *known == partition) {
        Some((_, groups)) if !groups.contains(&group) => groups.push(group),
        Some(_) => {}
        None => groups.push((partition, SmallVec::from_slice(&[group]))),
    }
}

/// `$queue/NAME`: the address by which MQTT and NATS clients publish to a group (the form in which they see an AMQP
/// `reply-to`).
fn named_group(message: &Message, address: &Address) -> Option<Bytes> {
    if message.origin == Protocol::Amqp || message.exchange.is_empty() {
        return None;
    }
    let mut levels = address.levels();
    match (levels.next(), levels.next(), levels.next()) {
        (Some(first), Some(name), None) if first == b"$queue" => Some(Bytes::copy_from_slice(name)),
        _ => None,
    }
}

fn amqp_key(message: &Message, address: Option<&Address>) -> Bytes {
    // With an empty exchange (`$queue/NAME`) the key is a group's name, byte for byte.
    if message.origin == Protocol::Amqp || message.exchange.is_empty() {
        return message.key.clone();
    }
    // A key that AMQP cannot hold still matches patterns by its address; only literal bindings by key never do.
    address.and_then(|address| address.to_notation(Protocol::Amqp).ok()).unwrap_or_default()
}

fn headers_of(message: &Message) -> Headers {
    crate::conversion::neutral(message).headers
}

fn refusal(error: RouteError, exchange: &[u8], vhost: &[u8]) -> Refusal {
    match error {
        RouteError::NoVhost => Refusal::new(RefusalKind::NotFound, format!("no vhost '{}'", show(vhost))),
        RouteError::NoExchange => {
            Refusal::new(RefusalKind::NotFound, format!("no exchange '{}' in vhost '{}'", show(exchange), show(vhost)))
        }
        RouteError::Internal => Refusal::new(
            RefusalKind::AccessRefused,
            format!("cannot publish to internal exchange '{}' in vhost '{}'", show(exchange), show(vhost)),
        ),
    }
}
