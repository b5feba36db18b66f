//! The subscriptions of one session: found by filter when the client (un)subscribes, by number when a delivery names it,
//! by topic when a delivery comes from the session's own group.
//!
//! Invariants: entries are in the order of their numbers, which are never used again within the session; a filter has
//! at most one entry.

mod options;

use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

use braid_types::{ConnectionId, Message, SessionSubscription, SubscriptionId};
use bytes::Bytes;
use smallvec::SmallVec;

pub(crate) use options::SubscribeOptions;

use crate::topic;

/// What a subscription takes its messages from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The client's own copy of each matching message.
    Plain,
    /// `$share/...` or `$queue/...`: work that is shared with others.
    Shared,
}

/// A subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) id: SubscriptionId,
    /// As the client wrote it.
    pub(crate) filter: Bytes,
    pub(crate) options: SubscribeOptions,
    pub(crate) identifier: Option<u32>,
    pub(crate) kind: Kind,
}

/// What the matching subscriptions ask of one delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Matched {
    /// Highest granted QoS.
    pub(crate) qos: u8,
    /// One of them wants the retain flag as it was published.
    pub(crate) retain_as_published: bool,
    /// Their subscription identifiers.
    pub(crate) identifiers: SmallVec<[u32; 2]>,
    /// Any matched at all.
    pub(crate) any: bool,
}

impl Matched {
    fn add(&mut self, subscription: &Subscription) {
        self.any = true;
        self.qos = self.qos.max(subscription.options.qos());
        self.retain_as_published |= subscription.options.retain_as_published();
        self.identifiers.extend(subscription.identifier);
    }
}

/// The subscriptions of a session.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    entries: Vec<Subscription>,
    by_filter: BTreeMap<Bytes, SubscriptionId>,
    last_id: u64,
}

impl Subscriptions {
    /// Those that an earlier connection left.
    pub(crate) fn restore(subscriptions: Vec<SessionSubscription>, next_id: u64) -> Self {
        let mut restored = Self { last_id: next_id.saturating_sub(1), ..Self::default() };
        for old in subscriptions {
            let kind = kind(&old.filter);
            restored.last_id = restored.last_id.max(old.subscription.0);
            restored.by_filter.insert(old.filter.clone(), old.subscription);
            restored.entries.push(Subscription {
                id: old.subscription,
                filter: old.filter,
                options: SubscribeOptions::from_byte(old.options),
                identifier: old.identifier,
                kind,
            });
        }
        restored.entries.sort_unstable_by_key(|entry| entry.id);
        restored
    }

    /// What to keep of them, and the next number.
    pub(crate) fn to_session(&self) -> (Vec<SessionSubscription>, u64) {
        let kept = self.entries.iter().map(|entry| SessionSubscription {
            subscription: entry.id,
            filter: entry.filter.clone(),
            options: entry.options.to_byte(),
            identifier: entry.identifier,
        });
        (kept.collect(), self.last_id.saturating_add(1))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// All, in the order in which they were made.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Subscription> {
        self.entries.iter()
    }

    /// The one with this filter.
    pub(crate) fn by_filter(&self, filter: &[u8]) -> Option<&Subscription> {
        self.by_filter.get(filter).and_then(|id| self.get(*id))
    }

    /// The one with this number.
    pub(crate) fn get(&self, id: SubscriptionId) -> Option<&Subscription> {
        let position = self.entries.binary_search_by_key(&id, |entry| entry.id).ok()?;
        self.entries.get(position)
    }

    /// Adds one, or gives the one with the same filter new options. Says its number, and what it was before.
    pub(crate) fn put(
        &mut self,
        filter: &Bytes,
        kind: Kind,
        options: SubscribeOptions,
        identifier: Option<u32>,
    ) -> (SubscriptionId, Option<Subscription>) {
        if let Some(id) = self.by_filter.get(filter).copied()
            && let Ok(position) = self.entries.binary_search_by_key(&id, |entry| entry.id)
            && let Some(entry) = self.entries.get_mut(position)
        {
            let before = entry.clone();
            entry.options = options;
            entry.identifier = identifier;
            return (id, Some(before));
        }
        self.last_id = self.last_id.saturating_add(1);
        let id = SubscriptionId(self.last_id);
        self.by_filter.insert(filter.clone(), id);
        self.entries.push(Subscription { id, filter: filter.clone(), options, identifier, kind });
        (id, None)
    }

    /// Undoes a `put` that was refused, unless the subscription is gone since.
    pub(crate) fn undo(&mut self, id: SubscriptionId, before: Option<Subscription>) {
        let Ok(position) = self.entries.binary_search_by_key(&id, |entry| entry.id) else { return };
        match before {
            Some(before) => {
                if let Some(entry) = self.entries.get_mut(position) {
                    *entry = before;
                }
            }
            None => {
                self.remove(id);
            }
        }
    }

    /// Removes the one with this number.
    pub(crate) fn remove(&mut self, id: SubscriptionId) -> Option<Subscription> {
        let position = self.entries.binary_search_by_key(&id, |entry| entry.id).ok()?;
        let removed = self.entries.remove(position);
        self.by_filter.remove(&removed.filter);
        Some(removed)
    }

    /// What the named subscriptions ask; those that are gone ask nothing.
    pub(crate) fn named(&self, first: SubscriptionId, others: &[SubscriptionId]) -> Matched {
        let mut matched = Matched::default();
        for id in core::iter::once(&first).chain(others) {
            if let Some(subscription) = self.get(*id) {
                matched.add(subscription);
            }
        }
        matched
    }

    /// The plain subscriptions that match a message from the session's own group: a walk over all of them, bounded by
    /// [`crate::limits::SUBSCRIPTIONS_MAX`]. `own` is the connection, for no local.
    pub(crate) fn matching(&self, message: &Message, topic: &[u8], own: ConnectionId) -> SmallVec<[SubscriptionId; 4]> {
        let plain = self.entries.iter().filter(|entry| entry.kind == Kind::Plain);
        plain
            .filter(|entry| topic::matches(&entry.filter, topic))
            .filter(|entry| !(entry.options.no_local() && message.publisher == own))
            .map(|entry| entry.id)
            .collect()
    }

    /// Whether this number stands for shared work. One that is gone does: its unsettled deliveries can only be such.
    pub(crate) fn is_shared(&self, id: SubscriptionId) -> bool {
        self.get(id).is_none_or(|entry| entry.kind == Kind::Shared)
    }
}

/// Splits matches into the first and the others, as deliveries name them.
pub(crate) fn first_and_others(matches: &[SubscriptionId]) -> Option<(SubscriptionId, Option<Box<[SubscriptionId]>>)> {
    let (first, others) = matches.split_first()?;
    Some((*first, (!others.is_empty()).then(|| others.into())))
}

fn kind(filter: &[u8]) -> Kind {
    match topic::check_filter(filter) {
        Ok(topic::Target::Plain) | Err(_) => Kind::Plain,
        Ok(topic::Target::Shared { .. } | topic::Target::Queue { .. }) => Kind::Shared,
    }
}

#[cfg(test)]
mod tests {
    use braid_types::Protocol;

    use super::*;

    fn put(subscriptions: &mut Subscriptions, filter: &'static str, options: u8, identifier: Option<u32>) -> u64 {
        let filter = Bytes::from_static(filter.as_bytes());
        subscriptions.put(&filter, kind(&filter), SubscribeOptions::from_byte(options), identifier).0.0
    }

    #[test]
    fn a_filter_keeps_its_number_until_it_is_removed() {
        let mut subscriptions = Subscriptions::default();
        assert_eq!(put(&mut subscriptions, "a/b", 0, None), 1);
        assert_eq!(put(&mut subscriptions, "$share/g/a/b", 1, None), 2);
        assert_eq!(put(&mut subscriptions, "a/b", 2, Some(9)), 1);
        assert_eq!(subscriptions.named(SubscriptionId(1), &[]).identifiers[..], [9]);
        assert!(subscriptions.is_shared(SubscriptionId(2)) && !subscriptions.is_shared(SubscriptionId(1)));
        assert!(subscriptions.remove(SubscriptionId(1)).is_some());
        assert_eq!(put(&mut subscriptions, "a/b", 0, None), 3);
        assert_eq!(subscriptions.len(), 2);
    }

    #[test]
    fn a_refused_change_is_undone() {
        let mut subscriptions = Subscriptions::default();
        put(&mut subscriptions, "a", 1, Some(1));
        let filter = Bytes::from_static(b"a");
        let (id, before) = subscriptions.put(&filter, Kind::Plain, SubscribeOptions::from_byte(2), None);
        subscriptions.undo(id, before);
        assert_eq!(subscriptions.named(id, &[]).qos, 1);
        let (id, before) =
            subscriptions.put(&Bytes::from_static(b"b"), Kind::Plain, SubscribeOptions::from_byte(2), None);
        subscriptions.undo(id, before);
        assert!(subscriptions.get(id).is_none() && subscriptions.by_filter(b"b").is_none());
    }

    #[test]
    fn deliveries_of_the_session_match_plain_filters_only() {
        let mut subscriptions = Subscriptions::default();
        put(&mut subscriptions, "a/#", 1, Some(5));
        put(&mut subscriptions, "$share/g/a/b", 2, None);
        put(&mut subscriptions, "a/b", 0b110, None);
        let message = Message { publisher: ConnectionId(7), ..Message::empty(Protocol::Mqtt) };
        let both = [SubscriptionId(1), SubscriptionId(3)];
        assert_eq!(subscriptions.matching(&message, b"a/b", ConnectionId(8))[..], both);
        assert_eq!(subscriptions.matching(&message, b"a/b", ConnectionId(7))[..], both[..1]);
        assert_eq!(subscriptions.named(both[0], &both[1..]).qos, 2);
        let (kept, next) = subscriptions.to_session();
        let restored = Subscriptions::restore(kept, next);
        assert_eq!(restored.entries, subscriptions.entries);
        assert_eq!(restored.last_id, 3);
    }
}
