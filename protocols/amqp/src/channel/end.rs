//! The end of a channel: what it held goes back, its consumers end.

use braid_types::{Outcome, Request, UnackedOnEnd};

use super::{Channel, Phase, assembly::Assembly};
use crate::connection::{Answer, Outlet};
use crate::method::{Method, channel};

impl Channel {
    /// Ends all that the channel has with the broker. Unacked deliveries are Modified, as a channel's death counts as a
    /// failed try (SPEC section 3); those that were not sent yet are Released.
    ///
    /// With `answer`, the end of the last consumer is waited for; false if there was none to wait for.
    pub(crate) fn end(&mut self, outlet: &mut Outlet, answer: Option<&Answer>) -> bool {
        self.flush_confirms(outlet);
        self.assembly = Assembly::default();
        self.held = None;
        self.confirms = None;
        self.tags.clear();
        self.release_waiting(outlet);
        let (number, incarnation) = (self.number, self.incarnation);
        let consumers = core::mem::take(&mut self.consumers);
        self.unacked.take_all(|entry| {
            // The others go with their consumer.
            let consumer = entry.subscription.and_then(|subscription| consumers.get(&subscription));
            if consumer.is_none_or(|consumer| consumer.is_cancelling) {
                outlet.settle(entry.key, Outcome::Modified);
            }
        });
        let last = consumers.iter().rev().find(|(_, consumer)| !consumer.is_cancelling).map(|(last, _)| *last);
        let has_unsynced = core::mem::take(&mut self.has_unsynced) || self.syncs > 0;
        let mut waits = false;
        for (subscription, consumer) in consumers {
            outlet.subscriptions.remove(&subscription);
            if consumer.is_cancelling {
                continue;
            }
            let ticket = answer.filter(|_| last == Some(subscription)).and_then(|answer| {
                let method = channel::Close::ID;
                let pending =
                    crate::connection::Pending { channel: number, incarnation, method, answer: answer.clone() };
                outlet.call(pending).ok()
            });
            waits |= ticket.is_some();
            let unacked = UnackedOnEnd::Settle(Outcome::Modified);
            outlet.request(Request::Unsubscribe { ticket, subscription, unacked });
        }
        if !waits
            && has_unsynced
            && let Some(answer) = answer.cloned()
        {
            // No consumer to wait for, but what it settled must be gone for good (SPEC section 8, P7).
            let pending =
                crate::connection::Pending { channel: number, incarnation, method: channel::Close::ID, answer };
            if let Ok(ticket) = outlet.call(pending) {
                outlet.request(Request::Sync { ticket });
                waits = true;
            }
        }
        waits
    }

    /// Gives back what waits for the channel's prefetch: it was never sent.
    pub(crate) fn release_waiting(&mut self, outlet: &mut Outlet) {
        for delivery in self.waiting.drain(..) {
            outlet.settle(delivery.key, Outcome::Released);
        }
    }

    pub(crate) const fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
    }
}
