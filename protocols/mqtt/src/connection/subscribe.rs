//! SUBSCRIBE and UNSUBSCRIBE, and the broker's answers to them.
//!
//! Invariant: each of the two is answered once, when the broker has answered for all of its filters (P4: what is
//! published after SUBACK is routed accordingly).

mod answers;

use alloc::boxed::Box;

use braid_types::{
    Completion, Outcome, Refusal, Request, RetainedDelivery, Settlement, Source, Subscribe as SubscribeRequest,
    SubscriptionId, Ticket, UnackedOnEnd,
};
use bytes::Bytes;

pub(super) use answers::Answers;
use answers::{Answer, refusal_code};

use super::{Connection, Phase, ticket::Purpose};
use crate::{
    Fault, ReasonCode, Version, limits,
    packet::{kind, subscribe::Subscribe, unsubscribe::Unsubscribe},
    subscriptions::{Kind, SubscribeOptions, Subscription},
    topic::{self, Target},
};

impl Connection {
    /// A SUBSCRIBE. A filter that is no filter is a fault of the whole packet, as with Mosquitto.
    pub(super) fn subscribe(&mut self, subscribe: Subscribe) -> Result<(), Fault> {
        for (filter, options) in &subscribe.filters {
            let target = topic::check_filter(filter)?;
            if matches!(target, Target::Shared { .. }) && options.no_local() {
                return Err(Fault::Protocol("no local on a shared subscription"));
            }
        }
        self.check_changes(subscribe.filters.len())?;
        let operation = self.answers.next_operation();
        let mut answer = Answer::new(kind::SUBACK, subscribe.packet_id, subscribe.filters.len());
        for (position, (filter, options)) in (0_u32..).zip(subscribe.filters) {
            let is_new = self.session.subscriptions.by_filter(&filter).is_none();
            if is_new && self.session.subscriptions.len() >= limits::SUBSCRIPTIONS_MAX {
                answer.set(position, self.failure(ReasonCode::QUOTA_EXCEEDED, options.qos()));
                continue;
            }
            let kind = match topic::check_filter(&filter)? {
                Target::Plain => Kind::Plain,
                Target::Shared { .. } | Target::Queue { .. } => Kind::Shared,
            };
            let options = if self.client.is_bridge { options.for_bridge() } else { options };
            let (id, before) = self.session.subscriptions.put(&filter, kind, options, subscribe.identifier);
            let retained = retained_delivery(kind, options, is_new);
            answer.wait(position, id, options.qos(), before);
            self.ask_subscribe(Purpose::Change { operation, position }.ticket(), id, retained);
        }
        self.answer(operation, answer);
        Ok(())
    }

    /// An UNSUBSCRIBE.
    pub(super) fn unsubscribe(&mut self, unsubscribe: &Unsubscribe<'_>) -> Result<(), Fault> {
        self.check_changes(unsubscribe.filters.len())?;
        let operation = self.answers.next_operation();
        let mut answer = Answer::new(kind::UNSUBACK, unsubscribe.packet_id, unsubscribe.filters.len());
        for (position, filter) in (0_u32..).zip(&unsubscribe.filters) {
            let Some(id) = self.session.subscriptions.by_filter(filter).map(|found| found.id) else {
                answer.set(position, ReasonCode::NO_SUBSCRIPTION_EXISTED.0);
                continue;
            };
            self.session.subscriptions.remove(id);
            answer.wait(position, id, ReasonCode::SUCCESS.0, None);
            // What was sent is completed by the client (MQTT-3.10.4-3); what was not goes back.
            self.requests.push_back(Request::Unsubscribe {
                ticket: Some(Purpose::Change { operation, position }.ticket()),
                subscription: id,
                unacked: UnackedOnEnd::Keep,
            });
            self.drop_waiting(id);
        }
        self.answer(operation, answer);
        Ok(())
    }

    /// The answer to `Subscribe` or `Unsubscribe`.
    pub(super) fn completed(&mut self, ticket: Ticket, result: Result<Completion, Refusal>) {
        if !matches!(self.phase, Phase::Open) {
            return;
        }
        match Purpose::of(ticket) {
            Some(Purpose::Change { operation, position }) => self.changed(operation, position, result),
            Some(Purpose::Resubscribe { subscription }) => {
                if result.is_err() {
                    // What the session was subscribed to is not there any more, or not for this user.
                    self.session.subscriptions.remove(subscription);
                }
            }
            Some(Purpose::Authenticate | Purpose::OpenSession | Purpose::Publish { .. }) | None => {}
        }
    }

    /// The broker ended a subscription: its group was deleted. MQTT has no word for that, so the client is told by the end
    /// of the connection and finds out when it subscribes again.
    pub(super) fn cancelled(&mut self, subscription: SubscriptionId) {
        if matches!(self.phase, Phase::Open) && self.session.subscriptions.remove(subscription).is_some() {
            self.wire.disconnect(ReasonCode::ADMINISTRATIVE_ACTION, "the group was deleted");
            self.close();
        }
    }

    /// Asks the broker for the subscriptions of a resumed session. Retained messages were sent long ago (CASES 31).
    pub(super) fn resubscribe(&mut self) {
        let ids: alloc::vec::Vec<SubscriptionId> = self.session.subscriptions.iter().map(|entry| entry.id).collect();
        for subscription in ids {
            let ticket = Purpose::Resubscribe { subscription }.ticket();
            self.ask_subscribe(ticket, subscription, RetainedDelivery::Skip);
        }
    }

    fn check_changes(&self, filters: usize) -> Result<(), Fault> {
        if filters > limits::SUBSCRIPTIONS_MAX || self.answers.len() >= limits::CHANGES_MAX {
            return Err(Fault::Reason(ReasonCode::QUOTA_EXCEEDED));
        }
        Ok(())
    }

    fn ask_subscribe(&mut self, ticket: Ticket, id: SubscriptionId, retained: RetainedDelivery) {
        let Some(subscription) = self.session.subscriptions.get(id) else { return };
        let qos = subscription.options.qos();
        let window = u32::from(self.client.window);
        let request = SubscribeRequest {
            ticket,
            subscription: id,
            source: source(subscription),
            settlement: if qos == 0 { Settlement::HandOff } else { Settlement::Acknowledged { messages: window } },
            qos,
            exclusive: false,
            priority: 0,
            no_local: subscription.options.no_local() && subscription.kind == Kind::Plain,
            retained,
            on_loss: Outcome::Released,
            label: self.label(),
        };
        self.requests.push_back(Request::Subscribe(Box::new(request)));
    }

    fn changed(&mut self, operation: u32, position: u32, result: Result<Completion, Refusal>) {
        let Some(waited) = self.answers.waited(operation, position) else { return };
        let code = match result {
            Ok(_) => waited.code,
            // The subscription is gone for the client in any case.
            Err(_) if waited.is_unsubscribe => ReasonCode::SUCCESS.0,
            Err(refusal) => {
                self.session.subscriptions.undo(waited.subscription, waited.before);
                let code = self.failure(refusal_code(refusal.kind), waited.code);
                self.answers.set_reason(operation, refusal.text);
                code
            }
        };
        self.answers.set(operation, position, code);
        if let Some(answer) = self.answers.take_if_complete(operation) {
            self.send_answer(&answer);
        }
    }

    /// The code of a refused filter. MQTT 3.1 has none: it is told what it asked for, as by Mosquitto.
    fn failure(&self, reason: ReasonCode, granted: u8) -> u8 {
        match self.wire.version() {
            Version::V5 => reason.0,
            Version::V311 => ReasonCode::UNSPECIFIED.0,
            Version::V31 => granted,
        }
    }

    fn answer(&mut self, operation: u32, answer: Answer) {
        if answer.is_complete() {
            self.send_answer(&answer);
        } else {
            self.answers.insert(operation, answer);
        }
    }

    fn send_answer(&mut self, answer: &Answer) {
        let reason = answer.reason().filter(|_| self.client.wants_problem_information);
        if !self.wire.suback(answer.packet_kind(), answer.packet_id(), answer.codes(), reason) {
            // The client takes no packet as large as the answer to its own.
            self.fail(Fault::Reason(ReasonCode::PACKET_TOO_LARGE));
        }
    }

    /// Deliveries of an ended subscription that were never sent: shared work goes back to its group.
    fn drop_waiting(&mut self, id: SubscriptionId) {
        let dropped = self.session.waiting.extract(|waits| waits.subscription == id && waits.others.is_none());
        for outgoing in dropped {
            let outcome = if outgoing.is_session { Outcome::Accepted } else { Outcome::Released };
            self.settle(outgoing.key, outcome);
        }
    }
}

/// Shared work gets no retained messages (MQTT 5, 4.8.2). "If new" is decided here, where the session is known.
fn retained_delivery(kind: Kind, options: SubscribeOptions, is_new: bool) -> RetainedDelivery {
    match (kind, options.retain_handling()) {
        (Kind::Plain, 0) => RetainedDelivery::Always,
        (Kind::Plain, 1) if is_new => RetainedDelivery::IfNew,
        _ => RetainedDelivery::Skip,
    }
}

fn source(subscription: &Subscription) -> Source {
    let filter = &subscription.filter;
    match topic::check_filter(filter) {
        Ok(Target::Shared { name, filter: shared }) => {
            Source::Filter { filter: filter.slice_ref(shared), share: Some(Bytes::copy_from_slice(name)) }
        }
        Ok(Target::Queue { name }) => Source::Group { name: filter.slice_ref(name) },
        Ok(Target::Plain) | Err(_) => Source::Filter { filter: filter.clone(), share: None },
    }
}
