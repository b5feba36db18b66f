//! Whose records are missing, and what of the damage matters.
//!
//! Each partition numbers its records. While all segments are there, the numbers must be without gaps; where segments
//! are gone (their records were not needed any more), a gap says nothing.

use std::collections::BTreeMap;

use braid_types::{LogIndex, PartitionId};

use crate::{Damage, engine::Partition, limits::DAMAGES_REPORTED_MAX};

/// What is known of a partition's records.
#[derive(Debug, Default)]
struct Tracker {
    chain: u64,
    /// Breaks of the log when the last record came.
    breaks: u64,
    /// Records may be missing since the last one.
    suspicion: Option<Damage>,
}

/// When damage matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Always,
    /// If the entry is not purged.
    Unpurged(LogIndex),
    /// If the partition's marks were not written again after this record.
    NewestState(u64),
    /// When somebody needs it, which is asked later.
    WhenNeeded,
}

/// See the file's head.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    trackers: BTreeMap<PartitionId, Tracker>,
    breaks: u64,
    /// Where something was lost since the last break that may have been anybody's.
    hole: Option<Damage>,
    damages: Vec<(Condition, Damage)>,
    /// Entries up to this one are missing: they must be purged.
    missing_upto: BTreeMap<PartitionId, LogIndex>,
}

impl Doubts {
    /// Segments are gone before what comes now.
    pub(super) fn note_break(&mut self) {
        self.breaks += 1;
        self.hole = None;
    }

    /// Takes note of a record.
    pub(super) fn see(&mut self, damage: &Damage, chain: u64) {
        let breaks = self.breaks;
        let tracker = self.trackers.entry(damage.partition).or_default();
        let is_next = chain == tracker.chain + 1;
        let is_excused = breaks != tracker.breaks && chain > tracker.chain;
        let suspicion = tracker.suspicion.take();
        (tracker.chain, tracker.breaks) = (chain, breaks);
        if is_next {
            return;
        }
        let partition = damage.partition;
        if let Some(found) = suspicion.or_else(|| self.hole.clone()) {
            self.add(Condition::Always, Damage { partition, ..found });
        } else if !is_excused {
            let what = "records are missing before this one";
            self.add(Condition::Always, Damage { index: None, what, ..damage.clone() });
        }
    }

    /// The partition's last record up to here must have this number. `is_complete`: all of its records in the batch were
    /// seen.
    pub(super) fn expect(&mut self, chain: u64, is_complete: bool, at: Damage) {
        let breaks = self.breaks;
        let tracker = self.trackers.entry(at.partition).or_default();
        if tracker.chain < chain || !is_complete {
            (tracker.chain, tracker.breaks, tracker.suspicion) = (tracker.chain.max(chain), breaks, None);
            self.add(Condition::Always, at);
        } else {
            tracker.suspicion = None;
        }
    }

    /// Something is lost here that may have been anybody's.
    pub(super) fn suspect(&mut self, at: &Damage) {
        self.hole = Some(at.clone());
        for (partition, tracker) in &mut self.trackers {
            if tracker.suspicion.is_none() {
                tracker.suspicion = Some(Damage { partition: *partition, ..at.clone() });
            }
        }
    }

    pub(super) fn add(&mut self, condition: Condition, damage: Damage) {
        let known = self.damages.iter().filter(|(_, known)| known.partition == damage.partition).count();
        if known < DAMAGES_REPORTED_MAX {
            self.damages.push((condition, damage));
        }
    }

    /// The log should go up to this entry, and does not.
    pub(super) fn miss(&mut self, partition: PartitionId, upto: Option<LogIndex>) {
        match upto {
            Some(upto) => self.missing_upto.insert(partition, upto),
            None => self.missing_upto.remove(&partition),
        };
    }

    /// This entry is missing, and not purged.
    pub(super) fn lack(&mut self, partition: PartitionId, index: Option<LogIndex>) {
        let what = "entries are missing";
        self.add(Condition::Always, Damage { partition, segment: 0, offset: 0, index, position: None, what });
    }

    /// All that was known of the partition is void.
    pub(super) fn clear(&mut self, partition: PartitionId) {
        self.missing_upto.remove(&partition);
        self.damages.retain(|(_, damage)| damage.partition != partition);
        if let Some(tracker) = self.trackers.get_mut(&partition) {
            tracker.suspicion = None;
        }
    }

    /// All findings, in order; and per partition the first one that matters.
    pub(super) fn finish(
        mut self,
        partitions: &BTreeMap<PartitionId, Partition>,
    ) -> (Vec<Damage>, BTreeMap<PartitionId, Damage>) {
        for tracker in std::mem::take(&mut self.trackers).into_values() {
            if let Some(damage) = tracker.suspicion {
                self.add(Condition::Always, damage);
            }
        }
        for (id, upto) in std::mem::take(&mut self.missing_upto) {
            let purged = partitions.get(&id).and_then(|partition| partition.purged.as_ref());
            if purged.is_none_or(|purged| purged.index < upto) {
                self.lack(id, Some(upto));
            }
        }
        let mut fatal = BTreeMap::new();
        for (condition, damage) in &self.damages {
            let partition = partitions.get(&damage.partition);
            let purged = partition.and_then(|partition| partition.purged.as_ref());
            let matters = match condition {
                Condition::Always => true,
                Condition::Unpurged(index) => purged.is_none_or(|purged| purged.index < *index),
                Condition::NewestState(chain) => partition.is_none_or(|partition| partition.state_chain < *chain),
                Condition::WhenNeeded => false,
            };
            if matters {
                fatal.entry(damage.partition).or_insert_with(|| damage.clone());
            }
        }
        (self.damages.into_iter().map(|(_, damage)| damage).collect(), fatal)
    }
}
