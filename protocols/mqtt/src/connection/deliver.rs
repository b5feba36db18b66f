//! Messages to the client.

use braid_types::{Delivery, DeliveryKey, Outcome, Protocol, Request, SubscriptionId, Timestamp};

use super::{
    Connection, Phase,
    wire::{Copy, Undeliverable, foreign_topic},
};
use crate::{
    outgoing::{Next, Outgoing},
    subscriptions::{Matched, first_and_others},
};

impl Connection {
    /// A message for a subscription.
    pub(super) fn deliver(&mut self, now: Timestamp, mut delivery: Delivery) {
        if !matches!(self.phase, Phase::Open) {
            // The broker settles what a connection leaves.
            return;
        }
        let is_session = delivery.subscription == SubscriptionId::SESSION;
        if is_session && !self.find_subscriptions(&mut delivery) {
            self.counters.unmatched = self.counters.unmatched.saturating_add(1);
            self.settle(delivery.key, Outcome::Accepted);
            return;
        }
        let others = delivery.others.as_deref().unwrap_or_default();
        let matched = self.session.subscriptions.named(delivery.subscription, others);
        if !matched.any {
            // It crossed with an UNSUBSCRIBE.
            self.counters.unmatched = self.counters.unmatched.saturating_add(1);
            self.settle(delivery.key, Outcome::Released);
            return;
        }
        let qos = matched.qos.min(delivery.message.qos);
        let retain = delivery.retained || (matched.retain_as_published && delivery.message.retain);
        if qos == 0 {
            self.send_once(now, &delivery, &matched, retain);
            return;
        }
        let outgoing = Outgoing {
            message: delivery.message,
            properties: delivery.properties,
            key: delivery.key,
            is_session,
            subscription: delivery.subscription,
            others: delivery.others,
            qos,
            retain,
            is_retained: delivery.retained,
            redelivered: delivery.redelivered,
            delivery_count: delivery.delivery_count,
        };
        if self.session.waiting.is_empty() && self.has_place() {
            self.send(now, outgoing, &matched);
        } else if !self.session.waiting.push(outgoing) {
            self.counters.no_room = self.counters.no_room.saturating_add(1);
        }
    }

    /// Sends what waits, as long as there are places in the client's window.
    pub(super) fn flush(&mut self, now: Timestamp) {
        while self.has_place() {
            match self.session.waiting.pop() {
                Some(Next::Fresh(outgoing)) => {
                    let others = outgoing.others.as_deref().unwrap_or_default();
                    let matched = self.session.subscriptions.named(outgoing.subscription, others);
                    self.send(now, outgoing, &matched);
                }
                Some(Next::Again(packet_id)) => self.send_again(now, packet_id),
                None => break,
            }
        }
    }

    /// Settles a delivery that has a key.
    pub(super) fn settle(&mut self, key: Option<DeliveryKey>, outcome: Outcome) {
        if let Some(key) = key {
            self.requests.push_back(Request::Settle { key, outcome });
        }
    }

    /// A delivery of the session's own group names no subscription: finds those that match.
    fn find_subscriptions(&self, delivery: &mut Delivery) -> bool {
        let message = &delivery.message;
        let subscriptions = &self.session.subscriptions;
        let matches = if message.origin == Protocol::Mqtt {
            subscriptions.matching(message, &message.key, self.options.connection)
        } else {
            let Some(topic) = foreign_topic(message) else { return false };
            subscriptions.matching(message, &topic, self.options.connection)
        };
        let Some((first, others)) = first_and_others(&matches) else { return false };
        delivery.subscription = first;
        delivery.others = others;
        true
    }

    /// Whether another QoS 1 or 2 delivery may be sent.
    fn has_place(&self) -> bool {
        let ring = &self.session.ring;
        ring.open() < usize::from(self.client.window) && ring.next_id().is_some()
    }

    /// QoS 0: settled at hand-off.
    fn send_once(&mut self, now: Timestamp, delivery: &Delivery, matched: &Matched, retain: bool) {
        let copy = Copy {
            message: &delivery.message,
            properties: delivery.properties.as_deref(),
            qos: 0,
            retain,
            dup: false,
            packet_id: 0,
            identifiers: &matched.identifiers,
            delivery_count: delivery.delivery_count,
        };
        if let Err(why) = self.wire.publish(now, &copy) {
            self.count(why);
        }
        self.settle(delivery.key, Outcome::Accepted);
    }

    /// QoS 1 or 2, for the first time.
    fn send(&mut self, now: Timestamp, outgoing: Outgoing, matched: &Matched) {
        let Some(packet_id) = self.session.ring.next_id() else { return };
        let copy = copy(&outgoing, matched, packet_id, outgoing.redelivered);
        match self.wire.publish(now, &copy) {
            Ok(()) => self.session.ring.push(outgoing),
            Err(why) => {
                // Its identifier is used up, as with Mosquitto.
                self.session.ring.skip();
                self.count(why);
                self.settle(outgoing.key, Outcome::Accepted);
            }
        }
    }

    /// QoS 1 or 2 that an earlier connection sent and the client has not acknowledged.
    fn send_again(&mut self, now: Timestamp, packet_id: u16) {
        // The client may have acknowledged it already.
        let Some(entry) = self.session.ring.get(packet_id) else { return };
        let outgoing = &entry.outgoing;
        let others = outgoing.others.as_deref().unwrap_or_default();
        let matched = self.session.subscriptions.named(outgoing.subscription, others);
        match self.wire.publish(now, &copy(outgoing, &matched, packet_id, true)) {
            Ok(()) => self.session.ring.open_again(packet_id),
            Err(why) => {
                self.count(why);
                let key = self.session.ring.remove(packet_id).and_then(|entry| entry.outgoing.key);
                self.settle(key, Outcome::Accepted);
            }
        }
    }

    fn count(&mut self, why: Undeliverable) {
        let counter = match why {
            Undeliverable::TooLarge => &mut self.counters.too_large,
            Undeliverable::Expired => &mut self.counters.expired,
            Undeliverable::Unconvertible => &mut self.counters.unconvertible,
        };
        *counter = counter.saturating_add(1);
    }
}

fn copy<'a>(outgoing: &'a Outgoing, matched: &'a Matched, packet_id: u16, dup: bool) -> Copy<'a> {
    Copy {
        message: &outgoing.message,
        properties: outgoing.properties.as_deref(),
        qos: outgoing.qos,
        retain: outgoing.retain,
        dup,
        packet_id,
        identifiers: &matched.identifiers,
        delivery_count: outgoing.delivery_count,
    }
}
