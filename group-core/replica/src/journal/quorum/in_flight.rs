//! Proposals of a quorum journal that were not handed out yet: few, in order, each known by its number.

use std::collections::VecDeque;

use crate::{
    Error,
    limits::{PENDING_BYTES_MAX, PENDING_ENTRIES_MAX},
};

/// See the file's head.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// Number and size.
    proposals: VecDeque<(u64, usize)>,
    size_bytes: usize,
    next_number: u64,
}

impl InFlight {
    pub(super) fn len(&self) -> usize {
        self.proposals.len()
    }

    /// Takes one more on, and gives its number.
    pub(super) fn add(&mut self, size_bytes: usize) -> Result<u64, Error> {
        let is_full = self.proposals.len() >= PENDING_ENTRIES_MAX || self.size_bytes + size_bytes > PENDING_BYTES_MAX;
        if is_full && !self.proposals.is_empty() {
            return Err(Error::Busy);
        }
        let number = self.next_number;
        self.next_number += 1;
        self.proposals.push_back((number, size_bytes));
        self.size_bytes += size_bytes;
        Ok(number)
    }

    /// Lets the oldest go. `false`: it is another, so one was lost.
    pub(super) fn end(&mut self, number: u64) -> bool {
        let Some((oldest, size_bytes)) = self.proposals.pop_front() else { return false };
        self.size_bytes -= size_bytes;
        oldest == number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_bounded_and_end_in_order() {
        let mut in_flight = InFlight::default();
        assert_eq!(in_flight.add(2 * PENDING_BYTES_MAX), Ok(0), "one alone may be larger");
        assert_eq!(in_flight.add(0), Err(Error::Busy));
        assert!(in_flight.end(0));
        for number in 1..=PENDING_ENTRIES_MAX as u64 {
            assert_eq!(in_flight.add(1), Ok(number));
        }
        assert_eq!(in_flight.add(1), Err(Error::Busy));
        assert!(in_flight.end(1) && in_flight.end(2));
        assert_eq!((in_flight.len(), in_flight.size_bytes), (PENDING_ENTRIES_MAX - 2, PENDING_ENTRIES_MAX - 2));
        assert!(!in_flight.end(4), "the third was lost");
    }
}
