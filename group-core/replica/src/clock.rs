//! The time that a leader stamps entries with (guide, rule 26): the last time in the log plus what a monotonic clock
//! counted since, drawn towards the wall clock by at most one part in a hundred, never set to it. A step of the wall
//! clock moves nothing at once, and no time goes back.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use braid_types::Timestamp;

/// How fast the clock may be drawn towards the wall clock: one part in this many.
const SLEW_PARTS: u64 = 100;

/// The clock of a leader. Time since the Unix epoch in milliseconds, as the log counts it.
#[derive(Debug)]
pub struct EntryClock {
    read_at: Instant,
    now_us: u64,
}

impl EntryClock {
    /// Goes on from `last`, the last time in the log; an empty log begins with the wall clock's.
    #[must_use]
    pub fn new(last: Timestamp) -> Self {
        let now_us = if last == Timestamp(0) { wall_us() } else { last.0.saturating_mul(1_000) };
        Self { read_at: Instant::now(), now_us }
    }

    /// The time; never before an earlier one.
    pub fn now(&mut self) -> Timestamp {
        let read_at = Instant::now();
        let elapsed_us = u64::try_from(read_at.duration_since(self.read_at).as_micros()).unwrap_or(u64::MAX);
        self.read_at = read_at;
        self.advance(elapsed_us, wall_us())
    }

    fn advance(&mut self, elapsed_us: u64, wall_us: u64) -> Timestamp {
        let plain = self.now_us.saturating_add(elapsed_us);
        let slew_max = elapsed_us / SLEW_PARTS;
        self.now_us = if wall_us >= plain {
            plain.saturating_add((wall_us - plain).min(slew_max))
        } else {
            plain.saturating_sub((plain - wall_us).min(slew_max))
        };
        Timestamp(self.now_us / 1_000)
    }
}

fn wall_us() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_US: u64 = 3_600_000_000;

    fn at(now_us: u64) -> EntryClock {
        EntryClock { read_at: Instant::now(), now_us }
    }

    #[test]
    fn a_step_of_the_wall_clock_is_followed_slowly() {
        for (wall_us, expected_us) in [
            (10 * HOUR_US + 1_000_000, 10 * HOUR_US + 1_000_000),
            (11 * HOUR_US, 10 * HOUR_US + 1_010_000),
            (9 * HOUR_US, 10 * HOUR_US + 990_000),
        ] {
            assert_eq!(at(10 * HOUR_US).advance(1_000_000, wall_us), Timestamp(expected_us / 1_000));
        }
    }

    #[test]
    fn time_never_goes_back() {
        let mut clock = at(10 * HOUR_US);
        let mut last = Timestamp(0);
        for (elapsed_us, wall_us) in [(0, 0), (50, 0), (1_000, 20 * HOUR_US), (0, 0), (10_000_000, 0)] {
            let now = clock.advance(elapsed_us, wall_us);
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn an_old_log_goes_on_where_it_ended() {
        let mut clock = EntryClock::new(Timestamp(5_000));
        assert!(clock.now() < Timestamp(60_000));
        assert!(EntryClock::new(Timestamp(0)).now() > Timestamp(1_600_000_000_000));
    }
}
