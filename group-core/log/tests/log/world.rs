//! A log with its owner, driven step by step, that crashes and is compared with the model.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use braid_log::{
    Append, Callback, Content, Error, Opened, Options, PurgeMark, Recovery, SnapshotMeta, Step, Wal,
    disk::{CrashPlan, Disk, SimulatedDisk},
};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;

use crate::model::{Change, Machine, Model, ModelEntry, bodies, body_bytes, payload, read_payload};

/// Small segments, so that a few dozen records fill one.
pub(crate) fn options() -> Options {
    Options {
        segment_bytes: 96 * 1024,
        ready_segments: 1,
        reserve_segments: 2,
        ballast_bytes: 16 * 1024,
        cache_bytes: 16 * 1024,
        queue_bytes_max: 48 * 1024,
        rewrite_after_segments: 0,
        ..Options::new(7, 11)
    }
}

pub(crate) struct World {
    pub(crate) disk: SimulatedDisk,
    pub(crate) opened: Option<Opened>,
    /// Everything submitted since the model's base, and how many of them are confirmed.
    pub(crate) base: Model,
    pub(crate) changes: Vec<Change>,
    confirmed: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    /// What the owner knows: the state as all submitted changes make it, and its machines.
    pub(crate) current: Model,
    pub(crate) machines: BTreeMap<PartitionId, Machine>,
    /// The last durable snapshot of each.
    pub(crate) snapshots: BTreeMap<PartitionId, u64>,
    salt: u64,
}

pub(crate) type Outcome = Result<(), Error>;

impl World {
    pub(crate) fn new() -> Self {
        Self::on(SimulatedDisk::new())
    }

    /// A world on an empty disk.
    pub(crate) fn on(disk: SimulatedDisk) -> Self {
        let opened = Wal::open(options(), Arc::new(disk.clone()) as Arc<dyn Disk>).ok();
        Self {
            disk,
            opened,
            base: Model::new(),
            changes: Vec::new(),
            confirmed: Arc::default(),
            failed: Arc::default(),
            current: Model::new(),
            machines: BTreeMap::new(),
            snapshots: BTreeMap::new(),
            salt: 1,
        }
    }

    pub(crate) fn wal(&self) -> Wal {
        self.opened.as_ref().expect("open").wal.clone()
    }

    pub(crate) fn confirmed(&self) -> usize {
        usize::try_from(self.confirmed.load(Ordering::Relaxed)).unwrap()
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    fn callback(&self) -> Callback {
        let number = self.changes.len() as u64 + 1;
        let (confirmed, failed) = (Arc::clone(&self.confirmed), Arc::clone(&self.failed));
        Box::new(move |result| match result {
            Ok(()) => {
                let before = confirmed.swap(number, Ordering::Relaxed);
                assert!(before < number, "confirmed in order");
            }
            Err(_) => {
                failed.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    fn note(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.changes.push(change);
    }

    pub(crate) fn next_index(&self, partition: PartitionId) -> u64 {
        self.current.get(&partition).and_then(|partition| partition.last()).map_or(1, |last| last + 1)
    }

    /// Appends an entry with bodies at these positions.
    pub(crate) fn append(&mut self, partition: u32, term: u64, positions: &[u32], forgets: Vec<MessageId>) -> Outcome {
        let partition = PartitionId(partition);
        self.salt += 1;
        let entry = ModelEntry { term, salt: self.salt, positions: positions.to_vec(), forgets };
        let index = self.next_index(partition);
        self.wal().append(Append {
            partition,
            term: Term(term),
            index: LogIndex(index),
            payload: payload(&entry),
            bodies: bodies(partition, index, &entry),
            is_promised: false,
            done: Some(self.callback()),
        })?;
        self.note(Change::Append(partition, index, entry));
        Ok(())
    }

    pub(crate) fn truncate(&mut self, partition: u32, from: u64) -> Outcome {
        let partition = PartitionId(partition);
        self.wal().truncate_suffix(partition, LogIndex(from), Some(self.callback()))?;
        self.note(Change::Truncate(partition, from));
        Ok(())
    }

    pub(crate) fn vote(&mut self, partition: u32, vote: u64) -> Outcome {
        let partition = PartitionId(partition);
        let bytes = Bytes::copy_from_slice(&vote.to_le_bytes());
        self.wal().save_vote(partition, bytes, Some(self.callback()))?;
        self.note(Change::Vote(partition, vote));
        Ok(())
    }

    pub(crate) fn remove(&mut self, partition: u32) -> Outcome {
        let partition = PartitionId(partition);
        self.wal().remove(partition, Some(self.callback()))?;
        self.note(Change::Remove(partition));
        self.machines.remove(&partition);
        self.snapshots.remove(&partition);
        Ok(())
    }

    /// Purges up to the last durable snapshot.
    pub(crate) fn purge(&mut self, partition: u32) -> Outcome {
        let partition = PartitionId(partition);
        let Some(upto) = self.snapshots.get(&partition).copied() else { return Ok(()) };
        let known = self.current.get(&partition).and_then(|found| found.purged);
        if known.is_some_and(|known| known >= upto) {
            return Ok(());
        }
        let mark = PurgeMark { index: LogIndex(upto), term: Term(1), note: Bytes::from_static(b"purged") };
        self.wal().purge(partition, mark, Some(self.callback()))?;
        self.note(Change::Purge(partition, upto));
        Ok(())
    }

    /// Applies confirmed entries, up to `upto`.
    pub(crate) fn apply(&mut self, partition: u32, upto: u64) -> Outcome {
        let id = PartitionId(partition);
        let durable = self.state_after(self.confirmed());
        let Some(found) = durable.get(&id) else { return Ok(()) };
        let Some(last) = found.last().map(|last| last.min(upto)) else { return Ok(()) };
        let wal = self.wal();
        let machine = self.machines.entry(id).or_default();
        let first = machine.applied.map_or(1, |applied| applied + 1);
        for index in first..=last {
            let Some(entry) = found.entries.get(&index) else { break };
            // What is being truncated is not committed.
            if self.current.get(&id).and_then(|current| current.entries.get(&index)) != Some(entry) {
                break;
            }
            let forgotten = machine.apply(index, entry);
            wal.forget(id, &forgotten)?;
        }
        Ok(())
    }

    pub(crate) fn applied(&self, partition: u32) -> u64 {
        self.machines.get(&PartitionId(partition)).and_then(|machine| machine.applied).unwrap_or(0)
    }

    /// Writes a snapshot of what is applied.
    pub(crate) fn snapshot(&mut self, partition: u32) -> Outcome {
        let id = PartitionId(partition);
        let wal = self.wal();
        let Some(machine) = self.machines.get(&id) else { return Ok(()) };
        let Some(applied) = machine.applied else { return Ok(()) };
        let previous = wal.snapshot(id)?;
        let capture = wal.capture(id)?;
        let meta = SnapshotMeta { last: LogIndex(applied), term: Term(1), note: Bytes::from_static(b"members") };
        let mut writer = wal.write_snapshot(capture, meta)?;
        for (key, bytes) in machine.parts() {
            let before = previous.as_ref().and_then(|previous| previous.read(key).ok().flatten());
            if before.is_some_and(|before| before == bytes) { writer.keep(key)? } else { writer.put(key, &bytes)? }
        }
        writer.finish()?;
        self.snapshots.insert(id, applied);
        Ok(())
    }

    /// Drives the writer until it has nothing to do.
    pub(crate) fn write(&mut self) {
        while self.opened.as_mut().expect("open").writer.step() == Step::Worked {}
    }

    pub(crate) fn write_once(&mut self) -> Step {
        self.opened.as_mut().expect("open").writer.step()
    }

    pub(crate) fn maintain_once(&mut self) -> Step {
        self.opened.as_mut().expect("open").maintenance.step()
    }

    /// Drives both until neither has anything to do.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10_000 {
            self.write();
            if self.maintain_once() != Step::Worked {
                self.write();
                return;
            }
        }
        panic!("maintenance does not come to an end");
    }

    /// The model after so many changes.
    pub(crate) fn state_after(&self, count: usize) -> Model {
        let mut model = self.base.clone();
        self.changes[..count].iter().for_each(|change| change.apply(&mut model));
        model
    }

    /// Crashes, recovers, and checks that what is there is what may be there.
    pub(crate) fn crash(&mut self, plan: CrashPlan) -> Recovery {
        self.opened = None;
        self.disk = self.disk.crash(plan);
        self.reopen()
    }

    /// The process is killed, and started again; the machine stays up.
    pub(crate) fn kill(&mut self) -> Recovery {
        self.opened = None;
        self.disk = self.disk.kill();
        self.reopen()
    }

    /// Opens the log as it is on the disk, and checks it.
    pub(crate) fn reopen(&mut self) -> Recovery {
        let opened = Wal::open(options(), Arc::new(self.disk.clone()) as Arc<dyn Disk>).expect("it opens");
        let recovery = opened.recovery.clone();
        self.opened = Some(opened);
        assert_eq!(recovery.damages, [], "nothing is damaged by a crash");
        let found = self.read_all();
        let confirmed = self.confirmed();
        let at = (confirmed..=self.changes.len()).rev().find(|count| self.state_after(*count) == found);
        let Some(at) = at else {
            panic!(
                "what is recovered is no state between what was confirmed and what was submitted:\n{found:#?}\n{:#?}\n{:#?}",
                self.state_after(confirmed),
                &self.changes[confirmed..]
            );
        };
        self.changes.clear();
        self.confirmed = Arc::default();
        self.failed = Arc::default();
        self.base = found;
        self.current = self.base.clone();
        let _ = at;
        self.restore_owner();
        recovery
    }

    /// All entries of all partitions, through the public interface; bodies are checked on the way.
    pub(crate) fn read_all(&self) -> Model {
        let opened = self.opened.as_ref().expect("open");
        let mut model = Model::new();
        for id in &opened.recovery.partitions {
            let status = opened.wal.status(*id).expect("in service").expect("there");
            let found = model.entry(*id).or_default();
            found.purged = status.purged.map(|mark| mark.index.0);
            found.vote = status.vote.map(|vote| u64::from_le_bytes(vote[..].try_into().unwrap()));
            let all = LogIndex(0)..LogIndex(u64::MAX);
            for entry in opened.wal.entries(*id, all, usize::MAX, Content::Full).expect("readable") {
                let read = read_payload(entry.term, &entry.payload);
                assert_eq!(
                    entry.bodies.iter().map(|body| body.bytes.clone()).collect::<Vec<_>>(),
                    bodies(*id, entry.index.0, &read)
                        .iter()
                        .map(|body| [&body.prefix[..], &body.bytes[..]].concat())
                        .collect::<Vec<_>>()
                );
                found.entries.insert(entry.index.0, read);
            }
            assert_eq!(status.last.map(|last| last.0), found.last());
        }
        model
    }

    /// What an owner does at a start: the snapshot, then the entries that were applied before.
    fn restore_owner(&mut self) {
        let wal = self.wal();
        let before = std::mem::take(&mut self.machines);
        self.snapshots.clear();
        let partitions = self.opened.as_ref().unwrap().recovery.partitions.clone();
        for id in partitions {
            let mut machine = Machine::default();
            if let Some(snapshot) = wal.snapshot(id).expect("in service") {
                let last = snapshot.meta().last.0;
                let parts: BTreeMap<u64, Bytes> =
                    snapshot.keys().map(|key| (key, snapshot.read(key).unwrap().unwrap())).collect();
                machine = Machine::restore(last, &parts);
                wal.retain(id, snapshot.meta().last, machine.ids()).expect("all that is needed is there");
                self.snapshots.insert(id, last);
            }
            let purged = self.base[&id].purged;
            assert!(purged.is_none_or(|purged| machine.applied.is_some_and(|applied| applied >= purged)));
            let upto = before.get(&id).and_then(|machine| machine.applied).unwrap_or(0);
            let first = machine.applied.map_or(1, |applied| applied + 1);
            for (index, entry) in self.base[&id].entries.range(first..) {
                if *index <= upto {
                    let forgotten = machine.apply(*index, entry);
                    wal.forget(id, &forgotten).unwrap();
                }
            }
            if let Some(before) = before.get(&id)
                && before.applied.is_some_and(|applied| machine.applied.is_none_or(|now| now <= applied))
            {
                assert_eq!(machine.applied, before.applied, "{id:?}: what was applied is there");
                assert_eq!(machine.live, before.live, "what was applied is as it was");
            }
            self.machines.insert(id, machine);
        }
        self.check_live();
    }

    /// Every live body can be read and is what was stored.
    pub(crate) fn check_live(&self) {
        let wal = self.wal();
        for (id, machine) in &self.machines {
            let ids: Vec<MessageId> = machine.live.keys().copied().collect();
            for (message, read) in ids.iter().zip(wal.bodies(*id, &ids)) {
                let expected = body_bytes(*id, message.index.0, message.position, machine.live[message]);
                assert_eq!(read, Ok(expected), "{id:?} {message:?}");
            }
        }
    }
}
