//! Deliveries that the client has not settled, by delivery tag.
//!
//! Invariants: tags ascend; at most twice as many entries as open deliveries (plus a few) are kept, so neither deliveries
//! without ack between them nor settling out of order make it grow.

use alloc::collections::VecDeque;

use braid_types::{DeliveryKey, SubscriptionId};

/// Settled entries beyond the open ones that are tolerated before they are cleared out.
const SETTLED_SLACK: usize = 64;

/// A delivery that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// How to settle it; `None` if the broker has settled it already.
    pub(super) key: Option<DeliveryKey>,
    /// The consumer that it went to; `None` for a get.
    pub(super) subscription: Option<SubscriptionId>,
}

/// The table.
#[derive(Debug, Default)]
pub(super) struct Unacked {
    /// `None`: settled.
    slots: VecDeque<(u64, Option<Entry>)>,
    open: usize,
    open_of_consumers: usize,
}

impl Unacked {
    /// Open deliveries that went to consumers: what the channel's prefetch counts.
    pub(super) const fn open_of_consumers(&self) -> usize {
        self.open_of_consumers
    }

    /// Adds a delivery. `tag` is higher than all before.
    pub(super) fn push(&mut self, tag: u64, entry: Entry) {
        self.open += 1;
        self.open_of_consumers += usize::from(entry.subscription.is_some());
        self.slots.push_back((tag, Some(entry)));
    }

    /// Settles one delivery. `None`: not open.
    pub(super) fn take(&mut self, tag: u64) -> Option<Entry> {
        let position = self.position(tag)?;
        let (_, slot) = self.slots.get_mut(position)?;
        let entry = slot.take()?;
        self.closed(&entry);
        while self.slots.front().is_some_and(|(_, slot)| slot.is_none()) {
            self.slots.pop_front();
        }
        if self.slots.len() > 2 * self.open + SETTLED_SLACK {
            self.slots.retain(|(_, slot)| slot.is_some());
        }
        Some(entry)
    }

    /// Settles a delivery and all before it, in order. False: it is not open, and nothing was settled.
    pub(super) fn take_through(&mut self, tag: u64, mut settle: impl FnMut(Entry)) -> bool {
        let Some(position) = self.position(tag).filter(|at| matches!(self.slots.get(*at), Some((_, Some(_))))) else {
            return false;
        };
        for _ in 0..=position {
            if let Some((_, Some(entry))) = self.slots.pop_front() {
                self.closed(&entry);
                settle(entry);
            }
        }
        true
    }

    /// Settles all, in order.
    pub(super) fn take_all(&mut self, mut settle: impl FnMut(Entry)) {
        while let Some((_, slot)) = self.slots.pop_front() {
            if let Some(entry) = slot {
                self.closed(&entry);
                settle(entry);
            }
        }
    }

    fn closed(&mut self, entry: &Entry) {
        self.open -= 1;
        self.open_of_consumers -= usize::from(entry.subscription.is_some());
    }

    /// Tags without gaps are found at once, others by bisection.
    fn position(&self, tag: u64) -> Option<usize> {
        let (first, _) = self.slots.front()?;
        let guess = usize::try_from(tag.checked_sub(*first)?).ok()?;
        if self.slots.get(guess).is_some_and(|(found, _)| *found == tag) {
            return Some(guess);
        }
        self.slots.binary_search_by_key(&tag, |(found, _)| *found).ok()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn entry(delivery: u64) -> Entry {
        Entry { key: Some(DeliveryKey { attachment: 1, delivery }), subscription: Some(SubscriptionId(1)) }
    }

    #[test]
    fn tags_are_found_with_and_without_gaps() {
        let mut unacked = Unacked::default();
        for tag in [1, 2, 5, 9] {
            unacked.push(tag, entry(tag));
        }
        assert_eq!(unacked.take(5), Some(entry(5)));
        assert_eq!(unacked.take(5), None);
        assert_eq!(unacked.take(3), None);
        assert!(!unacked.take_through(5, |_| ()));
        let mut settled = Vec::new();
        assert!(unacked.take_through(9, |entry| settled.push(entry)));
        assert_eq!(settled, [entry(1), entry(2), entry(9)]);
        assert_eq!((unacked.open_of_consumers(), unacked.slots.len()), (0, 0));
    }

    #[test]
    fn one_old_delivery_does_not_pin_the_rest() {
        let mut unacked = Unacked::default();
        for tag in 1..=10_000 {
            unacked.push(tag, entry(tag));
            if tag > 1 {
                unacked.take(tag);
            }
        }
        assert!(unacked.slots.len() <= 2 + SETTLED_SLACK);
        assert_eq!(unacked.take(1), Some(entry(1)));
        assert!(unacked.slots.is_empty());
    }
}
