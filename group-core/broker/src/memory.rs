//! How many bytes of message bodies groups hold in memory, whether the disk is full, and whether publishers have to wait
//! because of one of them.
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
    is_crowded: AtomicBool,
    is_disk_full: AtomicBool,
    changed: watch::Sender<bool>,
}

impl MemoryGauge {
    /// A gauge that blocks at `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            held_bytes: AtomicUsize::new(0),
            limit_bytes,
            is_crowded: AtomicBool::new(false),
            is_disk_full: AtomicBool::new(false),
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
        self.is_crowded.load(Ordering::Relaxed) || self.is_disk_full.load(Ordering::Relaxed)
    }

    /// Why, in the words of the configuration.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        if self.is_disk_full.load(Ordering::Relaxed) { "the disk is full" } else { "limits.memory_bytes_max" }
    }

    /// The disk has no room for messages.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        self.is_disk_full.load(Ordering::Relaxed)
    }

    /// The disk has no room for messages, or has some again.
    pub fn set_disk_full(&self, is_full: bool) {
        if self.is_disk_full.swap(is_full, Ordering::Relaxed) != is_full {
            tracing::warn!(is_full, "the disk's room for messages");
            self.changed.send_modify(|blocked| *blocked = self.is_blocked());
        }
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
        let was_crowded = self.is_crowded.load(Ordering::Relaxed);
        let is_crowded = if was_crowded { held > self.limit_bytes / 5 * 4 } else { held >= self.limit_bytes };
        if is_crowded != was_crowded && self.is_crowded.swap(is_crowded, Ordering::Relaxed) != is_crowded {
            tracing::warn!(held_bytes = held, limit_bytes = self.limit_bytes, is_crowded, "limits.memory_bytes_max");
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
