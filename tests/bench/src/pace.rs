//! The rate of a count of messages, and of its slowest tenth: a stall must not hide in a mean.

use std::time::{Duration, Instant};

/// Parts whose rates are compared.
const PARTS: u64 = 10;

/// A count under way.
#[derive(Debug)]
pub(crate) struct Pace {
    began: Instant,
    part_began: Instant,
    expected: u64,
    /// The part that is under way, from 1, and the messages before it.
    part: u64,
    before_part: u64,
    slowest_per_s: u64,
}

impl Pace {
    /// Begins now; `expected` messages are to come.
    pub(crate) fn begin(expected: u64) -> Self {
        let now = Instant::now();
        Self { began: now, part_began: now, expected, part: 1, before_part: 0, slowest_per_s: u64::MAX }
    }

    /// So many have come so far.
    pub(crate) fn reached(&mut self, count: u64) {
        if count * PARTS >= self.expected * self.part {
            // More than a tenth may have come at once.
            let messages = count.saturating_sub(self.before_part);
            self.slowest_per_s = self.slowest_per_s.min(per_s(messages, self.part_began.elapsed()));
            (self.part_began, self.before_part) = (Instant::now(), count);
            self.part = count * PARTS / self.expected.max(1) + 1;
        }
    }

    /// Since it began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Ends now: the rate of all, and that of the slowest tenth, in messages per second.
    pub(crate) fn end(&self) -> (u64, u64) {
        let all = per_s(self.expected, self.elapsed());
        (all, self.slowest_per_s.min(all))
    }
}

/// Messages per second.
pub(crate) fn per_s(messages: u64, elapsed: Duration) -> u64 {
    let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX).max(1);
    messages.saturating_mul(1_000_000) / elapsed_us
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_tenth_is_never_faster_than_all() {
        let mut pace = Pace::begin(100);
        for count in 1..=100 {
            if count == 55 {
                std::thread::sleep(Duration::from_millis(20));
            }
            pace.reached(count);
        }
        let (all, slowest) = pace.end();
        assert!(slowest <= 500 && slowest < all, "{slowest} of {all}");
        assert_eq!(per_s(3, Duration::from_millis(1_500)), 2);
    }
}
