//! Deliveries in flight, by packet identifier. Identifiers go round from 1 to 65,535, so the place of one is found by its
//! distance from the oldest: no search, no hashing.
//!
//! Invariants: the first place is never free unless the ring is empty; at most 65,535 places.

use alloc::collections::VecDeque;

use braid_types::InFlightStage;

use super::Outgoing;
use crate::limits::{IDLE_PLACES, PACKET_IDS_MAX};

/// A delivery in flight.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) stage: InFlightStage,
    /// It was sent on this connection and takes a place in the window. Only what an earlier connection left is not.
    pub(crate) is_open: bool,
    pub(crate) outgoing: Outgoing,
}

/// Deliveries in flight.
#[derive(Debug)]
pub(crate) struct Ring {
    places: VecDeque<Option<Entry>>,
    /// Identifier of the first place.
    first_id: u16,
    /// Entries that are open.
    open: usize,
}

impl Default for Ring {
    fn default() -> Self {
        Self { places: VecDeque::new(), first_id: 1, open: 0 }
    }
}

impl Ring {
    /// Deliveries that take a place in the window.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// The identifier that [`Ring::push`] will use; `None`: all are taken.
    pub(crate) fn next_id(&self) -> Option<u16> {
        (self.places.len() < PACKET_IDS_MAX).then(|| id_at(self.first_id, self.places.len()))
    }

    /// Adds a delivery that is sent now, under [`Ring::next_id`].
    pub(crate) fn push(&mut self, outgoing: Outgoing) {
        let entry = Entry { stage: outgoing.first_stage(), is_open: true, outgoing };
        self.open = self.open.saturating_add(1);
        self.places.push_back(Some(entry));
    }

    /// Passes over [`Ring::next_id`].
    pub(crate) fn skip(&mut self) {
        if self.places.is_empty() {
            self.first_id = id_at(self.first_id, 1);
        } else {
            self.places.push_back(None);
        }
    }

    /// Adds one of an earlier connection under its old identifier, not open yet. `false`: the identifier is 0 or taken.
    pub(crate) fn restore(&mut self, packet_id: u16, stage: InFlightStage, outgoing: Outgoing) -> bool {
        if packet_id == 0 {
            return false;
        }
        if self.places.is_empty() {
            self.first_id = packet_id;
        }
        let place = distance(self.first_id, packet_id);
        while self.places.len() <= place {
            self.places.push_back(None);
        }
        match self.places.get_mut(place) {
            Some(free @ None) => {
                *free = Some(Entry { stage, is_open: false, outgoing });
                true
            }
            _ => false,
        }
    }

    /// The one with this identifier.
    pub(crate) fn get(&self, packet_id: u16) -> Option<&Entry> {
        let place = (packet_id != 0).then(|| distance(self.first_id, packet_id))?;
        self.places.get(place)?.as_ref()
    }

    /// Takes a place in the window for the one with this identifier.
    pub(crate) fn open_again(&mut self, packet_id: u16) {
        let opened = self.get_mut(packet_id).is_some_and(|entry| !core::mem::replace(&mut entry.is_open, true));
        self.open = self.open.saturating_add(usize::from(opened));
    }

    /// Moves the one with this identifier to another stage.
    pub(crate) fn set_stage(&mut self, packet_id: u16, stage: InFlightStage) {
        if let Some(entry) = self.get_mut(packet_id) {
            entry.stage = stage;
        }
    }

    /// Removes the one with this identifier.
    pub(crate) fn remove(&mut self, packet_id: u16) -> Option<Entry> {
        let place = (packet_id != 0).then(|| distance(self.first_id, packet_id))?;
        let entry = self.places.get_mut(place)?.take()?;
        self.open = self.open.saturating_sub(usize::from(entry.is_open));
        while let Some(None) = self.places.front() {
            self.places.pop_front();
            self.first_id = id_at(self.first_id, 1);
        }
        if self.places.is_empty() && self.places.capacity() > IDLE_PLACES {
            self.places = VecDeque::new();
        }
        Some(entry)
    }

    /// All, with their identifiers, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &Entry)> {
        let first_id = self.first_id;
        let places = self.places.iter().enumerate();
        places.filter_map(move |(place, entry)| Some((id_at(first_id, place), entry.as_ref()?)))
    }

    fn get_mut(&mut self, packet_id: u16) -> Option<&mut Entry> {
        let place = (packet_id != 0).then(|| distance(self.first_id, packet_id))?;
        self.places.get_mut(place)?.as_mut()
    }
}

/// The identifier `steps` after `from`, on the circle 1 to 65,535.
#[expect(clippy::cast_possible_truncation, reason = "the remainder is below 65,535")]
fn id_at(from: u16, steps: usize) -> u16 {
    ((usize::from(from).saturating_sub(1).saturating_add(steps)) % PACKET_IDS_MAX) as u16 + 1
}

/// Steps from `from` to `to` on that circle.
fn distance(from: u16, to: u16) -> usize {
    usize::from(to).saturating_add(PACKET_IDS_MAX).saturating_sub(usize::from(from)) % PACKET_IDS_MAX
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use braid_types::{Message, Protocol, SubscriptionId};

    use super::*;

    fn outgoing() -> Outgoing {
        Outgoing {
            message: Arc::new(Message::empty(Protocol::Mqtt)),
            properties: None,
            key: None,
            is_session: false,
            subscription: SubscriptionId(1),
            others: None,
            qos: 1,
            retain: false,
            is_retained: false,
            redelivered: false,
            delivery_count: 0,
        }
    }

    #[test]
    fn identifiers_go_round_and_skip_those_in_flight() {
        let mut ring = Ring::default();
        for expected in 1..=3 {
            assert_eq!(ring.next_id(), Some(expected));
            ring.push(outgoing());
        }
        ring.skip();
        assert_eq!(ring.next_id(), Some(5));
        assert!(ring.remove(2).is_some() && ring.remove(2).is_none() && ring.remove(0).is_none());
        assert_eq!(ring.next_id(), Some(5));
        assert!(ring.remove(1).is_some());
        assert_eq!(ring.iter().map(|(id, _)| id).collect::<alloc::vec::Vec<_>>(), [3]);
        for _ in 5..=65_535_u32 {
            ring.push(outgoing());
        }
        assert_eq!(ring.next_id(), Some(1));
        ring.push(outgoing());
        ring.push(outgoing());
        assert_eq!((ring.next_id(), ring.open()), (None, 65_534));
        // With 3 goes the place that was passed over.
        assert!(ring.remove(3).is_some());
        assert_eq!(ring.next_id(), Some(3));
        assert!(ring.get(4).is_none());
    }

    #[test]
    fn old_identifiers_are_kept_and_reserved() {
        let mut ring = Ring::default();
        for id in [65_534, 1, 3] {
            assert!(ring.restore(id, InFlightStage::AwaitAck, outgoing()));
        }
        assert!(!ring.restore(3, InFlightStage::AwaitAck, outgoing()));
        assert_eq!((ring.next_id(), ring.open()), (Some(4), 0));
        ring.open_again(1);
        ring.open_again(1);
        assert_eq!(ring.open(), 1);
        assert!(ring.remove(65_534).is_some() && ring.get(1).is_some() && ring.get(2).is_none());
        assert!(ring.remove(1).is_some());
        assert_eq!(ring.open(), 0);
    }
}
