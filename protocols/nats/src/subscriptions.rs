//! The client's own subscriptions: by number for deliveries, by sid for the client, by subject for no-responders
//! notices.
//!
//! Invariants: numbers start at 1 and are never reused; a sid names at most one subscription, and is free again only
//! when that one is gone; an ending one still takes deliveries, so that what was routed to it before its end is not
//! lost (drain).

use alloc::{collections::BTreeMap, vec::Vec};

use braid_types::SubscriptionId;
use bytes::Bytes;

use crate::{limits::REPLY_SCAN_MAX, subject};

/// One subscription.
#[derive(Debug)]
pub(crate) struct Subscription {
    /// The client's name for it.
    pub sid: Bytes,
    /// The subject, with wildcards.
    pub filter: Bytes,
    /// The queue group.
    pub queue: Option<Bytes>,
    /// Messages sent since it began.
    pub delivered: u64,
    /// Ends after so many messages; 0: never.
    pub delivered_max: u64,
    /// The client has unsubscribed, as the so-manieth of all; the broker has not confirmed it yet.
    ended: Option<u64>,
}

/// A moment in the client's stream of operations: which subscriptions there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    last: u64,
    ended_count: u64,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    by_id: BTreeMap<SubscriptionId, Subscription>,
    by_sid: BTreeMap<Bytes, SubscriptionId>,
    last: u64,
    ended_count: u64,
    /// The one that took the last notice: clients use one inbox for all requests.
    inbox: Option<SubscriptionId>,
}

impl Subscriptions {
    /// How many there are, ending ones included.
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// There is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The subscription that `sid` names, and whether it is ending.
    pub(crate) fn named(&self, sid: &[u8]) -> Option<(SubscriptionId, bool)> {
        let id = *self.by_sid.get(sid)?;
        self.by_id.get(&id).map(|subscription| (id, subscription.ended.is_some()))
    }

    /// Adds one under a new number.
    pub(crate) fn insert(&mut self, sid: Bytes, filter: Bytes, queue: Option<Bytes>) -> SubscriptionId {
        self.last += 1;
        let id = SubscriptionId(self.last);
        self.by_sid.insert(sid.clone(), id);
        let subscription = Subscription { sid, filter, queue, delivered: 0, delivered_max: 0, ended: None };
        self.by_id.insert(id, subscription);
        id
    }

    /// The subscription with this number.
    pub(crate) fn get(&self, id: SubscriptionId) -> Option<&Subscription> {
        self.by_id.get(&id)
    }

    /// The subscription with this number, to change it.
    pub(crate) fn get_mut(&mut self, id: SubscriptionId) -> Option<&mut Subscription> {
        self.by_id.get_mut(&id)
    }

    /// The client has unsubscribed; deliveries still reach it.
    pub(crate) fn end(&mut self, id: SubscriptionId) {
        if let Some(subscription) = self.by_id.get_mut(&id) {
            self.ended_count += 1;
            subscription.ended = Some(self.ended_count);
            subscription.delivered_max = 0;
        }
    }

    /// Forgets it.
    pub(crate) fn remove(&mut self, id: SubscriptionId) -> Option<Subscription> {
        let subscription = self.by_id.remove(&id)?;
        self.by_sid.remove(&subscription.sid);
        Some(subscription)
    }

    /// Forgets all; their numbers, without those of ending ones.
    pub(crate) fn clear(&mut self) -> Vec<SubscriptionId> {
        self.by_sid.clear();
        self.inbox = None;
        let all = core::mem::take(&mut self.by_id);
        all.into_iter().filter(|(_, subscription)| subscription.ended.is_none()).map(|(id, _)| id).collect()
    }

    /// Now.
    pub(crate) fn moment(&self) -> Moment {
        Moment { last: self.last, ended_count: self.ended_count }
    }

    /// The sid of a subscription without queue group that matched `reply` at that moment, as nats-server looks for one.
    pub(crate) fn for_reply(&mut self, reply: &[u8], moment: Moment) -> Option<Bytes> {
        let takes = |id: SubscriptionId, subscription: &Subscription| {
            id.0 <= moment.last
                && subscription.ended.is_none_or(|ended| ended > moment.ended_count)
                && subscription.queue.is_none()
                && subject::matches(&subscription.filter, reply)
        };
        if let Some(id) = self.inbox
            && let Some(known) = self.by_id.get(&id)
            && takes(id, known)
        {
            return Some(known.sid.clone());
        }
        let (id, found) = self.by_id.iter().take(REPLY_SCAN_MAX).find(|(id, one)| takes(**id, one))?;
        self.inbox = Some(*id);
        Some(found.sid.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sid_is_free_again_when_its_subscription_is_gone() {
        let mut subscriptions = Subscriptions::default();
        let sid = Bytes::from_static(b"1");
        let old = subscriptions.insert(sid.clone(), Bytes::from_static(b"a"), None);
        assert_eq!(subscriptions.named(b"1"), Some((old, false)));
        subscriptions.end(old);
        assert_eq!(subscriptions.named(b"1"), Some((old, true)));
        assert!(subscriptions.remove(old).is_some());
        assert_eq!(subscriptions.named(b"1"), None);
        let new = subscriptions.insert(sid, Bytes::from_static(b"b"), None);
        assert_ne!(old, new);
        assert_eq!(subscriptions.clear(), [new]);
        assert!(subscriptions.is_empty() && subscriptions.named(b"1").is_none());
    }

    #[test]
    fn notices_go_to_a_plain_subscription_of_the_time() {
        let mut subscriptions = Subscriptions::default();
        let text = |text: &'static str| Bytes::from_static(text.as_bytes());
        subscriptions.insert(text("q"), text("inbox.*"), Some(text("g")));
        let early = subscriptions.moment();
        let plain = subscriptions.insert(text("p"), text("inbox.*"), None);
        let between = subscriptions.moment();
        assert_eq!(subscriptions.for_reply(b"inbox.1", between).unwrap(), "p");
        assert_eq!(subscriptions.for_reply(b"inbox.2", between).unwrap(), "p");
        assert_eq!(subscriptions.for_reply(b"inbox.2", early), None);
        assert_eq!(subscriptions.for_reply(b"other", between), None);
        subscriptions.end(plain);
        let late = subscriptions.moment();
        assert_eq!(subscriptions.for_reply(b"inbox.1", between).unwrap(), "p");
        assert_eq!(subscriptions.for_reply(b"inbox.1", late), None);
    }
}
