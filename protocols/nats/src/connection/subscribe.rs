//! `SUB` and `UNSUB`, and the broker's answers to them.

use alloc::{boxed::Box, format, string::String};

use braid_types::{
    Completion, Outcome, Refusal, RefusalKind, Request, RetainedDelivery, Settlement, Source, Subscribe,
    SubscriptionId, Ticket, Timestamp, UnackedOnEnd,
};
use bytes::Bytes;

use super::Connection;
use crate::{
    answers::Waiting,
    error::{Complaint, Fault},
    limits::SUBSCRIPTIONS_MAX,
    op::{SubscribeOp, UnsubscribeOp},
    reply::group_of,
    subject::is_filter,
};

/// A subscription that never is.
const NO_SUBSCRIPTION: SubscriptionId = SubscriptionId(u64::MAX);

/// What becomes of messages that were handed out and not sent.
const UNSENT: UnackedOnEnd = UnackedOnEnd::Settle(Outcome::Released);

/// A request that does nothing but to be answered in its turn.
pub(super) fn barrier(ticket: Ticket) -> Request {
    Request::Unsubscribe { ticket: Some(ticket), subscription: NO_SUBSCRIPTION, unacked: UNSENT }
}

impl Connection {
    /// Subscribes. A sid that is in use keeps its subscription, and the new one is ignored, as in nats-server.
    pub(super) fn subscribe(&mut self, subscribe: SubscribeOp) {
        if self.subscriptions.len() >= SUBSCRIPTIONS_MAX {
            return self.answers.say_line(Complaint::Subscriptions.line(), &mut self.transmit);
        }
        if self.subscriptions.named(&subscribe.sid).is_some() {
            return self.okay();
        }
        if !is_filter(&subscribe.filter) {
            return self.answers.say_line(Complaint::Subject.line(), &mut self.transmit);
        }
        let SubscribeOp { filter, queue, sid } = subscribe;
        let source = match queue.as_ref().and_then(|_| group_of(&filter)) {
            Some(name) => Source::Group { name },
            None => Source::Filter { filter: filter.clone(), share: queue.clone() },
        };
        let subscription = self.subscriptions.insert(sid.clone(), filter, queue);
        let ticket = self.answers.wait(Waiting::Subscribe(subscription));
        self.is_echo_due = false;
        self.requests.push_back(Request::Subscribe(Box::new(Subscribe {
            ticket,
            subscription,
            source,
            settlement: Settlement::HandOff,
            qos: 0,
            exclusive: false,
            priority: 0,
            no_local: !self.client.echo,
            retained: RetainedDelivery::Skip,
            on_loss: Outcome::Accepted,
            label: sid,
        })));
    }

    /// Unsubscribes now, or when as many messages as given were sent since the subscription began.
    pub(super) fn unsubscribe(&mut self, unsubscribe: &UnsubscribeOp) {
        let Some((id, false)) = self.subscriptions.named(&unsubscribe.sid) else { return self.okay() };
        if let Some(subscription) = self.subscriptions.get_mut(id)
            && unsubscribe.messages_max > subscription.delivered
        {
            subscription.delivered_max = unsubscribe.messages_max;
            return self.okay();
        }
        self.subscriptions.end(id);
        let ticket = self.answers.wait(Waiting::Unsubscribe(id));
        self.is_echo_due = false;
        self.requests.push_back(Request::Unsubscribe { ticket: Some(ticket), subscription: id, unacked: UNSENT });
    }

    /// The subscription has had the messages that it was to have.
    pub(super) fn exhaust(&mut self, subscription: SubscriptionId) {
        self.subscriptions.remove(subscription);
        self.requests.push_back(Request::Unsubscribe { ticket: None, subscription, unacked: UNSENT });
    }

    /// The broker's answer to a subscribe, an unsubscribe or a barrier.
    pub(super) fn completed(&mut self, now: Timestamp, ticket: Ticket, result: Result<Completion, Refusal>) {
        let okay = Bytes::from_static(if self.client.verbose { b"+OK\r\n" } else { b"" });
        match self.answers.take(ticket) {
            Some(Waiting::Subscribe(id)) => match result {
                Ok(_) => self.answers.fill(ticket, okay),
                Err(refusal) => self.subscribe_refused(now, ticket, id, &refusal),
            },
            Some(Waiting::Unsubscribe(id)) => {
                self.subscriptions.remove(id);
                self.answers.fill(ticket, okay);
            }
            Some(Waiting::Admission | Waiting::Barrier | Waiting::Request(..)) | None => {}
        }
        self.flush();
    }

    /// The broker ended a subscription: its group is gone.
    pub(super) fn cancelled(&mut self, subscription: SubscriptionId) {
        if let Some(ended) = self.subscriptions.remove(subscription) {
            let detail = String::from(", group deleted");
            let complaint = Complaint::Subscription { subject: ended.filter, queue: ended.queue, detail };
            self.answers.say_line(complaint.line(), &mut self.transmit);
        }
    }

    fn okay(&mut self) {
        if self.client.verbose {
            self.answers.say(b"+OK\r\n", &mut self.transmit);
        }
    }

    /// A refusal that time may heal ends the connection, so that the client comes again (and subscribes again); for one
    /// that lasts, the client is told and the connection goes on.
    fn subscribe_refused(&mut self, now: Timestamp, ticket: Ticket, id: SubscriptionId, refusal: &Refusal) {
        let Some(refused) = self.subscriptions.remove(id) else { return };
        let detail = match refusal.kind {
            RefusalKind::Unavailable | RefusalKind::Internal => {
                self.answers.fill_last(ticket, Fault::Stale.line());
                self.begin_ending(now);
                return;
            }
            RefusalKind::LimitReached => return self.answers.fill(ticket, Complaint::Subscriptions.line()),
            RefusalKind::PreconditionFailed => return self.answers.fill(ticket, Complaint::Subject.line()),
            RefusalKind::AccessRefused => String::new(),
            RefusalKind::NotFound
            | RefusalKind::ResourceLocked
            | RefusalKind::NotAllowed
            | RefusalKind::NotImplemented
            | RefusalKind::BadCredentials => format!(", {}", on_one_line(&refusal.text)),
        };
        let complaint = Complaint::Subscription { subject: refused.filter, queue: refused.queue, detail };
        self.answers.fill(ticket, complaint.line());
    }
}

/// Text for people that cannot end the line or the quotes that it stands in.
fn on_one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() || character == '\'' { ' ' } else { character }).collect()
}
