//! Carries out one connection's requests: the part between its endpoint and the node. It owns the connection's
//! attachments, subscriptions and remembered routes; it never touches a socket.
//!
//! Requests are carried out in order. Two things make later ones wait: a publish for which there is no room, and an
//! operation that runs beside the connection. Settles, window changes and unsubscribes never wait (ARCHITECTURE,
//! rule of back-pressure without a cycle). A round of requests ends with `flush`, which sends one submission per
//! partition and one batch per directly reached connection.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use braid_broker::{Answer, Item, Mailbox, Outbox, Submission, Task};
use braid_types::{
    Completion, DeliveryId, Event, GroupId, Identity, PartitionId, Protocol, PublishResult, Refusal, RefusalKind,
    Request, SubscriptionId, Ticket, Timestamp,
};
use bytes::Bytes;
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::limits::{PARKED_BYTES_MAX, PARKED_REQUESTS_MAX, REQUEST_OVERHEAD_BYTES};
use crate::node::{DEFAULT_VHOST, Node};
use crate::operations::Caller;
use crate::sessions::{SessionLink, SessionName};

mod attachments;
mod end;
mod operate;
mod publish;
mod route_cache;
mod second_window;
mod subscribe;
mod sync;

use attachments::Attachment;
use operate::Pending;
use publish::Join;
use route_cache::RouteCache;
use subscribe::Subscription;

/// One connection's requests and what they left behind.
pub(crate) struct Service {
    node: Arc<Node>,
    mailbox: Arc<Mailbox>,
    protocol: Protocol,
    peer: IpAddr,
    vhost: Bytes,
    user: Bytes,
    attachments: HashMap<u32, Attachment>,
    subscriptions: HashMap<SubscriptionId, Subscription>,
    routes: RouteCache,
    batches: Vec<Batch>,
    /// Tasks of the last batch that was sent: the room that the next one is given at once.
    expected_tasks: usize,
    outbox: Outbox,
    turn: usize,
    joins: HashMap<u64, Join>,
    next_join: u64,
    parked: VecDeque<Request>,
    parked_bytes: usize,
    pending: Option<Pending>,
    events: VecDeque<Event>,
    exclusive_groups: Arc<Mutex<HashSet<GroupId>>>,
    session_name: Option<SessionName>,
    session: Option<SessionLink>,
    session_end: Option<(Option<Box<braid_types::SessionState>>, u32)>,
    /// Members that settle at hand-off and have used up half of their grant.
    hungry: Vec<u32>,
    /// Members that are handed a second window, and when they are looked at.
    opened: Vec<u32>,
    look_at: Option<Timestamp>,
    /// Members of which deliveries may still be on their way back.
    closing: usize,
    /// The connection ends: the client is sent nothing more.
    is_ending: bool,
    unsent: Vec<(u32, DeliveryId)>,
    in_flight_bytes_max: usize,
    published: u64,
    /// Partitions with a log that settles went to since the last answer that waited for them.
    unsynced: SmallVec<[PartitionId; 2]>,
    /// A subscriber that this publisher is about to outrun.
    crowded: Option<Arc<Mailbox>>,
}

/// Tasks of this round for one partition.
struct Batch {
    partition: PartitionId,
    tasks: Vec<Task>,
    bytes: usize,
}

impl Service {
    pub(crate) fn new(node: Arc<Node>, mailbox: Arc<Mailbox>, peer: IpAddr) -> Self {
        let in_flight_bytes_max = node.config.limits.publish_in_flight_bytes_max;
        Self {
            protocol: mailbox.info().protocol,
            node,
            mailbox,
            peer,
            vhost: Bytes::from_static(DEFAULT_VHOST),
            user: Bytes::new(),
            attachments: HashMap::new(),
            subscriptions: HashMap::new(),
            routes: RouteCache::default(),
            batches: Vec::new(),
            expected_tasks: 0,
            outbox: Outbox::default(),
            turn: 0,
            joins: HashMap::new(),
            next_join: 0,
            parked: VecDeque::new(),
            parked_bytes: 0,
            pending: None,
            events: VecDeque::new(),
            exclusive_groups: Arc::default(),
            session_name: None,
            session: None,
            session_end: None,
            hungry: Vec::new(),
            opened: Vec::new(),
            look_at: None,
            closing: 0,
            is_ending: false,
            unsent: Vec::new(),
            in_flight_bytes_max,
            published: 0,
            unsynced: SmallVec::new(),
            crowded: None,
        }
    }

    /// Takes a request of the endpoint.
    pub(crate) fn request(&mut self, request: Request) {
        let must_sync = self.must_sync_before(&request);
        match request {
            Request::Settle { key, outcome } => self.settle(key, outcome),
            Request::SetWindow { subscription, messages } => self.set_window(subscription, messages),
            Request::DiscardWill => {
                if let Some(session) = &self.session {
                    self.node.sessions.discard_will(&session.name);
                }
            }
            Request::EndSession { state, expiry_s } => self.session_end = Some((state, expiry_s)),
            Request::Unsubscribe { ticket, subscription, unacked }
                if (!self.is_waiting() && !must_sync)
                    || (self.is_waiting()
                        && self.subscriptions.contains_key(&subscription)
                        && !self.is_subscribing(subscription)) =>
            {
                self.unsubscribe(ticket, subscription, unacked);
            }
            ordered if self.is_waiting() => self.park(ordered),
            ordered if must_sync => {
                self.park(ordered);
                self.sync_first();
            }
            Request::Publish(_) if !self.has_room() => self.park(request),
            ordered => self.carry_out(ordered),
        }
    }

    /// Takes an item of the mailbox.
    pub(crate) fn item(&mut self, item: Item) {
        match item {
            Item::Deliver { attachment, delivery, settled, redelivered, delivery_count, message } => {
                self.deliver(attachment, delivery, settled, redelivered, delivery_count, message);
            }
            Item::Direct { subscription, others, retained, message } => {
                self.deliver_direct(subscription, others, retained, message);
            }
            Item::Confirmed { ticket, refused } => self.confirmed(ticket, refused),
            Item::ConfirmedPart { join, refused } => self.confirmed_part(join, refused),
            Item::Attached { attachment, result } => self.attached(attachment, result),
            Item::Got { ticket, attachment, taken } => self.got(ticket, attachment, taken),
            Item::WindowSet { attachment } => self.second_window_closed(attachment),
            Item::Detached { attachment } => self.detached(attachment),
            Item::Cancelled { attachment } => self.cancelled(attachment),
            Item::Moved { subscription, attachment } => self.moved(subscription, attachment),
            Item::Done(event) => self.operation_ended(*event),
            Item::Synced => self.synced(),
            Item::Event(event) => {
                // One that came too late was never the client's.
                if matches!(&*event, Event::SessionOpened { result: Ok(_), .. }) && !self.is_ending {
                    self.adopt_session();
                }
                self.events.push_back(*event);
            }
        }
    }

    /// Something for the endpoint.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Carries out what waited, as far as there is room now.
    pub(crate) fn resume(&mut self) {
        while !self.parked.is_empty() && self.pending.is_none() {
            if matches!(self.parked.front(), Some(Request::Publish(_))) && !self.has_room() {
                break;
            }
            let Some(request) = self.parked.pop_front() else { break };
            self.parked_bytes -= parked_bytes(&request);
            self.carry_out(request);
        }
    }

    /// Sends this round's tasks and direct deliveries.
    pub(crate) fn flush(&mut self) {
        for batch in self.batches.drain(..) {
            self.mailbox.add_in_flight(batch.bytes);
            self.expected_tasks = batch.tasks.len();
            if let Some(partition) = self.node.broker.partition(batch.partition) {
                partition.submit(Submission {
                    from: Arc::clone(&self.mailbox),
                    tasks: batch.tasks,
                    in_flight_bytes: batch.bytes,
                });
            }
        }
        if !self.outbox.is_empty() {
            let (dropped, crowded) = self.outbox.flush();
            self.node.broker.counters.messages_dropped_slow_total.add(dropped as u64);
            // A connection that is its own subscriber must not wait for itself.
            self.crowded = crowded.filter(|crowded| !Arc::ptr_eq(crowded, &self.mailbox));
        }
        if self.published > 0 {
            self.node.broker.counters.messages_published_total.add(self.published);
            self.published = 0;
        }
    }

    /// The socket may be read: not too much waits.
    pub(crate) fn wants_input(&self) -> bool {
        self.parked_bytes < PARKED_BYTES_MAX && self.parked.len() < PARKED_REQUESTS_MAX
    }

    /// A subscriber that should be waited for, shortly, before more is read.
    pub(crate) fn take_crowded(&mut self) -> Option<Arc<Mailbox>> {
        self.crowded.take()
    }

    /// Requests wait for room, not for an operation: the task must be woken when there is some.
    pub(crate) fn waits_for_room(&self) -> bool {
        !self.parked.is_empty() && self.pending.is_none()
    }

    fn is_waiting(&self) -> bool {
        self.pending.is_some() || !self.parked.is_empty()
    }

    /// A subscribe of this subscription waits; its end must come after it.
    fn is_subscribing(&self, subscription: SubscriptionId) -> bool {
        let waits = |request: &Request| match request {
            Request::Subscribe(subscribe) => subscribe.subscription == subscription,
            _ => false,
        };
        self.pending.as_ref().is_some_and(|pending| pending.subscription() == Some(subscription))
            || self.parked.iter().any(waits)
    }

    fn has_room(&self) -> bool {
        let waiting: usize = self.batches.iter().map(|batch| batch.bytes).sum();
        self.mailbox.in_flight_bytes() + waiting < self.in_flight_bytes_max && !self.node.broker.memory.is_blocked()
    }

    fn park(&mut self, request: Request) {
        self.parked_bytes += parked_bytes(&request);
        self.parked.push_back(request);
    }

    fn carry_out(&mut self, request: Request) {
        match request {
            Request::Publish(publish) => self.publish(publish),
            Request::Subscribe(subscribe) => self.subscribe(&subscribe),
            Request::Unsubscribe { ticket, subscription, unacked } => self.unsubscribe(ticket, subscription, unacked),
            Request::Get { ticket, group, settlement, on_loss } => self.get(ticket, &group, settlement, on_loss),
            Request::OpenSession(open) => {
                self.session_name = Some((self.vhost.clone(), open.client_id.clone()));
                let node = Arc::clone(&self.node);
                node.sessions.open(&node, &self.vhost, &self.mailbox, open);
            }
            Request::OpenVhost { ticket, name } => self.open_vhost(ticket, name),
            Request::Sync { ticket } if self.unsynced.is_empty() => self.complete(ticket, Ok(Completion::Done)),
            Request::Sync { ticket } => self.run(Pending::Answer, ticket, async { Ok(Completion::Done) }),
            Request::Settle { .. } | Request::SetWindow { .. } | Request::DiscardWill | Request::EndSession { .. } => {
                self.request(request);
            }
            operation @ (Request::Authenticate(_)
            | Request::DeclareExchange(_)
            | Request::DeleteExchange { .. }
            | Request::DeclareGroup(_)
            | Request::DeleteGroup { .. }
            | Request::PurgeGroup { .. }
            | Request::Bind(_)
            | Request::Unbind(_)) => self.operate(operation),
        }
    }

    fn open_vhost(&mut self, ticket: Ticket, name: Bytes) {
        let exists = self.node.meta.catalog().has_vhost(&name);
        if exists {
            self.vhost = name;
            self.complete(ticket, Ok(Completion::Done));
        } else {
            let text = format!("no vhost '{}'", crate::node::show(&name));
            self.complete(ticket, Err(Refusal::new(RefusalKind::NotFound, text)));
        }
    }

    fn complete(&mut self, ticket: Ticket, result: Result<Completion, Refusal>) {
        self.events.push_back(Event::Completed { ticket, result });
    }

    fn caller(&self) -> Caller {
        Caller { node: Arc::clone(&self.node), connection: self.mailbox.connection(), vhost: self.vhost.clone() }
    }

    fn adopt_session(&mut self) {
        let Some(name) = &self.session_name else { return };
        self.session = self.node.sessions.link(name, &self.mailbox);
        if let Some(link) = &self.session
            && let Some(group) = link.group
            && group.member.is_some()
        {
            self.attachments.insert(0, Attachment::of_session(&group));
        }
    }

    fn batch(&mut self, partition: PartitionId) -> &mut Batch {
        let position = match self.batches.iter().position(|batch| batch.partition == partition) {
            Some(position) => position,
            None => {
                let tasks = Vec::with_capacity(self.expected_tasks);
                self.batches.push(Batch { partition, tasks, bytes: 0 });
                self.batches.len() - 1
            }
        };
        &mut self.batches[position]
    }

    fn send(&mut self, partition: PartitionId, command: braid_machine::Command, answer: Answer) {
        self.batch(partition).tasks.push(Task { command, message: None, answer });
    }

    fn identified(&mut self, identity: &Identity) {
        self.vhost = identity.vhost.clone();
        self.user = identity.user.clone();
    }
}

/// A submission of one command whose reply nobody waits for, on behalf of a connection.
pub(crate) fn silent(mailbox: &Arc<Mailbox>, command: braid_machine::Command) -> Submission {
    let tasks = vec![Task { command, message: None, answer: Answer::Silent }];
    Submission { from: Arc::clone(mailbox), tasks, in_flight_bytes: 0 }
}

/// The refusal of a group's machine, for a client.
fn refusal_of(refused: braid_machine::Refused) -> Refusal {
    use braid_machine::Refused;
    let (kind, text) = match refused {
        Refused::NoSuchGroup => (RefusalKind::NotFound, "the group is gone"),
        Refused::NoSuchMember => (RefusalKind::NotFound, "the member is gone"),
        Refused::InUse => (RefusalKind::AccessRefused, "the group has other consumers"),
        Refused::NotEmpty => (RefusalKind::PreconditionFailed, "the group has messages"),
        Refused::Exclusive => (RefusalKind::AccessRefused, "another consumer holds the group exclusively"),
        Refused::LimitReached => (RefusalKind::LimitReached, "a limit of the group is reached"),
        Refused::Faulted => (RefusalKind::Internal, "the group is out of service"),
    };
    Refusal::new(kind, text)
}

fn refused_publish(refused: braid_machine::Refused) -> PublishResult {
    match refused {
        // Deleted while the message was on its way: nothing is left that could hold it.
        braid_machine::Refused::NoSuchGroup => PublishResult::Accepted,
        other => PublishResult::Refused(refusal_of(other).kind),
    }
}

fn parked_bytes(request: &Request) -> usize {
    let body = if let Request::Publish(publish) = request { publish.message.size_bytes() } else { 0 };
    body + REQUEST_OVERHEAD_BYTES
}
