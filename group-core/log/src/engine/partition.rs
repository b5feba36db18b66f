//! One partition: its entries, bodies, marks and recent records.

use std::{collections::VecDeque, sync::Arc};

use braid_types::{LogIndex, MessageId, Term};
use bytes::Bytes;

use super::Segments;
use crate::{
    Damage, PurgeMark,
    format::{Record, Row, State},
    index::{BodyIndex, EntryIndex, EntrySlot, Epoch, Slot},
    snapshot::Manifest,
};

/// A record that is in memory.
#[derive(Debug)]
pub(crate) struct Recent {
    pub(crate) index: LogIndex,
    pub(crate) chain: u64,
    pub(crate) record: Record,
}

/// What was forgotten and waits for a snapshot.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// Where forgotten bodies are marked.
    pub(crate) epoch: Epoch,
    /// Bytes forgotten in each.
    pub(crate) bytes: [u64; 2],
    /// Where a sweep of the other epoch goes on: its snapshot is durable.
    pub(crate) cursor: Option<MessageId>,
    /// A capture was made and its snapshot is under way.
    pub(crate) is_captured: bool,
}

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Records ever submitted.
    pub(crate) chain: u64,
    /// The number of the record that removed it before it began anew; 0: it never was.
    pub(crate) birth: u64,
    pub(crate) entries: EntryIndex,
    pub(crate) bodies: BodyIndex,
    /// The last entries; contiguous, up to the last one. What is not written yet is always here.
    pub(crate) recent: VecDeque<Recent>,
    pub(crate) purged: Option<PurgeMark>,
    pub(crate) vote: Option<Bytes>,
    pub(crate) committed: Option<Bytes>,
    /// Where the newest state is; 0: nowhere.
    pub(crate) state_segment: u32,
    /// The number of that record.
    pub(crate) state_chain: u64,
    pub(crate) is_removed: bool,
    pub(crate) damage: Option<Damage>,
    /// Damaged bodies that nobody may need any more.
    pub(crate) doubtful: Vec<(MessageId, Damage)>,
    pub(crate) sweep: Sweep,
    pub(crate) snapshot: Option<Arc<Manifest>>,
    /// Held by whoever needs forgotten bodies to stay.
    pub(crate) pins: Arc<()>,
}

impl Default for Partition {
    fn default() -> Self {
        Self {
            chain: 0,
            birth: 0,
            entries: EntryIndex::default(),
            bodies: BodyIndex::default(),
            recent: VecDeque::new(),
            purged: None,
            vote: None,
            committed: None,
            state_segment: 0,
            state_chain: 0,
            is_removed: false,
            damage: None,
            doubtful: Vec::new(),
            sweep: Sweep { epoch: Epoch::Even, bytes: [0; 2], cursor: None, is_captured: false },
            snapshot: None,
            pins: Arc::new(()),
        }
    }
}

impl Partition {
    /// The last entry, purged ones included.
    pub(crate) fn last(&self) -> Option<LogIndex> {
        self.entries.last().or_else(|| self.purged.as_ref().map(|purged| purged.index))
    }

    pub(crate) fn last_term(&self) -> Option<Term> {
        let last = self.entries.last().and_then(|last| self.entries.term_of(last));
        last.or_else(|| self.purged.as_ref().map(|purged| purged.term))
    }

    /// Its marks, as they are written.
    pub(crate) fn state(&self) -> State {
        State {
            birth: self.birth,
            last: self.last(),
            purged: self.purged.clone(),
            vote: self.vote.clone(),
            committed: self.committed.clone(),
            is_removed: self.is_removed,
        }
    }

    /// Adds an entry and its bodies, wherever they are.
    pub(crate) fn push(&mut self, index: LogIndex, term: Term, slot: EntrySlot, rows: impl Iterator<Item = Row>) {
        let bodies_at = |row: &Row| match slot.segment {
            crate::index::PENDING => slot.offset,
            _ => row.place(slot.offset, slot.head_length),
        };
        let slots =
            rows.map(|row| (row.position, Slot::new(row.position, slot.segment, bodies_at(&row), row.length, row.crc)));
        self.bodies.append(index, slots);
        self.entries.push(index, term, slot);
    }

    /// Drops the entries from `from` on, and their bodies. Returns the bytes of recent records that went.
    pub(crate) fn truncate(&mut self, from: LogIndex, segments: &mut Segments) -> usize {
        while let Some(last) = self.entries.last() {
            let Some(slot) = self.entries.pop_from(from) else { break };
            segments.drop_entry(slot.segment);
            self.drop_bodies_of(last, segments);
        }
        let mut bytes = 0;
        while self.recent.back().is_some_and(|recent| recent.index >= from) {
            bytes += self.recent.pop_back().map_or(0, |recent| recent.record.size_bytes());
        }
        bytes
    }

    /// Drops the bodies of one entry.
    pub(crate) fn drop_bodies_of(&mut self, index: LogIndex, segments: &mut Segments) {
        let mut positions = Vec::new();
        self.bodies.for_each_of(index, |position, _| positions.push(position));
        for position in positions {
            if let Some(slot) = self.bodies.remove(MessageId { index, position }) {
                segments.drop_body(slot.segment, slot.length());
            }
        }
    }

    /// Moves the purged mark; bodies stay. Returns the bytes of recent records that went.
    pub(crate) fn purge(&mut self, mark: PurgeMark, segments: &mut Segments) -> usize {
        let mut bytes = 0;
        if self.last().is_none_or(|last| last < mark.index) {
            // A snapshot took the place of the log: what is appended next does not follow what is in memory.
            bytes = self.recent.drain(..).map(|recent| recent.record.size_bytes()).sum();
        }
        while let Some(slot) = self.entries.shift_to(mark.index) {
            segments.drop_entry(slot.segment);
        }
        if self.purged.as_ref().is_none_or(|purged| purged.index < mark.index) {
            self.purged = Some(mark);
        }
        bytes
    }

    /// Drops everything but the count of its records, the last of which removed it, and where its newest state is. Returns the bytes of recent records
    /// that went.
    pub(crate) fn wipe(&mut self, birth: u64, segments: &mut Segments) -> usize {
        let mut bytes = self.truncate(LogIndex(0), segments);
        bytes += self.recent.drain(..).map(|recent| recent.record.size_bytes()).sum::<usize>();
        self.bodies.drain(|slot| segments.drop_body(slot.segment, slot.length()));
        let (chain, state_segment, state_chain) = (self.chain, self.state_segment, self.state_chain);
        *self = Self { chain, birth, state_segment, state_chain, is_removed: true, ..Self::default() };
        bytes
    }

    /// The recent record of an entry.
    pub(crate) fn recent_of(&self, index: LogIndex) -> Option<&Record> {
        let first = self.recent.front()?.index;
        let place = usize::try_from(index.0.checked_sub(first.0)?).ok()?;
        self.recent.get(place).map(|recent| &recent.record)
    }
}
