//! Deliveries that wait for a place in the client's window, in order.
//!
//! Invariant: those without a key are within the limits of [`crate::limits`], by count and bytes; those with a key are
//! bounded by the windows that the broker keeps.

use alloc::collections::VecDeque;

use super::Outgoing;
use crate::limits::{
    IDLE_PLACES, PENDING_BYTES_MAX, PENDING_MESSAGES_MAX, PENDING_RETAINED_BYTES_MAX, PENDING_RETAINED_MAX,
};

/// Something that waits.
#[derive(Debug)]
pub(crate) enum Next {
    /// A delivery that was not sent yet.
    Fresh(Outgoing),
    /// A delivery of an earlier connection that is in the ring under this identifier.
    Again(u16),
}

/// Deliveries that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    queue: VecDeque<Next>,
    live: Load,
    retained: Load,
}

/// What waits of one sort.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    messages: usize,
    bytes: usize,
}

impl Load {
    fn has_room(self, messages_max: usize, bytes_max: usize) -> bool {
        self.messages < messages_max && self.bytes < bytes_max
    }
}

impl Waiting {
    /// Nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Appends a delivery; `false`: it has no key and there is no room for such ones.
    pub(crate) fn push(&mut self, outgoing: Outgoing) -> bool {
        if outgoing.key.is_none() {
            let has_room = if outgoing.is_retained {
                self.retained.has_room(PENDING_RETAINED_MAX, PENDING_RETAINED_BYTES_MAX)
            } else {
                self.live.has_room(PENDING_MESSAGES_MAX, PENDING_BYTES_MAX)
            };
            if !has_room {
                return false;
            }
            let size_bytes = outgoing.size_bytes();
            let load = self.load(outgoing.is_retained);
            load.messages = load.messages.saturating_add(1);
            load.bytes = load.bytes.saturating_add(size_bytes);
        }
        self.queue.push_back(Next::Fresh(outgoing));
        true
    }

    /// Appends one of an earlier connection.
    pub(crate) fn push_again(&mut self, packet_id: u16) {
        self.queue.push_back(Next::Again(packet_id));
    }

    /// The next one.
    pub(crate) fn pop(&mut self) -> Option<Next> {
        let next = self.queue.pop_front()?;
        if let Next::Fresh(outgoing) = &next
            && outgoing.key.is_none()
        {
            let size_bytes = outgoing.size_bytes();
            let load = self.load(outgoing.is_retained);
            load.messages = load.messages.saturating_sub(1);
            load.bytes = load.bytes.saturating_sub(size_bytes);
        }
        if self.queue.is_empty() && self.queue.capacity() > IDLE_PLACES {
            // A burst is over: what it took is given back.
            self.queue = VecDeque::new();
        }
        Some(next)
    }

    /// Takes out all that were never sent and for which `is_wanted` holds, in order.
    pub(crate) fn extract(&mut self, is_wanted: impl Fn(&Outgoing) -> bool) -> VecDeque<Outgoing> {
        let mut taken = VecDeque::new();
        let mut kept = VecDeque::new();
        while let Some(next) = self.pop() {
            match next {
                Next::Fresh(outgoing) if is_wanted(&outgoing) => taken.push_back(outgoing),
                other @ (Next::Fresh(_) | Next::Again(_)) => kept.push_back(other),
            }
        }
        for next in kept {
            match next {
                Next::Fresh(outgoing) => {
                    // It was within the limits a moment ago.
                    self.push(outgoing);
                }
                Next::Again(packet_id) => self.push_again(packet_id),
            }
        }
        taken
    }

    fn load(&mut self, is_retained: bool) -> &mut Load {
        if is_retained { &mut self.retained } else { &mut self.live }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use braid_types::{DeliveryKey, Message, Protocol, SubscriptionId};

    use super::*;

    fn outgoing(key: Option<u64>, is_retained: bool) -> Outgoing {
        Outgoing {
            message: Arc::new(Message::empty(Protocol::Mqtt)),
            properties: None,
            key: key.map(|delivery| DeliveryKey { attachment: 1, delivery }),
            is_session: false,
            subscription: SubscriptionId(1),
            others: None,
            qos: 1,
            retain: is_retained,
            is_retained,
            redelivered: false,
            delivery_count: 0,
        }
    }

    #[test]
    fn only_what_the_broker_does_not_keep_is_limited() {
        let mut waiting = Waiting::default();
        for _ in 0..PENDING_MESSAGES_MAX {
            assert!(waiting.push(outgoing(None, false)));
        }
        assert!(!waiting.push(outgoing(None, false)));
        assert!(waiting.push(outgoing(Some(0), false)));
        assert!(waiting.push(outgoing(None, true)));
        assert!(waiting.pop().is_some());
        assert!(waiting.push(outgoing(None, false)));
        assert_eq!(waiting.extract(|outgoing| outgoing.key.is_some()).len(), 1);
        assert!(!waiting.push(outgoing(None, false)));
        while waiting.pop().is_some() {}
        assert!(waiting.is_empty() && waiting.live.messages == 0 && waiting.retained.messages == 0);
    }
}
