//! Messages that wait before they may be tried again (SPEC section 3: delayed retry). They are neither ready nor held
//! by a member.
//!
//! Invariant: ordered by the time at which they are due, then by age.

use alloc::collections::BTreeMap;

use braid_types::{MessageId, Timestamp};

use crate::RetryDelay;
use crate::message::HeldMessage;

/// Messages by the time at which they are due.
#[derive(Debug, Default)]
pub(crate) struct Delayed {
    by_time: BTreeMap<(Timestamp, MessageId), HeldMessage>,
}

impl Delayed {
    /// Messages.
    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.by_time.len()).unwrap_or(u64::MAX)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_time.is_empty()
    }

    /// A message that may be tried again at `due`.
    pub(crate) fn insert(&mut self, due: Timestamp, message: HeldMessage) {
        self.by_time.insert((due, message.id), message);
    }

    /// When the first is due.
    pub(crate) fn first_due(&self) -> Option<Timestamp> {
        self.by_time.first_key_value().map(|((due, _), _)| *due)
    }

    /// Takes the first message if it is due.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<HeldMessage> {
        let first = self.by_time.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// All messages with their times.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Timestamp, &HeldMessage)> {
        self.by_time.iter().map(|((due, _), message)| (*due, message))
    }

    pub(crate) fn into_messages(self) -> impl Iterator<Item = HeldMessage> {
        self.by_time.into_values()
    }
}

impl RetryDelay {
    /// The delay after so many failed tries, in milliseconds.
    pub(crate) fn delay_ms(self, failed_tries: u32) -> u64 {
        self.delay_ms_min.saturating_mul(u64::from(failed_tries)).min(self.delay_ms_max)
    }
}
