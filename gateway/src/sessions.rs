//! MQTT sessions of this node: who is connected under a client id, what is kept between connections, takeover, will
//! and expiry. (They move to partitions of their own with the cluster.)
//!
//! Invariants: at most one connection per client id; a session's own group exists from its first QoS ≥ 1 plain
//! subscription on, if the session outlives connections; a will is published at most once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use braid_broker::{InterestKey, Item, Mailbox};
use braid_machine::{Command, GroupConfig, Owner};
use braid_types::{
    CloseReason, ConnectionId, DeliveryId, Event, Filter, GroupId, InFlight, MemberId, OpenSession, PartitionId,
    PartitionKind, Refusal, RefusalKind, SessionState, SubscriptionId, Will,
};
use bytes::Bytes;
use dashmap::DashMap;
use hashbrown::HashMap;
use tokio::task::AbortHandle;

use crate::limits::SESSIONS_MAX;
use crate::node::Node;

/// Vhost and client id.
pub(crate) type SessionName = (Bytes, Bytes);

/// Session groups are not in the catalog; their ids are apart from its ids.
const SESSION_GROUP_ID_MIN: u64 = 1 << 63;

/// The queue behind a persistent session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionGroup {
    pub(crate) partition: PartitionId,
    pub(crate) group: GroupId,
    pub(crate) member: Option<MemberId>,
}

/// A share that a session holds although its client may be away.
pub(crate) type HeldShare = (Bytes, Filter);

#[derive(Debug, Default)]
struct Session {
    number: u64,
    live: Option<Arc<Mailbox>>,
    waiting: Option<(Arc<Mailbox>, Box<OpenSession>)>,
    state: Option<Box<SessionState>>,
    group: Option<SessionGroup>,
    interests: HashMap<SubscriptionId, Filter>,
    held: HashMap<SubscriptionId, HeldShare>,
    connection: Arc<AtomicU64>,
    will: Option<Box<Will>>,
    expiry_s: u32,
    window: u16,
    /// Changes with every connection and end, so that a timer of before is recognised.
    generation: u64,
    /// Of the will's delay and of the session's end; ended when its client is back.
    timers: Vec<AbortHandle>,
}

/// All sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    sessions: DashMap<SessionName, Session>,
    next_number: AtomicU64,
}

/// What a connection knows of its session.
#[derive(Clone, Debug)]
pub(crate) struct SessionLink {
    pub(crate) name: SessionName,
    pub(crate) number: u64,
    pub(crate) expiry_s: u32,
    pub(crate) connection: Arc<AtomicU64>,
    pub(crate) group: Option<SessionGroup>,
    pub(crate) window: u16,
}

impl Sessions {
    /// A client opens a session. The answer comes as `Event::SessionOpened`; when another connection holds the session,
    /// only after that has let go.
    pub(crate) fn open(&self, node: &Arc<Node>, vhost: &Bytes, mailbox: &Arc<Mailbox>, open: Box<OpenSession>) {
        let name = (vhost.clone(), open.client_id.clone());
        if self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(&name) {
            let refusal = Refusal::new(RefusalKind::LimitReached, "the node keeps as many sessions as it may");
            let event = Event::SessionOpened { ticket: open.ticket, result: Err(refusal) };
            mailbox.push(Item::Event(Box::new(event)));
            return;
        }
        let mut session = self.sessions.entry(name.clone()).or_default();
        if let Some(live) = &session.live {
            live.request_close(taken_over());
            // Case 23: the will of the connection that is taken over is published at once, unless the session goes on
            // and the will is to wait.
            let goes_on = session.expiry_s > 0 && !open.clean_start;
            if let Some(will) = &mut session.will
                && !goes_on
            {
                will.delay_s = 0;
            }
            if let Some((waiting, _)) = session.waiting.replace((Arc::clone(mailbox), open)) {
                waiting.request_close(taken_over());
            }
            return;
        }
        self.admit(node, &name, &mut session, mailbox, *open);
    }

    /// The connection's view of its session, once it is opened.
    pub(crate) fn link(&self, name: &SessionName, mailbox: &Arc<Mailbox>) -> Option<SessionLink> {
        let session = self.sessions.get(name)?;
        let live = session.live.as_ref()?;
        Arc::ptr_eq(live, mailbox).then(|| SessionLink {
            name: name.clone(),
            number: session.number,
            expiry_s: session.expiry_s,
            connection: Arc::clone(&session.connection),
            group: session.group,
            window: session.window,
        })
    }

    /// The client left properly.
    pub(crate) fn discard_will(&self, name: &SessionName) {
        if let Some(mut session) = self.sessions.get_mut(name) {
            session.will = None;
        }
    }

    /// Gives the session its own group, made on first use. The caller attaches the member.
    pub(crate) fn ensure_group(&self, node: &Node, name: &SessionName) -> Option<SessionGroup> {
        let mut session = self.sessions.get_mut(name)?;
        if session.group.is_none() {
            let per_kind = node.broker.partitions_per_kind();
            let number = u32::try_from(session.number % u64::from(per_kind)).unwrap_or(0);
            let partition = PartitionId::new(0, PartitionKind::Memory, number);
            let group = GroupId(SESSION_GROUP_ID_MIN + session.number);
            let config = Box::new(GroupConfig::default());
            node.command(partition, Command::CreateGroup { group, config });
            session.group = Some(SessionGroup { partition, group, member: None });
        }
        session.group
    }

    /// The session's member is attached. Returns false when its connection has gone meanwhile.
    pub(crate) fn set_member(&self, name: &SessionName, connection: ConnectionId, member: MemberId) -> bool {
        let Some(mut session) = self.sessions.get_mut(name) else { return false };
        if let Some(group) = &mut session.group {
            group.member = Some(member);
        }
        session.live.as_ref().is_some_and(|live| live.connection() == connection)
    }

    /// A filter feeds the session's group from now on. Says whether it did before.
    pub(crate) fn add_interest(&self, name: &SessionName, subscription: SubscriptionId, filter: Filter) -> bool {
        self.sessions.get_mut(name).is_some_and(|mut session| session.interests.insert(subscription, filter).is_some())
    }

    /// It does not any more. Says which filter, if it did.
    pub(crate) fn remove_interest(&self, name: &SessionName, subscription: SubscriptionId) -> Option<Filter> {
        self.sessions.get_mut(name)?.interests.remove(&subscription)
    }

    /// The session holds a shared group. Returns false when it did before.
    pub(crate) fn hold(&self, name: &SessionName, subscription: SubscriptionId, share: HeldShare) -> bool {
        let Some(mut session) = self.sessions.get_mut(name) else { return false };
        session.held.insert(subscription, share).is_none()
    }

    /// The session holds a shared group by this subscription.
    pub(crate) fn holds(&self, name: &SessionName, subscription: SubscriptionId) -> bool {
        self.sessions.get(name).is_some_and(|session| session.held.contains_key(&subscription))
    }

    /// It holds it no more.
    pub(crate) fn let_go(&self, name: &SessionName, subscription: SubscriptionId) -> Option<HeldShare> {
        self.sessions.get_mut(name)?.held.remove(&subscription)
    }

    /// The session's connection has ended; `state` is to be kept for `expiry_s` seconds.
    pub(crate) fn end(
        &self,
        node: &Arc<Node>,
        link: &SessionLink,
        mailbox: &Arc<Mailbox>,
        state: Option<Box<SessionState>>,
        expiry_s: u32,
    ) {
        let Some(mut session) = self.sessions.get_mut(&link.name) else { return };
        if !session.live.as_ref().is_some_and(|live| Arc::ptr_eq(live, mailbox)) {
            return;
        }
        session.state = state;
        self.connection_ended(node, &link.name, &mut session, expiry_s);
        drop(session);
        self.remove_if_over(&link.name);
    }

    /// A connection that asked for a session has gone before it got it, or without having taken notice of it.
    pub(crate) fn abandon(&self, node: &Arc<Node>, name: &SessionName, mailbox: &Arc<Mailbox>) {
        let Some(mut session) = self.sessions.get_mut(name) else { return };
        if session.waiting.as_ref().is_some_and(|(waiting, _)| Arc::ptr_eq(waiting, mailbox)) {
            session.waiting = None;
        }
        if session.live.as_ref().is_some_and(|live| Arc::ptr_eq(live, mailbox)) {
            // It never had a CONNACK: no will of its own; what was handed out to it meanwhile goes back.
            session.will = None;
            if let (Some(group), Some(state)) = (session.group, &session.state) {
                let kept: Vec<DeliveryId> = state.in_flight.iter().filter_map(session_delivery).collect();
                if let Some(partition) = node.broker.partition(group.partition) {
                    partition.connection_closed(mailbox.connection(), kept, Vec::new());
                }
            }
            // What was kept of the session is still here.
            let expiry_s = if session.state.is_some() { session.expiry_s } else { 0 };
            self.connection_ended(node, name, &mut session, expiry_s);
        }
        drop(session);
        self.remove_if_over(name);
    }

    /// Sessions that wait for their client.
    pub(crate) fn kept_count(&self) -> usize {
        self.sessions.iter().filter(|session| session.live.is_none()).count()
    }

    fn admit(
        &self,
        node: &Arc<Node>,
        name: &SessionName,
        session: &mut Session,
        mailbox: &Arc<Mailbox>,
        open: OpenSession,
    ) {
        session.generation += 1;
        for timer in session.timers.drain(..) {
            timer.abort();
        }
        // Whoever is back in time suppresses a will that waits (case 25).
        session.will = None;
        if open.clean_start {
            self.discard(node, name, session);
        }
        if session.number == 0 {
            session.number = self.next_number.fetch_add(1, Ordering::Relaxed) + 1;
        }
        session.live = Some(Arc::clone(mailbox));
        session.connection.store(mailbox.connection().0, Ordering::Relaxed);
        session.expiry_s = open.expiry_s;
        session.window = open.window;
        session.will = open.will;
        // A copy stays until the connection ends, in case it is gone already and never sees this.
        let result = Ok(session.state.clone());
        mailbox.push(Item::Event(Box::new(Event::SessionOpened { ticket: open.ticket, result })));
        // After that, so that no delivery comes before the session is known.
        if let Some(SessionGroup { partition, group, member: Some(member) }) = session.group
            && let Some(partition) = node.broker.partition(partition)
        {
            let owner = Owner { node: node.broker.node(), connection: mailbox.connection(), attachment: 0 };
            let command = Command::Resume { group, member, owner, messages: u32::from(open.window) };
            partition.submit(crate::service::silent(mailbox, command));
        }
    }

    /// The session has no connection any more: its will and its end are set, and who waits is let in.
    fn connection_ended(&self, node: &Arc<Node>, name: &SessionName, session: &mut Session, expiry_s: u32) {
        session.live = None;
        session.connection.store(0, Ordering::Relaxed);
        session.generation += 1;
        session.expiry_s = expiry_s;
        Self::send_or_arm_will(node, name, session);
        if expiry_s == 0 || session.state.is_none() {
            self.discard(node, name, session);
        } else if expiry_s != u32::MAX {
            Self::after(node, name, session, expiry_s, Self::expiry_is_due);
        }
        if let Some((waiting, open)) = session.waiting.take() {
            self.admit(node, name, session, &waiting, *open);
        }
    }

    fn remove_if_over(&self, name: &SessionName) {
        self.sessions
            .remove_if(name, |_, session| session.live.is_none() && session.state.is_none() && session.will.is_none());
    }

    /// Ends the session: its group, its interest and what it held. (A will that waits goes on waiting, as in Mosquitto.)
    fn discard(&self, node: &Arc<Node>, name: &SessionName, session: &mut Session) {
        for (subscription, filter) in session.interests.drain() {
            node.broker.interest.remove(&name.0, &filter, InterestKey::Session(session.number, subscription));
        }
        if let Some(SessionGroup { partition, group, .. }) = session.group.take() {
            node.command(partition, Command::DeleteGroup { group, if_unused: false, if_empty: false });
        }
        for (_, (share, filter)) in session.held.drain() {
            let node = Arc::clone(node);
            let vhost = name.0.clone();
            tokio::spawn(async move { crate::operations::release_shared(&node, vhost, share, filter).await });
        }
        session.state = None;
        // A number is never used again, so nothing of the old session can be taken for the new one's.
        session.number = self.next_number.fetch_add(1, Ordering::Relaxed) + 1;
    }

    fn send_or_arm_will(node: &Arc<Node>, name: &SessionName, session: &mut Session) {
        let Some(delay_s) = session.will.as_ref().map(|will| will.delay_s) else { return };
        if delay_s > 0 {
            Self::after(node, name, session, delay_s, Self::will_is_due);
        } else if let Some(will) = session.will.take() {
            send_will(node, &name.0, &will);
        }
    }

    fn after(
        node: &Arc<Node>,
        name: &SessionName,
        session: &mut Session,
        seconds: u32,
        due: fn(&Self, &Arc<Node>, &SessionName, u64),
    ) {
        let (node, name, generation) = (Arc::clone(node), name.clone(), session.generation);
        let timer = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(u64::from(seconds))).await;
            due(&node.sessions, &node, &name, generation);
        });
        session.timers.push(timer.abort_handle());
    }

    fn will_is_due(&self, node: &Arc<Node>, name: &SessionName, generation: u64) {
        let will = self.sessions.get_mut(name).and_then(|mut session| {
            let is_same = session.generation == generation;
            if is_same { session.will.take() } else { None }
        });
        if let Some(will) = will {
            send_will(node, &name.0, &will);
        }
        self.remove_if_over(name);
    }

    fn expiry_is_due(&self, node: &Arc<Node>, name: &SessionName, generation: u64) {
        let Some(mut session) = self.sessions.get_mut(name) else { return };
        if session.generation != generation {
            return;
        }
        self.discard(node, name, &mut session);
        drop(session);
        self.remove_if_over(name);
    }
}

/// The delivery of the session's own group that an unfinished publish holds.
pub(crate) fn session_delivery(in_flight: &InFlight) -> Option<DeliveryId> {
    in_flight.key.filter(|key| key.attachment == 0).map(|key| DeliveryId(key.delivery))
}

/// A will's expiry counts from its publication.
fn send_will(node: &Node, vhost: &Bytes, will: &Will) {
    node.publish(vhost, &Arc::new(braid_mqtt::due_will(will, node.broker.clock.now())));
}

fn taken_over() -> Event {
    Event::Close { reason: CloseReason::TakenOver, text: String::from("another connection uses this client id") }
}
