//! A node with one partition, and the owner of that: its state is the list of what was applied.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use braid_log::{
    Body, MaintenanceThread, Options, SnapshotMeta, Wal, WriterThread,
    disk::{Disk, SimulatedDisk},
};
use braid_replica::{Committed, Error, Journal, JournalEvent, Proposal};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::{Buf, BufMut, Bytes, BytesMut};

pub(crate) const PARTITION: PartitionId = PartitionId(5);

pub(crate) const BOTH: [Kind; 2] = [Kind::Disk, Kind::Quorum];

const NODE_ID: u64 = 3;

/// So long no event takes, unless there is none.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Disk,
    Quorum,
}

/// Small segments, so that a few dozen entries fill one.
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

/// A running log.
pub(crate) struct Node {
    pub(crate) wal: Wal,
    _writer: WriterThread,
    _maintenance: MaintenanceThread,
}

impl Node {
    pub(crate) fn start(disk: &SimulatedDisk) -> Result<Self, braid_log::Error> {
        let opened = Wal::open(options(), Arc::new(disk.clone()) as Arc<dyn Disk>)?;
        let (writer, maintenance) = (opened.writer.spawn().unwrap(), opened.maintenance.spawn().unwrap());
        Ok(Self { wal: opened.wal, _writer: writer, _maintenance: maintenance })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) index: LogIndex,
    pub(crate) term: Term,
    pub(crate) payload: Bytes,
}

pub(crate) struct Owner {
    pub(crate) wal: Wal,
    pub(crate) journal: Journal,
    /// What was applied, those before a snapshot too.
    pub(crate) state: Vec<Applied>,
    /// Of this run.
    pub(crate) proposed: VecDeque<Bytes>,
    pub(crate) leads: Option<Term>,
    pub(crate) stopped: Option<Error>,
    /// Snapshots that were made in this run.
    pub(crate) snapshots: usize,
}

impl Owner {
    /// Opens the journal, with the state of the snapshot.
    pub(crate) async fn open(node: &Node, kind: Kind) -> Result<Self, Error> {
        let wal = node.wal.clone();
        let journal = match kind {
            Kind::Disk => Journal::open_disk(wal.clone(), PARTITION)?,
            Kind::Quorum => Journal::open_quorum(wal.clone(), PARTITION, NODE_ID).await?,
        };
        let mut state = Vec::new();
        if let Some(snapshot) = wal.snapshot(PARTITION).map_err(failed)? {
            let part = snapshot.read(1).map_err(failed)?;
            let mut part = part.expect("each snapshot has it");
            while part.has_remaining() {
                let (index, term, length) = (part.get_u64(), part.get_u64(), part.get_u32());
                let payload = part.split_to(length as usize);
                state.push(Applied { index: LogIndex(index), term: Term(term), payload });
            }
        }
        let (proposed, leads, stopped, snapshots) = (VecDeque::new(), None, None, 0);
        Ok(Self { wal, journal, state, proposed, leads, stopped, snapshots })
    }

    /// Opens it and applies what former runs left.
    pub(crate) async fn lead(node: &Node, kind: Kind) -> Self {
        let mut owner = Self::open(node, kind).await.unwrap();
        owner.step_until(|owner| owner.leads.is_some()).await;
        assert_eq!(owner.stopped, None);
        owner
    }

    /// Proposes an entry that brings a body of its own.
    pub(crate) fn propose(&mut self, text: &str) -> Result<Option<LogIndex>, Error> {
        let payload = Bytes::from(text.to_owned());
        let bodies = vec![Body::new(0, body_of(&payload)), Body::new(3, payload.clone())];
        let index = self.journal.propose(Proposal { payload: payload.clone(), bodies })?;
        self.proposed.push_back(payload);
        Ok(index)
    }

    /// Proposes as soon as the log takes it: it lets so many bytes wait at a time, and says when they are too many.
    pub(crate) async fn propose_when_it_fits(&mut self, text: &str) -> Option<LogIndex> {
        loop {
            match self.propose(text) {
                Ok(index) => return index,
                Err(error) => {
                    assert_eq!(error, Error::Busy);
                    let length = self.state.len();
                    self.step_until(|owner| owner.state.len() > length).await;
                }
            }
        }
    }

    pub(crate) async fn step_until(&mut self, is_enough: impl Fn(&Self) -> bool) {
        while !is_enough(self) && self.stopped.is_none() {
            let event = tokio::time::timeout(PATIENCE, self.journal.next()).await;
            self.handle(event.unwrap_or_else(|_| panic!("nothing comes any more: {:?}", self.journal)));
        }
    }

    /// Until all proposals have come back.
    pub(crate) async fn settle(&mut self) {
        self.step_until(|owner| owner.proposed.is_empty()).await;
    }

    pub(crate) fn handle(&mut self, event: JournalEvent) {
        match event {
            JournalEvent::Committed { index, term, entry } => {
                let payload = match entry {
                    Committed::Own => {
                        assert_eq!(self.leads, Some(term), "own entries are of the term that this run leads in");
                        self.proposed.pop_front().expect("nothing was proposed")
                    }
                    Committed::Other(payload) => {
                        assert_eq!(self.leads, None, "entries of others come first");
                        payload
                    }
                };
                assert!(self.state.last().is_none_or(|last| last.index < index && last.term <= term));
                self.state.push(Applied { index, term, payload });
                assert_eq!(self.journal.pending(), self.proposed.len());
            }
            JournalEvent::Leads { term } => {
                assert!(self.state.last().is_none_or(|last| last.term < term), "a run has a term of its own");
                assert_eq!(self.leads.replace(term), None);
            }
            JournalEvent::Snapshot(request) => {
                assert_eq!(request.note(), self.journal.snapshot_note());
                let made = self.write_snapshot(request.note());
                let purged = self.last();
                request.done(made.clone());
                if made.is_ok() {
                    self.purge(purged);
                }
            }
            JournalEvent::Stopped(error) => self.stopped = Some(error),
        }
    }

    /// Makes a snapshot, whichever kind it is, and purges.
    pub(crate) async fn snapshot(&mut self) {
        if self.journal.begin_snapshot() {
            if self.write_snapshot(self.journal.snapshot_note()).is_ok() {
                self.purge(self.last());
            }
        } else {
            let before = self.snapshots;
            self.step_until(|owner| owner.snapshots > before).await;
        }
    }

    fn purge(&mut self, (index, term): (LogIndex, Term)) {
        let purged = self.journal.purge(index, term);
        assert!(!matches!(purged, Err(Error::NotInSnapshot { .. })), "{purged:?}");
    }

    /// Index and term of the last entry that was applied.
    pub(crate) fn last(&self) -> (LogIndex, Term) {
        self.state.last().map_or((LogIndex(0), Term(0)), |last| (last.index, last.term))
    }

    fn write_snapshot(&mut self, note: Bytes) -> Result<(), Error> {
        let mut part = BytesMut::new();
        for Applied { index, term, payload } in &self.state {
            part.put_u64(index.0);
            part.put_u64(term.0);
            part.put_u32(u32::try_from(payload.len()).unwrap());
            part.put_slice(payload);
        }
        let (last, term) = self.last();
        let written = self.wal.capture(PARTITION).and_then(|capture| {
            let mut writer = self.wal.write_snapshot(capture, SnapshotMeta { last, term, note })?;
            writer.put(1, &part)?;
            writer.finish()
        });
        self.snapshots += 1;
        written.map_err(failed)
    }

    pub(crate) fn payloads(&self) -> Vec<String> {
        self.state.iter().map(|applied| String::from_utf8(applied.payload.to_vec()).unwrap()).collect()
    }

    /// All bodies are where their entries say, also of those that are purged.
    pub(crate) fn check_bodies(&self) {
        for Applied { index, payload, .. } in &self.state {
            let body = |position| self.wal.body(PARTITION, MessageId { index: *index, position });
            assert_eq!(body(0), Ok(body_of(payload)));
            assert_eq!(body(3).as_ref(), Ok(payload));
            assert!(body(1).is_err());
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "as map_err wants it")]
fn failed(error: braid_log::Error) -> Error {
    Error::Failed(error.to_string())
}

/// Longer than what is copied into a record's head.
fn body_of(payload: &Bytes) -> Bytes {
    payload.iter().copied().cycle().take(700 + payload.len()).collect::<Vec<_>>().into()
}
