//! Deliveries to consumers, and the channel's own prefetch.
//!
//! `basic.qos` with `global` limits what the consumers of a channel have open together. The broker knows windows of
//! consumers only; so each of them is asked for no more than the channel's limit, and what comes beyond it waits here, in
//! order, until acks make room.

use braid_types::{Delivery, Outcome, Timestamp};

use super::{Channel, unacked::Entry};
use crate::{
    connection::Outlet,
    content::{Envelope, Outgoing},
};

impl Channel {
    /// A message for one of the consumers.
    pub(crate) fn deliver(&mut self, outlet: &mut Outlet, now: Timestamp, delivery: Delivery) {
        let Some(consumer) = self.consumers.get(&delivery.subscription) else {
            outlet.settle(delivery.key, Outcome::Released);
            return;
        };
        if !consumer.no_ack && self.is_full() {
            if consumer.is_cancelling {
                outlet.settle(delivery.key, Outcome::Released);
            } else {
                self.waiting.push_back(delivery);
            }
            return;
        }
        self.send_delivery(outlet, now, &delivery);
    }

    /// Sends what waits, as far as the channel's prefetch allows.
    pub(super) fn send_waiting(&mut self, outlet: &mut Outlet, now: Timestamp) {
        while !self.waiting.is_empty() && !self.is_full() {
            if let Some(delivery) = self.waiting.pop_front() {
                self.send_delivery(outlet, now, &delivery);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.channel_prefetch > 0 && self.unacked.open_of_consumers() >= usize::from(self.channel_prefetch)
    }

    fn send_delivery(&mut self, outlet: &mut Outlet, now: Timestamp, delivery: &Delivery) {
        let Some(consumer) = self.consumers.get(&delivery.subscription) else {
            outlet.settle(delivery.key, Outcome::Released);
            return;
        };
        let Ok(outgoing) = Outgoing::of_delivery(delivery, now, &mut outlet.scratch) else {
            outlet.conversion_failures += 1;
            outlet.settle(delivery.key, Outcome::Rejected);
            return;
        };
        self.last_delivery_tag += 1;
        let envelope = Envelope::Deliver { consumer_tag: &consumer.tag, delivery_tag: self.last_delivery_tag };
        outgoing.write(&envelope, self.number, outlet.frame_bytes_max, &mut outlet.transmit);
        if consumer.no_ack {
            outlet.settle(delivery.key, Outcome::Accepted);
        } else {
            let entry = Entry { key: delivery.key, subscription: Some(delivery.subscription) };
            self.unacked.push(self.last_delivery_tag, entry);
        }
    }
}
