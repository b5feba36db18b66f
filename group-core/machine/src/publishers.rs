//! Exactly-once publishing (SPEC section 3): what a group remembers of its publishers, so that a message that is sent
//! again is stored once and confirmed as the first was.
//!
//! Invariants: bounded by number and age; what is oldest goes first. Age is looked at when something is remembered.
//! What was forgotten is new again: the bound on the guarantee.

use alloc::collections::{BTreeMap, BTreeSet};

use braid_types::Timestamp;
use bytes::Bytes;

use crate::PublishIdentity;
use crate::limits::{PUBLISHER_IDLE_MS, PUBLISHERS_PER_GROUP_MAX, TOKEN_WINDOW_DEFAULT_MS, TOKENS_PER_GROUP_MAX};

/// Publishers and tokens that a group remembers.
#[derive(Debug, Default)]
pub(crate) struct Publishers {
    /// The last sequence number of each publisher, by its last publish.
    pub(crate) sequences: Remembered<u64>,
    /// Tokens, by their first publish.
    pub(crate) tokens: Remembered<()>,
}

impl Publishers {
    /// Whether a message with this identity was taken before.
    pub(crate) fn knows(&mut self, identity: &PublishIdentity, window_ms: Option<u64>, now: Timestamp) -> bool {
        match identity {
            PublishIdentity::Sequence { publisher, sequence } => {
                self.sequences.forget_older(PUBLISHER_IDLE_MS, now);
                self.sequences.get(publisher).is_some_and(|last| *sequence <= *last)
            }
            PublishIdentity::Token { token } => {
                self.tokens.forget_older(window_ms.unwrap_or(TOKEN_WINDOW_DEFAULT_MS), now);
                self.tokens.get(token).is_some()
            }
        }
    }

    /// A message with this identity was taken.
    pub(crate) fn remember(&mut self, identity: &PublishIdentity, now: Timestamp) {
        match identity {
            PublishIdentity::Sequence { publisher, sequence } => {
                self.sequences.insert(publisher, *sequence, now, PUBLISHERS_PER_GROUP_MAX);
            }
            PublishIdentity::Token { token } => self.tokens.insert(token, (), now, TOKENS_PER_GROUP_MAX),
        }
    }
}

/// Values by name, with the time of the last change of each.
#[derive(Debug)]
pub(crate) struct Remembered<V> {
    by_name: BTreeMap<Bytes, (Timestamp, V)>,
    by_age: BTreeSet<(Timestamp, Bytes)>,
}

impl<V> Default for Remembered<V> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), by_age: BTreeSet::new() }
    }
}

impl<V> Remembered<V> {
    /// The value of a name.
    pub(crate) fn get(&self, name: &Bytes) -> Option<&V> {
        self.by_name.get(name).map(|(_, value)| value)
    }

    /// Remembers a value; the oldest are forgotten when there are more than `count_max`.
    pub(crate) fn insert(&mut self, name: &Bytes, value: V, now: Timestamp, count_max: usize) {
        // A copy, so that it does not keep the buffer alive that the name was read from.
        let name = Bytes::copy_from_slice(name);
        if let Some((time, _)) = self.by_name.insert(name.clone(), (now, value)) {
            self.by_age.remove(&(time, name.clone()));
        }
        self.by_age.insert((now, name));
        while self.by_name.len() > count_max {
            self.forget_first();
        }
    }

    /// Forgets what is `age_ms` old, or older.
    pub(crate) fn forget_older(&mut self, age_ms: u64, now: Timestamp) {
        while self.by_age.first().is_some_and(|(time, _)| time.plus_ms(age_ms) <= now) {
            self.forget_first();
        }
    }

    /// All that is remembered, in order of names.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&Bytes, Timestamp, &V)> {
        self.by_name.iter().map(|(name, (time, value))| (name, *time, value))
    }

    fn forget_first(&mut self) {
        if let Some((_, name)) = self.by_age.pop_first() {
            self.by_name.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_beyond_the_number_and_beyond_the_age() {
        let mut remembered = Remembered::default();
        let names = ["a", "b", "c"].map(|name| Bytes::from_static(name.as_bytes()));
        remembered.insert(&names[0], 1, Timestamp(10), 2);
        remembered.insert(&names[1], 2, Timestamp(20), 2);
        remembered.insert(&names[0], 3, Timestamp(30), 2);
        remembered.insert(&names[2], 4, Timestamp(40), 2);
        assert_eq!(remembered.get(&names[0]), Some(&3), "used again since");
        assert_eq!(remembered.get(&names[1]), None);
        remembered.forget_older(5, Timestamp(35));
        assert_eq!(remembered.get(&names[0]), None);
        assert_eq!(remembered.get(&names[2]), Some(&4));
        assert_eq!((remembered.by_name.len(), remembered.by_age.len()), (1, 1));
    }

    #[test]
    fn a_sequence_is_known_up_to_the_last_and_a_token_within_its_window() {
        let mut publishers = Publishers::default();
        let sequence = |sequence| PublishIdentity::Sequence { publisher: Bytes::from_static(b"p"), sequence };
        publishers.remember(&sequence(7), Timestamp(0));
        assert!(publishers.knows(&sequence(7), None, Timestamp(1)));
        assert!(publishers.knows(&sequence(3), None, Timestamp(1)));
        assert!(!publishers.knows(&sequence(8), None, Timestamp(1)));
        assert!(!publishers.knows(&sequence(7), None, Timestamp(PUBLISHER_IDLE_MS)));
        let token = PublishIdentity::Token { token: Bytes::from_static(b"t") };
        publishers.remember(&token, Timestamp(0));
        assert!(publishers.knows(&token, None, Timestamp(TOKEN_WINDOW_DEFAULT_MS - 1)));
        assert!(!publishers.knows(&token, None, Timestamp(TOKEN_WINDOW_DEFAULT_MS)));
    }
}
