//! Subscribing and unsubscribing: by a group's name, by a filter alone, by a filter in a share, by a filter that
//! feeds a persistent session.

use std::sync::Arc;

use braid_broker::limits::HAND_OFF_CREDIT_MESSAGES;
use braid_broker::{Interest, InterestKey, Item, OnLoss, Subscriber};
use braid_types::{
    Completion, Event, Filter, GroupId, PartitionId, Protocol, Refusal, RefusalKind, RetainedDelivery, Settlement,
    Source, Subscribe, SubscriptionId, Ticket, UnackedOnEnd,
};
use bytes::Bytes;

use super::Service;
use super::attachments::Attachment;
use super::operate::Pending;
use super::second_window::SecondWindow;
use crate::node::show;
use crate::operations;
use crate::shares::{Share, UNACKED_ON_MOVE};

/// What a subscription is.
#[derive(Debug)]
pub(super) enum Subscription {
    /// A consumer of a group by name.
    ByName { attachment: u32 },
    /// Gets each message that matches.
    Plain { filter: Filter },
    /// Shares with others by (share, filter).
    Shared { share: Bytes, filter: Filter, attachment: Option<u32> },
    /// Feeds the session's own group.
    OfSession,
}

impl Subscription {
    pub(super) fn is_by_name(&self) -> bool {
        matches!(self, Self::ByName { .. })
    }

    pub(super) fn attachment(&self) -> Option<u32> {
        match self {
            Self::ByName { attachment } => Some(*attachment),
            Self::Shared { attachment, .. } => *attachment,
            Self::Plain { .. } | Self::OfSession => None,
        }
    }
}

impl Service {
    pub(super) fn subscribe(&mut self, request: &Subscribe) {
        match &request.source {
            Source::Group { name } => {
                let name = name.clone();
                self.subscribe_by_name(request, &name);
            }
            Source::Filter { filter, share } => {
                let filter = match Filter::from_notation(self.protocol, filter) {
                    Ok(filter) => filter,
                    Err(error) => {
                        let text = format!("filter '{}': {error}", show(filter));
                        return self.complete(request.ticket, Err(Refusal::new(RefusalKind::NotAllowed, text)));
                    }
                };
                match share.clone() {
                    Some(share) => self.subscribe_shared(request, share, filter),
                    None => self.subscribe_alone(request, filter),
                }
            }
        }
    }

    pub(super) fn unsubscribe(&mut self, ticket: Option<Ticket>, subscription: SubscriptionId, unacked: UnackedOnEnd) {
        let existed = match self.subscriptions.remove(&subscription) {
            Some(Subscription::ByName { attachment }) => return self.detach(attachment, unacked, ticket),
            Some(Subscription::Shared { share, filter, attachment, .. }) => {
                self.leave_share(subscription, &share, filter);
                match attachment {
                    Some(attachment) => return self.detach(attachment, unacked, ticket),
                    None => true,
                }
            }
            Some(Subscription::Plain { filter }) => {
                let key = InterestKey::Connection(self.mailbox.connection(), subscription);
                self.node.broker.interest.remove(&self.vhost, &filter, key)
            }
            Some(Subscription::OfSession) => self.leave_session_interest(subscription),
            None => false,
        };
        if let Some(ticket) = ticket {
            // By way of the mailbox, behind what this connection has been sent until now and what it sent itself.
            self.flush();
            let result = Ok(Completion::Unsubscribed { existed });
            self.mailbox.push(Item::Event(Box::new(Event::Completed { ticket, result })));
        }
    }

    /// A filtered subscription has a new place: the old attachment ends, what was handed out there is settled there.
    pub(super) fn moved(&mut self, subscription: SubscriptionId, place: Option<(u32, PartitionId, GroupId)>) {
        let Some(Subscription::Shared { attachment, .. }) = self.subscriptions.get_mut(&subscription) else {
            // Unsubscribed meanwhile; the attachment that the move made must end.
            if let Some((attachment, partition, group)) = place {
                self.attachments.insert(attachment, Attachment::new(partition, group, subscription));
                self.detach(attachment, UnackedOnEnd::Settle(braid_types::Outcome::Released), None);
            }
            return;
        };
        let old = attachment.take();
        if let Some((new, partition, group)) = place {
            *attachment = Some(new);
            self.attachments.insert(new, Attachment::new(partition, group, subscription));
        }
        if let Some(old) = old {
            self.detach(old, UNACKED_ON_MOVE, None);
        }
    }

    /// The shared group is open: join it.
    pub(super) fn join_share(&mut self, request: &Subscribe, share: &Bytes, filter: Filter) {
        if let Some(Subscription::Shared { .. }) = self.subscriptions.get(&request.subscription) {
            self.drop_share_member(request.subscription, share);
        }
        if let Some(session) = self.session.as_ref().filter(|session| session.expiry_s > 0) {
            self.node.sessions.hold(&session.name, request.subscription, (share.clone(), filter.clone()));
        }
        let subscription = Subscription::Shared { share: share.clone(), filter: filter.clone(), attachment: None };
        self.subscriptions.insert(request.subscription, subscription);
        let live = Share {
            mailbox: Arc::clone(&self.mailbox),
            subscription: request.subscription,
            filter,
            settlement: request.settlement,
            on_loss: request.on_loss,
            label: request.label.clone(),
            place: crate::shares::Place::DirectName,
        };
        self.node.shares.join(&self.node, &self.vhost, share, live);
    }

    fn subscribe_by_name(&mut self, request: &Subscribe, name: &Bytes) {
        if self.subscriptions.contains_key(&request.subscription) {
            self.unsubscribe(None, request.subscription, UnackedOnEnd::Settle(request.on_loss));
        }
        let row = match self.caller().group(name) {
            Ok(row) => row,
            Err(refusal) => return self.complete(request.ticket, Err(refusal)),
        };
        let attachment = self.mailbox.allocate_attachment();
        let mut state = Attachment::new(row.partition, row.id, request.subscription);
        state.ticket = Some(request.ticket);
        if let Settlement::Acknowledged { messages } = request.settlement
            && self.protocol == Protocol::Amqp
        {
            state.second_window = SecondWindow::new(messages, self.node.config.limits.second_window_prefetch_min);
        }
        let on_loss = OnLoss::Detach(request.on_loss);
        let member = self.member_config(attachment, request.settlement, request.priority, request.exclusive, on_loss);
        self.subscriptions.insert(request.subscription, Subscription::ByName { attachment });
        self.attach(attachment, state, member, request.label.clone());
    }

    fn subscribe_shared(&mut self, request: &Subscribe, share: Bytes, filter: Filter) {
        if self.protocol == Protocol::Nats {
            // The endpoint settles as it writes, so that what it could not write goes back to the group.
            let settlement = Settlement::Acknowledged { messages: HAND_OFF_CREDIT_MESSAGES };
            self.join_share(&Subscribe { settlement, ..request.clone() }, &share, filter);
            return self.complete(request.ticket, Ok(Completion::Done));
        }
        let is_held = matches!(self.subscriptions.get(&request.subscription), Some(Subscription::Shared { .. }))
            || self
                .session
                .as_ref()
                .is_some_and(|session| self.node.sessions.holds(&session.name, request.subscription));
        let logged = request.settlement != Settlement::HandOff;
        let pending = Pending::JoinShare(Box::new((request.clone(), share.clone(), filter.clone())));
        let (caller, ticket) = (self.caller(), request.ticket);
        self.run(pending, ticket, async move {
            let opened = if is_held {
                operations::open_shared(&caller.node, &caller.vhost, &share, &filter, logged).await
            } else {
                operations::hold_shared(&caller.node, &caller.vhost, &share, &filter, logged).await
            };
            opened.map(|()| Completion::Done)
        });
    }

    fn subscribe_alone(&mut self, request: &Subscribe, filter: Filter) {
        let subscription = request.subscription;
        let is_new = !self.subscriptions.contains_key(&subscription);
        let feeds_session = request.settlement != Settlement::HandOff
            && self.session.as_ref().is_some_and(|session| session.expiry_s > 0 || session.group.is_some());
        match self.subscriptions.get(&subscription) {
            Some(Subscription::Plain { .. }) if feeds_session => {
                let key = InterestKey::Connection(self.mailbox.connection(), subscription);
                self.node.broker.interest.remove(&self.vhost, &filter, key);
            }
            Some(Subscription::OfSession) if !feeds_session => {
                self.leave_session_interest(subscription);
            }
            _ => {}
        }
        if feeds_session {
            return self.subscribe_session(request, filter, is_new);
        }
        let key = InterestKey::Connection(self.mailbox.connection(), subscription);
        let mailbox = Arc::clone(&self.mailbox);
        let subscriber = Subscriber::Plain { mailbox, subscription, no_local: request.no_local };
        if !self.node.broker.interest.insert(&self.vhost, &filter, Interest { key, subscriber }, !is_new) {
            return self.complete(request.ticket, Err(interest_is_full()));
        }
        self.subscriptions.insert(subscription, Subscription::Plain { filter: filter.clone() });
        self.complete(request.ticket, Ok(Completion::Done));
        self.send_retained(request, &filter, is_new);
    }

    /// A QoS ≥ 1 subscription of a session that outlives its connection: the session's group gets the messages.
    fn subscribe_session(&mut self, request: &Subscribe, filter: Filter, is_new: bool) {
        let Some(session) = self.session.clone() else { return };
        let Some(group) = self.node.sessions.ensure_group(&self.node, &session.name) else { return };
        let subscriber = Subscriber::Session {
            partition: group.partition,
            group: group.group,
            no_local: request.no_local,
            connection: Arc::clone(&session.connection),
        };
        let key = InterestKey::Session(session.number, request.subscription);
        let replaces = self.node.sessions.add_interest(&session.name, request.subscription, filter.clone());
        if !self.node.broker.interest.insert(&self.vhost, &filter, Interest { key, subscriber }, replaces) {
            return self.complete(request.ticket, Err(interest_is_full()));
        }
        self.subscriptions.insert(request.subscription, Subscription::OfSession);
        if self.attachments.contains_key(&0) {
            self.complete(request.ticket, Ok(Completion::Done));
            return self.send_retained(request, &filter, is_new);
        }
        self.attach_session(request, group, filter, is_new);
    }

    fn attach_session(
        &mut self,
        request: &Subscribe,
        group: crate::sessions::SessionGroup,
        filter: Filter,
        is_new: bool,
    ) {
        let Some(session) = self.session.clone() else { return };
        let Some(partition) = self.node.broker.partition(group.partition).cloned() else { return };
        self.attachments.insert(0, Attachment::of_session(&group));
        let window = Settlement::Acknowledged { messages: u32::from(session.window) };
        let member = self.member_config(0, window, 0, false, OnLoss::Pause);
        let (answer, attached) = tokio::sync::oneshot::channel();
        let task = braid_broker::Task {
            command: braid_machine::Command::Attach { group: group.group, member: Box::new(member) },
            message: None,
            answer: braid_broker::Answer::AttachSession(answer),
        };
        partition.submit(braid_broker::Submission {
            from: Arc::clone(&self.mailbox),
            tasks: vec![task],
            in_flight_bytes: 0,
        });
        let caller = self.caller();
        let pending = Pending::JoinSession(Box::new((request.clone(), filter, is_new)));
        self.run(pending, request.ticket, async move {
            let Ok(Ok(member)) = attached.await else {
                return Err(Refusal::new(RefusalKind::Unavailable, "the session's group does not answer"));
            };
            // When the connection is gone meanwhile, its partition has paused the member already.
            caller.node.sessions.set_member(&session.name, caller.connection, member);
            Ok(Completion::Done)
        });
    }

    pub(super) fn session_attached(&mut self) {
        let Some(session) = &self.session else { return };
        let link = self.node.sessions.link(&session.name, &self.mailbox);
        if let (Some(group), Some(attachment)) = (link.and_then(|link| link.group), self.attachments.get_mut(&0)) {
            attachment.member = group.member;
        }
    }

    /// The session's member could not be attached: the subscription is not there.
    pub(super) fn session_refused(&mut self, subscription: SubscriptionId) {
        self.attachments.remove(&0);
        self.leave_session_interest(subscription);
        self.subscriptions.remove(&subscription);
    }

    pub(super) fn send_retained(&mut self, request: &Subscribe, filter: &Filter, is_new: bool) {
        let wanted = match request.retained {
            RetainedDelivery::Skip => false,
            RetainedDelivery::Always => true,
            RetainedDelivery::IfNew => is_new,
        };
        if wanted && self.protocol == Protocol::Mqtt {
            let now = self.node.broker.clock.now();
            for message in self.node.broker.retained.matching(&self.vhost, filter, now) {
                self.deliver_direct(request.subscription, None, true, message);
            }
        }
    }

    fn leave_session_interest(&mut self, subscription: SubscriptionId) -> bool {
        let Some(session) = &self.session else { return false };
        let key = InterestKey::Session(session.number, subscription);
        match self.node.sessions.remove_interest(&session.name, subscription) {
            Some(filter) => self.node.broker.interest.remove(&self.vhost, &filter, key),
            None => false,
        }
    }

    /// The subscription leaves its share for good: it does not hold the shared group any more.
    pub(super) fn leave_share(&mut self, subscription: SubscriptionId, share: &Bytes, filter: Filter) {
        let key = (Arc::clone(&self.mailbox), subscription);
        self.node.shares.leave(&self.node, &self.vhost, share, key);
        if self.protocol != Protocol::Mqtt {
            return;
        }
        if let Some(session) = &self.session {
            self.node.sessions.let_go(&session.name, subscription);
        }
        let (node, vhost, share) = (Arc::clone(&self.node), self.vhost.clone(), share.clone());
        tokio::spawn(async move { operations::release_shared(&node, vhost, share, filter).await });
    }

    /// The subscription is made again with other options: its old member ends, it still holds the shared group.
    fn drop_share_member(&mut self, subscription: SubscriptionId, share: &Bytes) {
        let key = (Arc::clone(&self.mailbox), subscription);
        self.node.shares.leave(&self.node, &self.vhost, share, key);
        if let Some(attachment) = self.subscriptions.remove(&subscription).and_then(|known| known.attachment()) {
            self.detach(attachment, UNACKED_ON_MOVE, None);
        }
    }
}

fn interest_is_full() -> Refusal {
    Refusal::new(RefusalKind::LimitReached, "the node has no room for more subscriptions")
}
