//! Counts which groups hold a message that was enqueued into more than one, so that its body is forgotten with the
//! last.
//!
//! Invariant: a message has a count exactly while some group, or the enqueue that is under way, holds it as `shared`.
//! Messages of one group, the common case, are not counted at all: their group is the only holder.

use braid_types::MessageId;

use crate::hasher::FixedMap;

/// Reference counts of shared messages.
#[derive(Debug, Default)]
pub(crate) struct References {
    counts: FixedMap<MessageId, u32>,
}

impl References {
    /// One more holder.
    pub(crate) fn hold(&mut self, message: MessageId) {
        *self.counts.entry(message).or_insert(0) += 1;
    }

    /// One holder less; whether it was the last.
    pub(crate) fn release(&mut self, message: MessageId) -> bool {
        let Some(count) = self.counts.get_mut(&message) else { return false };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            self.counts.remove(&message);
        }
        is_last
    }

    /// Holders of `message`, if it is counted.
    pub(crate) fn count(&self, message: MessageId) -> Option<u32> {
        self.counts.get(&message).copied()
    }

    /// Messages that are counted.
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_release_says_so() {
        let mut references = References::default();
        let message = MessageId::default();
        references.hold(message);
        references.hold(message);
        assert!(!references.release(message));
        assert_eq!(references.count(message), Some(1));
        assert!(references.release(message));
        assert_eq!(references.len(), 0);
        assert!(!references.release(message), "a stray release frees nothing twice");
    }
}
