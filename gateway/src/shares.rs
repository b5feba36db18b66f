//! The node's filtered group subscriptions (MQTT `$share`, NATS queue groups), and the one lookup that says where they
//! belong (SPEC section 3, Identity). When a commit changes the answer, they are moved before the commit is answered,
//! so the result does not depend on the order of arrival.

use std::sync::Arc;

use braid_broker::{Answer, Interest, InterestKey, Item, Mailbox, OnLoss, QueueKey, Submission, Subscriber, Task};
use braid_catalog::{Catalog, GroupKind, GroupRow, StorageClass};
use braid_machine::{Command, Credit, MemberConfig, Owner};
use braid_types::{Filter, GroupId, Outcome, PartitionId, Protocol, Settlement, SubscriptionId, UnackedOnEnd};
use bytes::Bytes;
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::node::Node;

/// A live filtered subscription.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) subscription: SubscriptionId,
    pub(crate) filter: Filter,
    pub(crate) settlement: Settlement,
    pub(crate) on_loss: Outcome,
    pub(crate) label: Bytes,
    pub(crate) place: Place,
}

/// Where a filtered subscription is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a direct queue by name.
    DirectName,
    /// In the direct queue of a shared group.
    DirectGroup(GroupId),
    /// A member of a group.
    Group { partition: PartitionId, group: GroupId, attachment: u32 },
}

type Name = (Bytes, Bytes);

/// What is held: vhost, share name, filter.
pub(crate) type Holding = (Bytes, Bytes, Filter);

/// All of them, by vhost and share name.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    live: Mutex<HashMap<Name, Vec<Share>>>,
    /// Set once the node exists; the catalog's effects write to it.
    changes: Mutex<Option<mpsc::UnboundedReceiver<Name>>>,
    /// Holders of shared groups: live and kept subscriptions. Opening and dropping goes one at a time under it, so
    /// that no group is dropped while it is being opened.
    pub(crate) holders: tokio::sync::Mutex<HashMap<Holding, u64>>,
}

impl Shares {
    /// Says where the names whose answer changes come from.
    pub(crate) fn set_changes(&self, changes: mpsc::UnboundedReceiver<Name>) {
        *self.changes.lock() = Some(changes);
    }

    /// Moves what the noted changes concern.
    pub(crate) fn settle_changes(&self, node: &Arc<Node>) {
        // Held throughout: whoever commits next waits until these have moved.
        let mut changes = self.changes.lock();
        let Some(changes) = changes.as_mut() else { return };
        let mut changed: HashSet<Name> = HashSet::new();
        while let Ok(name) = changes.try_recv() {
            changed.insert(name);
        }
        if changed.is_empty() {
            return;
        }
        let mut live = self.live.lock();
        let catalog = node.meta.catalog();
        let mut changed: Vec<Name> = changed.into_iter().collect();
        changed.sort_unstable();
        for name in changed {
            for share in live.get_mut(&name).into_iter().flatten() {
                let wanted = wanted(&catalog, node, &name, share);
                if wanted.is_none() && share.mailbox.info().protocol == Protocol::Mqtt {
                    // Its declared group is gone: rule 2 of the lookup wants a shared group again.
                    tokio::spawn(reopen(Arc::clone(node), name.clone(), share.filter.clone(), share.settlement));
                }
                if !is_at(share.place, wanted) {
                    move_to(node, &name, share, wanted);
                }
            }
        }
    }

    /// A subscription that is in a direct queue by name is about to be moved to a group.
    pub(crate) fn belongs_elsewhere(
        node: &Node,
        catalog: &Catalog,
        name: (&Bytes, &Bytes),
        filter: &Filter,
        mailbox: &Mailbox,
    ) -> bool {
        answer(catalog, node, name, filter, mailbox.info().protocol).is_some()
    }

    /// Adds a subscription and puts it where it belongs now. The connection learns its place by `Item::Moved`.
    pub(crate) fn join(&self, node: &Node, vhost: &Bytes, share_name: &Bytes, mut share: Share) {
        let name = (vhost.clone(), share_name.clone());
        let mut live = self.live.lock();
        let catalog = node.meta.catalog();
        let wanted = wanted(&catalog, node, &name, &share);
        enter(node, &name, &mut share, wanted);
        live.entry(name).or_default().push(share);
    }

    /// Removes a subscription; its interest goes, its attachment is left to the caller.
    pub(crate) fn leave(&self, node: &Node, vhost: &Bytes, share_name: &Bytes, key: (Arc<Mailbox>, SubscriptionId)) {
        let name = (vhost.clone(), share_name.clone());
        let mut live = self.live.lock();
        let Some(shares) = live.get_mut(&name) else { return };
        let (mailbox, subscription) = key;
        if let Some(position) = shares
            .iter()
            .position(|share| share.subscription == subscription && share.mailbox.connection() == mailbox.connection())
        {
            let share = shares.swap_remove(position);
            if !matches!(share.place, Place::Group { .. }) {
                let key = InterestKey::Connection(mailbox.connection(), subscription);
                node.broker.interest.remove(vhost, &share.filter, key);
            }
        }
        if shares.is_empty() {
            live.remove(&name);
        }
    }
}

/// The catalog's answer for a subscription; `None`: a direct queue by name.
fn wanted<'a>(catalog: &'a Catalog, node: &Node, name: &Name, share: &Share) -> Option<&'a Arc<GroupRow>> {
    answer(catalog, node, (&name.0, &name.1), &share.filter, share.mailbox.info().protocol)
}

fn answer<'a>(
    catalog: &'a Catalog,
    node: &Node,
    (vhost, share): (&Bytes, &Bytes),
    filter: &Filter,
    protocol: Protocol,
) -> Option<&'a Arc<GroupRow>> {
    let may_join = match protocol {
        Protocol::Nats => node.config.groups.nats_join_declared,
        Protocol::Mqtt | Protocol::Amqp => node.config.groups.mqtt_join_declared,
    };
    catalog.resolve(vhost, share, filter).filter(|row| may_join || row.is_shared())
}

fn is_at(place: Place, wanted: Option<&Arc<GroupRow>>) -> bool {
    match (place, wanted) {
        (Place::DirectName, None) => true,
        (Place::DirectGroup(group), Some(row)) => row.class == StorageClass::Direct && row.id == group,
        (Place::Group { group, .. }, Some(row)) => row.class != StorageClass::Direct && row.id == group,
        (Place::DirectName, Some(_)) | (Place::DirectGroup(_) | Place::Group { .. }, None) => false,
    }
}

fn move_to(node: &Node, name: &Name, share: &mut Share, wanted: Option<&Arc<GroupRow>>) {
    match share.place {
        Place::DirectName | Place::DirectGroup(_) => {
            let key = InterestKey::Connection(share.mailbox.connection(), share.subscription);
            node.broker.interest.remove(&name.0, &share.filter, key);
        }
        // The connection detaches the old attachment when it reads `Item::Moved`; what was handed out is settled there.
        Place::Group { .. } => {}
    }
    enter(node, name, share, wanted);
}

/// Puts a subscription where the catalog wants it and tells its connection.
fn enter(node: &Node, name: &Name, share: &mut Share, wanted: Option<&Arc<GroupRow>>) {
    let subscription = share.subscription;
    match wanted {
        Some(row) if row.class != StorageClass::Direct => {
            let attachment = share.mailbox.allocate_attachment();
            share.place = Place::Group { partition: row.partition, group: row.id, attachment };
            // Told first, so that the answer and the deliveries find the attachment.
            share.mailbox.push(Item::Moved { subscription, attachment: Some((attachment, row.partition, row.id)) });
            attach(node, share, row, attachment);
        }
        direct => {
            let queue = match direct {
                Some(row) => QueueKey::Group(row.id),
                None => QueueKey::Name(name.1.clone()),
            };
            share.place = direct.map_or(Place::DirectName, |row| Place::DirectGroup(row.id));
            let mailbox = Arc::clone(&share.mailbox);
            let key = InterestKey::Connection(mailbox.connection(), subscription);
            let subscriber = Subscriber::Queue { mailbox, subscription, queue, filter: share.filter.clone() };
            if !node.broker.interest.insert(&name.0, &share.filter, Interest { key, subscriber }, false) {
                tracing::warn!("the interest table is full; a queue subscription gets nothing");
            }
            share.mailbox.push(Item::Moved { subscription, attachment: None });
        }
    }
}

fn attach(node: &Node, share: &Share, row: &GroupRow, attachment: u32) {
    let member = MemberConfig {
        owner: Owner { node: node.broker.node(), connection: share.mailbox.connection(), attachment },
        credit: credit(share.settlement),
        priority: 0,
        exclusive: false,
        // All messages of a shared group match its filter; a declared group may have other bindings.
        filter: matches!(row.kind, GroupKind::Declared).then(|| share.filter.clone()),
        on_loss: OnLoss::Detach(share.on_loss),
    };
    let task = Task {
        command: Command::Attach { group: row.id, member: Box::new(member) },
        message: None,
        answer: Answer::Attach { attachment, label: share.label.clone() },
    };
    if let Some(partition) = node.broker.partition(row.partition) {
        partition.submit(Submission { from: Arc::clone(&share.mailbox), tasks: vec![task], in_flight_bytes: 0 });
    }
}

async fn reopen(node: Arc<Node>, name: Name, filter: Filter, settlement: Settlement) {
    let logged = settlement != Settlement::HandOff;
    Box::pin(crate::operations::reopen_shared(&node, &name.0, &name.1, &filter, logged)).await;
}

/// The credit that a subscription starts with.
pub(crate) fn credit(settlement: Settlement) -> Credit {
    match settlement {
        Settlement::Acknowledged { messages } => Credit::Window { messages },
        Settlement::HandOff => Credit::Granted {
            messages: braid_broker::limits::HAND_OFF_CREDIT_MESSAGES,
            bytes: braid_broker::limits::HAND_OFF_CREDIT_BYTES,
        },
    }
}

/// What becomes of deliveries of an attachment that its subscription left by a move: the client settles them.
pub(crate) const UNACKED_ON_MOVE: UnackedOnEnd = UnackedOnEnd::Keep;
