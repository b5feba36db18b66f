//! Applying records to an empty engine, in the order in which they were written.

use std::collections::BTreeMap;

use braid_types::{LogIndex, MessageId, PartitionId, Term};

use super::{
    Recovery,
    doubts::{Condition, Doubts},
    walk::{Found, Verdict},
};
use crate::{
    Damage,
    engine::{Engine, Partition, Segment, Segments},
    format::{ChainEnd, Header, Kind, ROW_BYTES, State, read_rows},
    index::{EntryIndex, EntrySlot, Slot},
};

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    engine: &'a mut Engine,
    doubts: Doubts,
    lost_segments: Vec<u32>,
    unattributed: Vec<(u32, u32)>,
    /// Entries in front of a gap, oldest first: whatever comes behind it may still be truncated, or the gap purged.
    runs: BTreeMap<PartitionId, Vec<EntryIndex>>,
    /// Records of each partition in this batch.
    seen: BTreeMap<PartitionId, u32>,
    records: u64,
    size_bytes: u64,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(engine: &'a mut Engine) -> Self {
        Self {
            engine,
            doubts: Doubts::default(),
            lost_segments: Vec::new(),
            unattributed: Vec::new(),
            runs: BTreeMap::new(),
            seen: BTreeMap::new(),
            records: 0,
            size_bytes: 0,
        }
    }

    pub(crate) fn begin_segment(&mut self, id: u32, segment: Segment) {
        self.engine.segments.insert(id, segment);
    }

    pub(crate) fn end_segment(&mut self, id: u32, end: u32) {
        self.engine.segments.close(id, end);
    }

    /// What that segment held is not known.
    pub(crate) fn lose_segment(&mut self, segment: u32) {
        self.lost_segments.push(segment);
    }

    /// Segments are gone before what comes now.
    pub(crate) fn note_break(&mut self) {
        self.doubts.note_break();
    }

    /// Whether the marks after number `number` can be counted: not at the beginning of the log, where segments may be
    /// gone.
    pub(crate) fn is_counted(&self, number: u64) -> bool {
        number > 0
    }

    /// A batch begins: records are counted from here.
    pub(crate) fn begin_batch(&mut self) {
        self.seen.clear();
    }

    /// The partitions' last records up to here must be these. `is_counted`: and as many since the batch began.
    pub(crate) fn check_ends(&mut self, segment: u32, offset: u32, ends: &[ChainEnd], is_counted: bool) {
        for end in ends {
            let what = "a record is lost from here on";
            let partition = end.partition;
            let is_complete = !is_counted || self.seen.get(&partition) == Some(&end.records);
            let at = Damage { partition, segment, offset, index: None, position: None, what };
            self.doubts.expect(end.chain, is_complete, at);
        }
    }

    /// Something is lost here that may have been anybody's.
    pub(crate) fn suspect_all(&mut self, segment: u32, offset: u32) {
        let what = "records may be lost from here on";
        let partition = PartitionId(0);
        self.unattributed.push((segment, offset));
        self.doubts.suspect(&Damage { partition, segment, offset, index: None, position: None, what });
    }

    /// Applies a record.
    pub(crate) fn apply(&mut self, segment: u32, found: &Found<'_>) {
        let header = &found.header;
        let at = self.damage_at(segment, found);
        self.doubts.see(&at, header.chain);
        *self.seen.entry(header.partition).or_default() += 1;
        self.records += 1;
        self.size_bytes += header.record_bytes() as u64;
        if let Some(segment) = self.engine.segments.get_mut(segment) {
            segment.note(header.partition);
        }
        let partition = self.engine.partitions.entry(header.partition).or_default();
        partition.chain = partition.chain.max(header.chain);
        if found.verdict == Verdict::HeadDamaged {
            let condition = match header.kind {
                Kind::State => Condition::NewestState(header.chain),
                Kind::Bodies => Condition::WhenNeeded,
                _ => Condition::Unpurged(LogIndex(header.index)),
            };
            self.doubts.add(condition, Damage { what: "a record is damaged", ..at });
            return;
        }
        match header.kind {
            Kind::Entry => self.apply_entry(segment, found),
            Kind::Bodies => self.apply_bodies(segment, found),
            Kind::State => self.apply_state(segment, found, &at),
            Kind::Batch | Kind::Seal | Kind::End => {}
        }
        if let Verdict::BodiesDamaged(rows) = &found.verdict {
            for row in rows {
                let (index, position) = (LogIndex(header.index), row.position);
                let offset = row.place(found.offset, header.head_length);
                let damage = Damage { offset, position: Some(position), what: "a body is damaged", ..at.clone() };
                if let Some(partition) = self.engine.partitions.get_mut(&header.partition) {
                    partition.doubtful.push((MessageId { index, position }, damage.clone()));
                }
                let is_entry = header.kind == Kind::Entry;
                self.doubts.add(if is_entry { Condition::Unpurged(index) } else { Condition::WhenNeeded }, damage);
            }
        }
    }

    /// What was found, with all that is damaged.
    pub(crate) fn finish(self) -> Recovery {
        let Self { engine, mut doubts, lost_segments, mut unattributed, runs, records, size_bytes, .. } = self;
        for (id, runs) in runs {
            if let Some(partition) = engine.partitions.get(&id) {
                end_runs(id, partition, runs, &mut engine.segments, &mut doubts);
            }
        }
        let (mut damages, mut fatal) = doubts.finish(&engine.partitions);
        for segment in lost_segments {
            unattributed.push((segment, 0));
            for partition in engine.partitions.keys() {
                let what = "a segment cannot be read, and may have held something of it";
                let damage = Damage { partition: *partition, segment, offset: 0, index: None, position: None, what };
                damages.push(damage.clone());
                fatal.entry(*partition).or_insert(damage);
            }
        }
        for damage in fatal.into_values() {
            engine.partitions.entry(damage.partition).or_default();
            // So that the place is not used again, and the same is found at the next start.
            if let Some(segment) = engine.segments.get_mut(damage.segment) {
                segment.note(damage.partition);
            }
            engine.damage(damage);
        }
        let partitions = engine.partitions.iter().filter(|(_, partition)| !partition.is_removed);
        let partitions = partitions.map(|(id, _)| *id).collect();
        Recovery { partitions, damages, unattributed, torn_at: None, segments: 0, records, size_bytes }
    }

    fn apply_entry(&mut self, segment: u32, found: &Found<'_>) {
        let Header { partition: id, head_length, body_length, body_count, .. } = found.header;
        let (index, term) = (LogIndex(found.header.index), Term(found.header.term));
        let Engine { partitions, segments, .. } = &mut *self.engine;
        let Some(partition) = partitions.get_mut(&id) else { return };
        partition.is_removed = false;
        if partition.purged.as_ref().is_some_and(|purged| purged.index >= index) {
            // The partition began anew; the mark that said so is gone with its segment.
            partition.purged = None;
        }
        // What is appended takes the place of what had its index; the mark that truncated it may be gone.
        let runs = self.runs.entry(id).or_default();
        truncate(partition, runs, index, segments);
        partition.drop_bodies_of(index, segments);
        partition.doubtful.retain(|(message, _)| message.index < index);
        if partition.entries.last().is_some_and(|last| last.0 + 1 < index.0) {
            runs.push(std::mem::take(&mut partition.entries));
        }
        let slot = EntrySlot { segment, offset: found.offset, head_length, body_length };
        segments.add_bodies(segment, u64::from(body_count), u64::from(body_length));
        segments.add_entry(segment);
        partition.push(index, term, slot, read_rows(found.head, body_count));
    }

    fn apply_bodies(&mut self, segment: u32, found: &Found<'_>) {
        let index = LogIndex(found.header.index);
        let Engine { partitions, segments, .. } = &mut *self.engine;
        let Some(partition) = partitions.get_mut(&found.header.partition) else { return };
        partition.is_removed = false;
        for row in read_rows(found.head, found.header.body_count) {
            let offset = row.place(found.offset, found.header.head_length);
            let message = MessageId { index, position: row.position };
            // This copy counts now; it says for itself whether it is damaged.
            partition.doubtful.retain(|(doubtful, _)| *doubtful != message);
            segments.add_bodies(segment, 1, u64::from(row.length));
            let slot = Slot::new(row.position, segment, offset, row.length, row.crc);
            if let Some(old) = partition.bodies.insert(message, slot) {
                segments.drop_body(old.segment, old.length());
            }
        }
    }

    fn apply_state(&mut self, segment: u32, found: &Found<'_>, at: &Damage) {
        let Header { partition: id, chain, .. } = found.header;
        let state = found.head.get(found.header.body_count as usize * ROW_BYTES..).and_then(State::decode);
        let Some(state) = state else {
            self.doubts.add(Condition::NewestState(chain), Damage { what: "marks of another version", ..at.clone() });
            return;
        };
        let Engine { partitions, segments, .. } = &mut *self.engine;
        let Some(partition) = partitions.get_mut(&id) else { return };
        segments.move_state(partition.state_segment, segment);
        (partition.state_segment, partition.state_chain) = (segment, chain);
        let runs = self.runs.entry(id).or_default();
        if state.is_removed {
            truncate(partition, runs, LogIndex(0), segments);
            partition.wipe(state.birth, segments);
            self.doubts.clear(id);
            return;
        }
        restore(partition, runs, &state, segments);
        let missing = state.last.filter(|last| partition.last().is_none_or(|found| found < *last));
        self.doubts.miss(id, missing);
    }

    fn damage_at(&self, segment: u32, found: &Found<'_>) -> Damage {
        let Header { partition, kind, index, .. } = found.header;
        let index = (kind != Kind::State).then_some(LogIndex(index));
        Damage { partition, segment, offset: found.offset, index, position: None, what: "" }
    }
}

/// The entries in front of gaps must all be purged, and so must the gaps.
fn end_runs(
    id: PartitionId,
    partition: &Partition,
    runs: Vec<EntryIndex>,
    segments: &mut Segments,
    doubts: &mut Doubts,
) {
    let has_gap = !runs.is_empty();
    for mut run in runs {
        while let Some(slot) = run.shift_to(LogIndex(u64::MAX)) {
            segments.drop_entry(slot.segment);
        }
    }
    let purged = partition.purged.as_ref().map(|mark| mark.index);
    let before = partition.entries.first().and_then(|first| first.0.checked_sub(1)).map(LogIndex);
    if before > purged && (has_gap || purged.is_some()) {
        doubts.lack(id, before);
    }
}

/// Drops entries from `from` on, through all runs.
fn truncate(partition: &mut Partition, runs: &mut Vec<EntryIndex>, from: LogIndex, segments: &mut Segments) {
    partition.truncate(from, segments);
    while partition.entries.len() == 0
        && let Some(run) = runs.pop()
    {
        partition.entries = run;
        partition.truncate(from, segments);
    }
}

/// Makes a partition's marks what `state` says.
fn restore(partition: &mut Partition, runs: &mut Vec<EntryIndex>, state: &State, segments: &mut Segments) {
    (partition.is_removed, partition.birth) = (false, state.birth);
    let first = state.last.map_or(LogIndex(0), |last| LogIndex(last.0.saturating_add(1)));
    truncate(partition, runs, first, segments);
    partition.vote.clone_from(&state.vote);
    partition.committed.clone_from(&state.committed);
    partition.purged = None;
    if let Some(mark) = &state.purged {
        partition.purge(mark.clone(), segments);
    }
}
