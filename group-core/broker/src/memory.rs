//! How many bytes of message bodies groups hold, and whether publishers have to wait because of it.
//!
//! Invariant: once the limit is reached publishers stay blocked until the sum is under 80 % of it (hysteresis), so
//! that they do not flap at the edge. Acks, cancels and deletes are never blocked: they are what frees memory.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::watch;

/// The sum of held bodies, with its limit.
#[derive(Debug)]
pub struct MemoryGauge {
    held_bytes: AtomicUsize,
    limit_bytes: usize,
    is_blocked: AtomicBool,
    changed: watch::Sender<bool>,
}

impl MemoryGauge {
    /// A gauge that blocks at `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            held_bytes: AtomicUsize::new(0),
            limit_bytes,
            is_blocked: AtomicBool::new(false),
            changed: watch::Sender::new(false),
        }
    }

    /// Bytes held.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Publishers have to wait.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Relaxed)
    }

    /// Tells when publishers have to wait, and when they may go on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.changed.subscribe()
    }

    /// Counts `added` and `removed` bytes.
    pub fn update(&self, added: usize, removed: usize) {
        let before = self.held_bytes.fetch_add(added, Ordering::Relaxed).saturating_add(added);
        self.held_bytes.fetch_sub(removed, Ordering::Relaxed);
        let held = before.saturating_sub(removed);
        let was_blocked = self.is_blocked();
        let is_blocked = if was_blocked { held > self.limit_bytes / 5 * 4 } else { held >= self.limit_bytes };
        if is_blocked != was_blocked && self.is_blocked.swap(is_blocked, Ordering::Relaxed) != is_blocked {
            tracing::warn!(held_bytes = held, limit_bytes = self.limit_bytes, is_blocked, "limits.memory_bytes_max");
            // Read inside: of two partitions that change it at once, the later look wins.
            self.changed.send_modify(|blocked| *blocked = self.is_blocked());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishers_wait_at_the_limit_and_go_on_under_four_fifths_of_it() {
        let gauge = MemoryGauge::new(1000);
        gauge.update(999, 0);
        assert!(!gauge.is_blocked());
        gauge.update(1, 0);
        assert!(gauge.is_blocked());
        gauge.update(0, 150);
        assert!(gauge.is_blocked(), "850 is still over 800");
        gauge.update(0, 100);
        assert!(!gauge.is_blocked());
        assert_eq!(gauge.held_bytes(), 750);
    }
}
