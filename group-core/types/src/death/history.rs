//! The deaths of one message: read from its header block, one added, written into its new one.

use alloc::vec::Vec;

use bytes::Bytes;

use super::{Death, DeathRecord, text::cut};
use crate::limits::{DEATH_ROUTING_KEYS_MAX, DEATHS_MAX};

/// Queue, reason and exchange of one death.
#[derive(Clone, Debug, Default)]
struct Mark {
    queue: Option<Bytes>,
    reason: Option<Bytes>,
    exchange: Option<Bytes>,
}

/// What a message remembers of its deaths.
#[derive(Clone, Debug, Default)]
pub struct DeathHistory {
    records: Vec<DeathRecord>,
    first: Mark,
}

impl DeathHistory {
    /// The header that holds the records.
    pub const RECORDS: &'static str = "x-death";

    /// The headers that hold the first and the last death, in order.
    pub const MARKS: [&'static str; 6] = [
        "x-first-death-exchange",
        "x-first-death-queue",
        "x-first-death-reason",
        "x-last-death-exchange",
        "x-last-death-queue",
        "x-last-death-reason",
    ];

    /// Whether a header of this name is written by the broker, and a client's is to be thrown away.
    #[must_use]
    pub fn owns(name: &[u8]) -> bool {
        name.starts_with(b"x-")
            && (name == Self::RECORDS.as_bytes() || Self::MARKS.iter().any(|mark| name == mark.as_bytes()))
    }

    /// Takes over a record that was read from a message: each is older than those before it. What goes beyond the limit,
    /// or has no queue or reason, or has been there before, is left out.
    pub fn push_older(&mut self, record: DeathRecord) {
        let is_complete = !record.queue.is_empty() && !record.reason.is_empty();
        if is_complete && self.records.len() < DEATHS_MAX && self.position(&record.queue, &record.reason).is_none() {
            self.records.push(record);
        }
    }

    /// Takes over one of [`DeathHistory::MARKS`] that was read from a message. Those of the last death are known from the
    /// records.
    pub fn set_mark(&mut self, name: &[u8], value: Bytes) {
        match name {
            b"x-first-death-exchange" => self.first.exchange = Some(value),
            b"x-first-death-queue" => self.first.queue = Some(value),
            b"x-first-death-reason" => self.first.reason = Some(value),
            _ => {}
        }
    }

    /// Adds a death of a message whose publisher gave it `original_expiration_ms` to live. In the same queue for the same
    /// reason it is counted; the rest of that record stays as it was the first time (as in RabbitMQ 4.3).
    pub fn add(&mut self, death: &Death, original_expiration_ms: Option<u64>) {
        let queue = owned(&death.queue);
        let reason = Bytes::from_static(death.reason.as_bytes());
        let record = match self.position(&queue, &reason) {
            Some(position) => {
                let record = self.records.remove(position);
                DeathRecord { count: record.count.saturating_add(1), ..record }
            }
            None => DeathRecord {
                queue,
                reason,
                count: 1,
                time_s: death.time_s,
                exchange: owned(&death.exchange),
                routing_keys: death.routing_keys.iter().take(DEATH_ROUTING_KEYS_MAX).map(owned).collect(),
                original_expiration_ms,
            },
        };
        self.records.insert(0, record);
        self.records.truncate(DEATHS_MAX);
        if let Some(oldest) = self.records.last() {
            self.first.exchange.get_or_insert_with(|| oldest.exchange.clone());
            self.first.queue.get_or_insert_with(|| oldest.queue.clone());
            self.first.reason.get_or_insert_with(|| oldest.reason.clone());
        }
    }

    /// The records, newest first.
    #[must_use]
    pub fn records(&self) -> &[DeathRecord] {
        &self.records
    }

    /// The records, newest first.
    #[must_use]
    pub fn into_records(self) -> Vec<DeathRecord> {
        self.records
    }

    /// [`DeathHistory::MARKS`] with their values, in order. Empty values before the first death.
    #[must_use]
    pub fn marks(&self) -> [(&'static str, Bytes); 6] {
        let value = |value: &Option<Bytes>| value.clone().unwrap_or_default();
        let last = self.records.first().cloned().unwrap_or_default();
        let first = &self.first;
        let values =
            [value(&first.exchange), value(&first.queue), value(&first.reason), last.exchange, last.queue, last.reason];
        let mut names = Self::MARKS.into_iter();
        values.map(|value| (names.next().unwrap_or_default(), value))
    }

    fn position(&self, queue: &[u8], reason: &[u8]) -> Option<usize> {
        self.records.iter().position(|record| record.queue == queue && record.reason == reason)
    }
}

fn owned(name: &Bytes) -> Bytes {
    name.slice_ref(cut(name))
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec};

    use super::*;
    use crate::is_cycle;

    fn death(queue: &str, reason: &'static str, time_s: u64) -> Death {
        Death {
            reason,
            queue: Bytes::copy_from_slice(queue.as_bytes()),
            time_s,
            exchange: Bytes::from(format!("to-{queue}")),
            routing_keys: vec![Bytes::from_static(b"k")],
        }
    }

    fn history(deaths: &[(&str, &'static str)]) -> DeathHistory {
        let mut history = DeathHistory::default();
        for (time_s, (queue, reason)) in (1..).zip(deaths) {
            history.add(&death(queue, reason, time_s), None);
        }
        history
    }

    #[test]
    fn a_repeated_death_is_counted_and_comes_to_the_front() {
        let history = history(&[("work", "rejected"), ("wait", "expired"), ("work", "rejected"), ("work", "expired")]);
        let seen: Vec<_> = history
            .records()
            .iter()
            .map(|record| (record.queue.as_ref(), record.reason.as_ref(), record.count, record.time_s))
            .collect();
        let expected: [(&[u8], &[u8], u64, u64); 3] =
            [(b"work", b"expired", 1, 4), (b"work", b"rejected", 2, 1), (b"wait", b"expired", 1, 2)];
        assert_eq!(seen, expected);
        let marks = history.marks().map(|(name, value)| format!("{name}={}", value.escape_ascii()));
        let expected = [
            "x-first-death-exchange=to-work",
            "x-first-death-queue=work",
            "x-first-death-reason=rejected",
            "x-last-death-exchange=to-work",
            "x-last-death-queue=work",
            "x-last-death-reason=expired",
        ];
        assert_eq!(marks, expected);
    }

    #[test]
    fn the_expiration_that_counts_is_that_of_the_first_time() {
        let mut history = DeathHistory::default();
        history.add(&death("q", "expired", 1), Some(50));
        history.add(&death("q", "expired", 2), None);
        history.add(&death("r", "expired", 3), None);
        let seen: Vec<_> = history.records().iter().map(|record| record.original_expiration_ms).collect();
        assert_eq!(seen, [None, Some(50)]);
    }

    #[test]
    fn a_circle_is_one_that_nobody_rejected_in() {
        type Case = (&'static [(&'static str, &'static str)], &'static str, bool);
        let table: &[Case] = &[
            (&[("a", "expired")], "b", false),
            (&[("a", "expired")], "a", true),
            (&[("a", "rejected")], "a", false),
            (&[("a", "maxlen"), ("b", "delivery_limit")], "a", true),
            (&[("a", "rejected"), ("b", "expired")], "a", false),
            (&[("a", "expired"), ("b", "rejected")], "a", false),
            // A rejection that came before the circle does not break it (tried with RabbitMQ 4.3).
            (&[("r", "rejected"), ("a", "expired"), ("b", "expired")], "a", true),
            (&[("a", "rejected"), ("a", "expired")], "a", true),
            (&[("a", "expired"), ("a", "rejected")], "a", false),
            // The newest death in the target queue is the one that counts.
            (&[("a", "expired"), ("b", "rejected"), ("a", "expired")], "a", true),
        ];
        for (deaths, target, expected) in table {
            assert_eq!(is_cycle(history(deaths).records(), target.as_bytes()), *expected, "{deaths:?} to {target}");
        }
        assert!(!is_cycle(&[], b"a"));
    }

    #[test]
    fn a_full_history_forgets_the_oldest_and_counts_as_a_circle() {
        let mut history = history(&[("first", "expired")]);
        for number in 1..DEATHS_MAX {
            assert!(!is_cycle(history.records(), b"new"), "{number}");
            history.add(&death(&format!("q{number}"), "expired", 9), None);
        }
        assert!(is_cycle(history.records(), b"new"));
        history.add(&death("last", "expired", 9), None);
        assert_eq!(history.records().len(), DEATHS_MAX);
        assert!(!history.records().iter().any(|record| record.queue == "first"));
        assert_eq!(history.marks().get(1).map(|(_, queue)| queue.clone()), Some(Bytes::from_static(b"first")));
        assert!(is_cycle(history.records(), b"new"));
        history.add(&death("r", "rejected", 9), None);
        assert!(!is_cycle(history.records(), b"new"));
    }

    #[test]
    fn long_names_are_cut_and_still_found() {
        let name = "ä".repeat(crate::limits::DEATH_NAME_BYTES_MAX);
        let history = history(&[(&name, "expired")]);
        let queue = &history.records().first().unwrap().queue;
        assert!(queue.len() <= crate::limits::DEATH_NAME_BYTES_MAX && core::str::from_utf8(queue).is_ok());
        assert!(is_cycle(history.records(), name.as_bytes()));
    }
}
