//! What a member was handed and has not settled.
//!
//! Delivery ids are contiguous from 0, so recent deliveries stand in a queue that is indexed by id: settling is O(1). A
//! few deliveries that are held for long would make that queue mostly holes; they move to an ordered map, so that
//! memory follows what is unacked, not how far apart it is.
//!
//! Invariants: each id below `next` is unacked in exactly one of the two places, or was settled; ids in `stragglers`
//! are below all ids in `recent`; the front of `recent` is no hole.

use alloc::collections::{BTreeMap, VecDeque};

use braid_types::{DeliveryId, Timestamp};

use crate::limits::{QUEUE_CAPACITY_KEPT, UNACKED_HOLES_MIN};
use crate::message::HeldMessage;

/// A message that was handed out.
#[derive(Debug)]
pub(crate) struct HandedOut {
    /// The message.
    pub(crate) message: HeldMessage,
    /// When.
    pub(crate) since: Timestamp,
}

/// A member's unacked deliveries.
#[derive(Debug, Default)]
pub(crate) struct Unacked {
    next: u64,
    recent: VecDeque<Option<HandedOut>>,
    recent_live: usize,
    stragglers: BTreeMap<u64, HandedOut>,
}

impl Unacked {
    /// None yet, and `next` as the id of the first.
    pub(crate) fn starting_at(next: DeliveryId) -> Self {
        Self { next: next.0, ..Self::default() }
    }

    /// Deliveries that are unacked.
    pub(crate) fn len(&self) -> usize {
        self.recent_live + self.stragglers.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of the next delivery.
    pub(crate) fn next(&self) -> DeliveryId {
        DeliveryId(self.next)
    }

    /// A delivery that is settled by being made.
    pub(crate) fn pass(&mut self) -> DeliveryId {
        let id = self.next;
        self.next += 1;
        if !self.recent.is_empty() {
            self.recent.push_back(None);
        }
        DeliveryId(id)
    }

    /// Keeps a message until it is settled.
    pub(crate) fn push(&mut self, message: HeldMessage, since: Timestamp) -> DeliveryId {
        let id = self.next;
        self.next += 1;
        self.recent.push_back(Some(HandedOut { message, since }));
        self.recent_live += 1;
        DeliveryId(id)
    }

    /// Puts back an unacked delivery as a snapshot says it was: ids are below `next`.
    pub(crate) fn restore(&mut self, id: DeliveryId, handed_out: HandedOut) {
        self.stragglers.insert(id.0, handed_out);
    }

    /// Counts the time of all deliveries from `now`.
    pub(crate) fn restart(&mut self, now: Timestamp) {
        let recent = self.recent.iter_mut().flatten();
        for handed_out in self.stragglers.values_mut().chain(recent) {
            handed_out.since = now;
        }
    }

    /// Takes a delivery out; `None` when it is not unacked (settled before, never made).
    pub(crate) fn take(&mut self, id: DeliveryId) -> Option<HandedOut> {
        let Some(offset) = id.0.checked_sub(self.base()) else { return self.stragglers.remove(&id.0) };
        let taken = self.recent.get_mut(usize::try_from(offset).ok()?)?.take()?;
        self.recent_live -= 1;
        self.close_holes();
        Some(taken)
    }

    /// Takes the oldest delivery.
    pub(crate) fn take_first(&mut self) -> Option<(DeliveryId, HandedOut)> {
        if let Some((id, handed_out)) = self.stragglers.pop_first() {
            return Some((DeliveryId(id), handed_out));
        }
        let id = DeliveryId(self.base());
        self.take(id).map(|handed_out| (id, handed_out))
    }

    /// The oldest delivery.
    pub(crate) fn first(&self) -> Option<&HandedOut> {
        self.stragglers.values().next().or_else(|| self.recent.front()?.as_ref())
    }

    /// All deliveries, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (DeliveryId, &HandedOut)> {
        let stragglers = self.stragglers.iter().map(|(id, handed_out)| (DeliveryId(*id), handed_out));
        let recent = (self.base()..).zip(&self.recent);
        stragglers.chain(recent.filter_map(|(id, entry)| Some((DeliveryId(id), entry.as_ref()?))))
    }

    /// The id of the front of `recent`.
    fn base(&self) -> u64 {
        self.next - u64::try_from(self.recent.len()).unwrap_or(self.next)
    }

    fn close_holes(&mut self) {
        while let Some(None) = self.recent.front() {
            self.recent.pop_front();
        }
        let slots = self.recent.len();
        if slots >= UNACKED_HOLES_MIN && self.recent_live <= slots / 4 {
            // Half of the slots go; they are paid for by the settles that made at least as many holes.
            for _ in 0..slots / 2 {
                let id = self.base();
                if let Some(Some(straggler)) = self.recent.pop_front() {
                    self.recent_live -= 1;
                    self.stragglers.insert(id, straggler);
                }
            }
            while let Some(None) = self.recent.front() {
                self.recent.pop_front();
            }
        }
        if self.recent.capacity() > QUEUE_CAPACITY_KEPT && slots < self.recent.capacity() / 4 {
            self.recent.shrink_to(self.recent.capacity() / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use braid_types::MessageId;

    use super::*;
    use crate::MessageHeader;

    fn message() -> HeldMessage {
        let header = MessageHeader { size_bytes: 1, priority: 0, expires_at: None, address: None };
        HeldMessage::new(MessageId::default(), header, false)
    }

    fn ids(unacked: &Unacked) -> Vec<u64> {
        unacked.iter().map(|(id, _)| id.0).collect()
    }

    #[test]
    fn settles_in_any_order_and_only_once() {
        let mut unacked = Unacked::default();
        for id in 0..5 {
            assert_eq!(unacked.push(message(), Timestamp(id)), DeliveryId(id));
        }
        assert!(unacked.take(DeliveryId(3)).is_some());
        assert!(unacked.take(DeliveryId(3)).is_none());
        assert!(unacked.take(DeliveryId(0)).is_some());
        assert!(unacked.take(DeliveryId(0)).is_none());
        assert!(unacked.take(DeliveryId(5)).is_none());
        assert!(unacked.take(DeliveryId(u64::MAX)).is_none());
        assert_eq!(ids(&unacked), [1, 2, 4]);
        assert_eq!(unacked.take_first().map(|(id, _)| id), Some(DeliveryId(1)));
        assert_eq!(unacked.pass(), DeliveryId(5));
        assert_eq!(ids(&unacked), [2, 4]);
    }

    #[test]
    fn one_delivery_that_is_held_for_ever_costs_one_slot() {
        let mut unacked = Unacked::default();
        unacked.push(message(), Timestamp(0));
        for _ in 0..100_000 {
            let id = unacked.push(message(), Timestamp(0));
            assert!(unacked.take(id).is_some());
            assert!(unacked.recent.len() <= UNACKED_HOLES_MIN);
        }
        assert_eq!(ids(&unacked), [0]);
        assert_eq!(unacked.len(), 1);
        assert!(unacked.take(DeliveryId(0)).is_some());
        assert!(unacked.is_empty());
    }
}
