//! Answers in the order of what they answer.
//!
//! nats-server does everything at once, so its `+OK`, `-ERR`, `PONG` and no-responders notices come in the order of the
//! operations. Here the broker answers later. So an answer that must wait takes a slot, and all that follow it queue up
//! behind; while nothing waits, answers go straight out. That makes `PONG` after `SUB` mean that the subscription
//! stands (SPEC P4), and the output independent of how the input was split.
//!
//! Invariants: tickets are the slots' numbers, contiguous and never reused; the first slot, if there is one, waits.

use alloc::{collections::VecDeque, sync::Arc};

use braid_types::{Message, SubscriptionId, Ticket, Transmit};
use bytes::Bytes;

use crate::subscriptions::Moment;

/// What the broker was asked.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// To let the client in.
    Admission,
    /// To subscribe.
    Subscribe(SubscriptionId),
    /// To unsubscribe.
    Unsubscribe(SubscriptionId),
    /// To say when all before is carried out.
    Barrier,
    /// To say whether a request found anybody.
    Request(Arc<Message>, Moment),
}

#[derive(Debug)]
enum Slot {
    Waiting(Waiting),
    Ready(Bytes),
    Last(Bytes),
}

/// The queue.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The number of the first slot.
    first: u64,
    slots: VecDeque<Slot>,
}

impl Answers {
    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Takes a slot for an answer of the broker.
    pub(crate) fn wait(&mut self, waiting: Waiting) -> Ticket {
        let ticket = Ticket(self.first.saturating_add(u64::try_from(self.slots.len()).unwrap_or(u64::MAX)));
        self.slots.push_back(Slot::Waiting(waiting));
        ticket
    }

    /// Sends an answer that is ready, after those before it.
    pub(crate) fn say(&mut self, line: &'static [u8], transmit: &mut Transmit) {
        if self.slots.is_empty() {
            transmit.buffer().extend_from_slice(line);
        } else {
            self.slots.push_back(Slot::Ready(Bytes::from_static(line)));
        }
    }

    /// Like [`Self::say`], with a line made for the occasion.
    pub(crate) fn say_line(&mut self, line: Bytes, transmit: &mut Transmit) {
        if self.slots.is_empty() {
            transmit.buffer().extend_from_slice(&line);
        } else {
            self.slots.push_back(Slot::Ready(line));
        }
    }

    /// The last answer of the connection.
    pub(crate) fn say_last(&mut self, line: Bytes) {
        self.slots.push_back(Slot::Last(line));
    }

    /// What `ticket` waits for; `None` for a ticket that waits no more. To be followed by [`Self::fill`].
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<Waiting> {
        let slot = self.slot(ticket)?;
        if !matches!(slot, Slot::Waiting(_)) {
            return None;
        }
        match core::mem::replace(slot, Slot::Ready(Bytes::new())) {
            Slot::Waiting(waiting) => Some(waiting),
            Slot::Ready(_) | Slot::Last(_) => None,
        }
    }

    /// Gives the answer for `ticket`.
    pub(crate) fn fill(&mut self, ticket: Ticket, line: Bytes) {
        if let Some(slot) = self.slot(ticket) {
            *slot = Slot::Ready(line);
        }
    }

    /// Gives the answer for `ticket`, the last one of the connection: what follows it is never said.
    pub(crate) fn fill_last(&mut self, ticket: Ticket, line: Bytes) {
        if let Some(slot) = self.slot(ticket) {
            *slot = Slot::Last(line);
        }
    }

    /// Sends what waits for nothing. True: the last answer is sent.
    pub(crate) fn flush(&mut self, transmit: &mut Transmit) -> bool {
        while let Some(slot) = self.slots.front() {
            let (line, is_last) = match slot {
                Slot::Waiting(_) => return false,
                Slot::Ready(line) => (line, false),
                Slot::Last(line) => (line, true),
            };
            transmit.buffer().extend_from_slice(line);
            self.slots.pop_front();
            self.first += 1;
            if is_last {
                return true;
            }
        }
        false
    }

    /// Sends the last answer without those before it, if there is one, and forgets all.
    pub(crate) fn abandon(&mut self, transmit: &mut Transmit) {
        if let Some(Slot::Last(line)) = self.slots.back() {
            transmit.buffer().extend_from_slice(line);
        }
        self.first += u64::try_from(self.slots.len()).unwrap_or(0);
        self.slots = VecDeque::new();
    }

    fn slot(&mut self, ticket: Ticket) -> Option<&mut Slot> {
        let position = usize::try_from(ticket.0.checked_sub(self.first)?).ok()?;
        self.slots.get_mut(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_keep_the_order_of_the_questions() {
        let mut answers = Answers::default();
        let mut transmit = Transmit::new();
        answers.say(b"1", &mut transmit);
        let second = answers.wait(Waiting::Barrier);
        answers.say(b"3", &mut transmit);
        let fourth = answers.wait(Waiting::Barrier);
        answers.say_last(Bytes::from_static(b"5"));
        assert!(answers.take(fourth).is_some());
        answers.fill(fourth, Bytes::from_static(b"4"));
        assert!(!answers.flush(&mut transmit));
        assert_eq!(transmit.take(), "1");
        assert!(answers.take(second).is_some());
        assert!(answers.take(second).is_none());
        answers.fill(second, Bytes::from_static(b"2"));
        assert!(answers.flush(&mut transmit));
        assert_eq!(transmit.take(), "2345");
        assert_eq!(answers.len(), 0);
        assert!(answers.take(fourth).is_none());
        assert_eq!(answers.wait(Waiting::Barrier), Ticket(4));
    }

    #[test]
    fn the_last_word_can_be_had_without_the_rest() {
        let mut answers = Answers::default();
        let mut transmit = Transmit::new();
        let ticket = answers.wait(Waiting::Admission);
        answers.say(b"2", &mut transmit);
        answers.say_last(Bytes::from_static(b"3"));
        answers.abandon(&mut transmit);
        assert_eq!(transmit.take(), "3");
        assert!(answers.take(ticket).is_none());
    }
}
