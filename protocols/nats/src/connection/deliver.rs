//! Deliveries: `MSG` and `HMSG`, for messages of NATS clients as they came, for those of the others converted.

use braid_types::{Address, Delivery, Message, Outcome, Properties, Protocol, Request, SubscriptionId};
use bytes::{Bytes, BytesMut};

use super::Connection;
use crate::{
    encoder::Envelope,
    headers,
    limits::{CONTROL_LINE_BYTES_MAX, SCRATCH_BYTES_KEPT},
    reply::to_subject,
};

/// What conversion of other protocols' messages keeps between two of them.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    /// The last converted address and its subject: publishers repeat themselves.
    last: Option<(Protocol, Bytes, Bytes)>,
    scratch: BytesMut,
}

impl Foreign {
    /// The subject of a message of another protocol; `None`: it has no NATS form.
    fn subject(&mut self, message: &Message) -> Option<Bytes> {
        if let Some((origin, key, subject)) = &self.last
            && *origin == message.origin
            && *key == message.key
        {
            return Some(subject.clone());
        }
        let subject = Address::from_notation(message.origin, &message.key).ok()?.to_notation(Protocol::Nats).ok()?;
        if subject.is_empty() || subject.len() > CONTROL_LINE_BYTES_MAX {
            return None;
        }
        // A copy, because the key is a slice of somebody's read buffer.
        self.last = Some((message.origin, Bytes::copy_from_slice(&message.key), subject.clone()));
        Some(subject)
    }
}

/// How a delivery ended here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Handover {
    /// It is written.
    Sent,
    /// There is no such subscription any more.
    Unwanted,
    /// It cannot be written in NATS form.
    Unconvertible,
}

impl Connection {
    /// Sends a message to a subscription, and settles it where the group waits for that: NATS clients acknowledge
    /// nothing, so hand-over is all there is (SPEC section 3).
    pub(super) fn deliver(&mut self, delivery: &Delivery) {
        let handover = self.hand_over(delivery, delivery.subscription);
        for other in delivery.others.as_deref().unwrap_or_default() {
            self.hand_over(delivery, *other);
        }
        let Some(key) = delivery.key else { return };
        let outcome = match handover {
            Handover::Sent => Outcome::Accepted,
            Handover::Unwanted => Outcome::Released,
            Handover::Unconvertible => Outcome::Rejected,
        };
        self.requests.push_back(Request::Settle { key, outcome });
    }

    fn hand_over(&mut self, delivery: &Delivery, id: SubscriptionId) -> Handover {
        let message = &delivery.message;
        let handover = match self.subscriptions.get(id) {
            None => Handover::Unwanted,
            Some(subscription) if message.origin == Protocol::Nats => {
                let header: &[u8] = if self.client.headers { &message.header } else { b"" };
                Envelope {
                    subject: &message.key,
                    sid: &subscription.sid,
                    reply: &message.reply,
                    header,
                    body: &message.body,
                }
                .write(&mut self.transmit);
                Handover::Sent
            }
            Some(subscription) => {
                let sid = subscription.sid.clone();
                self.hand_over_foreign(delivery, &sid)
            }
        };
        if handover == Handover::Sent {
            self.count(id);
        } else {
            self.dropped_count += 1;
        }
        handover
    }

    fn hand_over_foreign(&mut self, delivery: &Delivery, sid: &[u8]) -> Handover {
        let message = &delivery.message;
        let Some(subject) = self.foreign.subject(message) else { return Handover::Unconvertible };
        let none = Properties::default();
        let properties = delivery.properties.as_deref().unwrap_or(&none);
        let reply = properties.reply.as_ref().and_then(to_subject).unwrap_or_default();
        let scratch = &mut self.foreign.scratch;
        scratch.clear();
        if self.client.headers {
            headers::write(properties, delivery.delivery_count, scratch);
        }
        Envelope { subject: &subject, sid, reply: &reply, header: scratch, body: &message.body }
            .write(&mut self.transmit);
        if scratch.capacity() > SCRATCH_BYTES_KEPT {
            *scratch = BytesMut::new();
        }
        Handover::Sent
    }

    /// Counts a message that was sent, and ends the subscription when it was the last one.
    fn count(&mut self, id: SubscriptionId) {
        let Some(subscription) = self.subscriptions.get_mut(id) else { return };
        subscription.delivered += 1;
        if subscription.delivered_max > 0 && subscription.delivered >= subscription.delivered_max {
            self.exhaust(id);
        }
    }
}
