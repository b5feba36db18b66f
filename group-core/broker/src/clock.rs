//! The node's clock: the wall clock as it was at the start, advanced by the monotonic clock, so that a step of the
//! wall clock changes no order and lets nothing expire early (SPEC, promise P17). Milliseconds.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use braid_types::Timestamp;

/// The one source of time on a node.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_ms: u64,
}

impl Clock {
    /// A clock that starts at the wall clock's time.
    #[must_use]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), start_ms: u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX) }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let elapsed_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Timestamp(self.start_ms.saturating_add(elapsed_ms))
    }

    /// The instant of the runtime's timers at which this clock shows `time`.
    #[must_use]
    pub fn instant_of(&self, time: Timestamp) -> Instant {
        self.start + std::time::Duration::from_millis(time.0.saturating_sub(self.start_ms))
    }
}
