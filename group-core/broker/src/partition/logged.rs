//! What the owner of a partition with a log has besides: the journal, the entries on their way, time, group sets, and
//! whether there is room on the disk. It decides when something is proposed; it applies nothing.
//!
//! Invariants: proposals go to the journal in the order in which entries were made; what waits for an entry is answered
//! after it was applied, and in order.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use braid_log::{Space, Wal};
use braid_machine::GroupConfig;
use braid_replica::{EntryClock, Error, Journal, Proposal};
use braid_types::{GroupId, PartitionId, Timestamp};
use tokio::sync::oneshot;

use super::Inspected;
use super::entry::Entry;
use super::events::Event;
use super::group_sets::GroupSets;
use super::snapshots::Snapshots;
use crate::Submission;
use crate::limits::{
    CHUNK_BYTES, ENTRIES_IN_FLIGHT_MAX, ENTRY_BYTES_MAX, PROPOSE_RETRY_MS, SNAPSHOT_RECLAIMS_FULL_BYTES, SPACE_CHECK_MS,
};

/// What is done when an entry was applied, and what waits for those before it.
#[derive(Debug)]
pub(super) enum Waiting {
    Entry(Entry),
    /// A piece of a large message.
    Chunk,
    Inspect {
        groups: Option<Vec<GroupId>>,
        answer: oneshot::Sender<Vec<(GroupId, Inspected)>>,
    },
    Reconcile {
        wanted: Vec<(GroupId, GroupConfig)>,
        upto: GroupId,
        answer: oneshot::Sender<()>,
    },
    Barrier {
        answer: oneshot::Sender<()>,
    },
    Started {
        answer: oneshot::Sender<Result<(), Error>>,
    },
}

impl Waiting {
    /// It goes when the log says so.
    pub(super) fn is_proposal(&self) -> bool {
        matches!(self, Self::Entry(_) | Self::Chunk)
    }
}

/// See the file's head.
#[derive(Debug)]
pub(super) struct Logged {
    pub(super) partition: PartitionId,
    pub(super) wal: Wal,
    pub(super) journal: Journal,
    pub(super) sets: GroupSets,
    pub(super) snapshots: Snapshots,
    /// Publishes that wait for room on the disk.
    pub(super) held: VecDeque<Submission>,
    /// A tick is on its way.
    pub(super) has_tick: bool,
    /// Effects are carried out and proposals taken.
    pub(super) leads: bool,
    /// In the order of the log.
    pub(super) waiting: VecDeque<Waiting>,
    outgoing: VecDeque<Proposal>,
    clock: EntryClock,
    pub(super) chunk_bytes: usize,
    /// Bytes of the largest entry that the log takes.
    record_bytes_max: usize,
    retry_at: Option<Instant>,
    /// Why nothing more can be proposed: the owner stops serving.
    pub(super) failure: Option<Error>,
    /// An entry found the disk full, and the reserve too.
    pub(super) waits_for_room: bool,
    /// Tells that the partition serves, or why it does not.
    pub(super) started: Option<oneshot::Sender<Result<(), Error>>>,
}

impl Logged {
    pub(super) fn new(partition: PartitionId, wal: Wal, journal: Journal, record_bytes_max: usize) -> Self {
        Self {
            partition,
            wal,
            journal,
            sets: GroupSets::default(),
            snapshots: Snapshots::default(),
            held: VecDeque::new(),
            has_tick: false,
            leads: false,
            waiting: VecDeque::new(),
            outgoing: VecDeque::new(),
            clock: EntryClock::new(Timestamp(0)),
            chunk_bytes: CHUNK_BYTES.min(record_bytes_max / 2),
            record_bytes_max: record_bytes_max.min(braid_replica::limits::ENTRY_BYTES_MAX),
            retry_at: None,
            failure: None,
            waits_for_room: false,
            started: None,
        }
    }

    /// Goes on from the time of the last entry.
    pub(super) fn set_time(&mut self, last: Timestamp) {
        self.clock = EntryClock::new(last);
    }

    pub(super) fn now(&mut self) -> Timestamp {
        self.clock.now()
    }

    /// The instant at which the partition's clock shows about `time`.
    pub(super) fn instant_of(&mut self, time: Timestamp) -> Instant {
        let wait_ms = time.since_ms(self.clock.now());
        Instant::now() + Duration::from_millis(wait_ms)
    }

    /// A message with more bytes is stored in pieces.
    pub(super) fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Bytes that an entry gathers. What one command alone has beyond that must fit too.
    pub(super) fn entry_bytes_max(&self) -> usize {
        ENTRY_BYTES_MAX.min(self.record_bytes_max / 2)
    }

    /// Bytes of the log that a snapshot would free, from which on one is made while the disk is full.
    pub(super) fn full_disk_reclaims_bytes(&self) -> u64 {
        SNAPSHOT_RECLAIMS_FULL_BYTES.min(self.record_bytes_max as u64)
    }

    /// Whether the log can take an entry; else it would wait for ever.
    pub(super) fn fits(&self, proposal: &Proposal) -> bool {
        const ENTRY_OVERHEAD_BYTES: usize = 256;
        const BODY_OVERHEAD_BYTES: usize = 32;
        let bodies: usize = proposal.bodies.iter().map(|body| body.size_bytes() + BODY_OVERHEAD_BYTES).sum();
        proposal.payload.len() + bodies + ENTRY_OVERHEAD_BYTES <= self.record_bytes_max
    }

    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Event {
        tokio::select! {
            biased;
            event = self.journal.next() => Event::Journal(event),
            written = self.snapshots.written() => Event::SnapshotWritten(written),
        }
    }

    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Another entry may be made: not too many are on their way.
    pub(super) fn takes_entries(&self) -> bool {
        self.leads && self.outgoing.is_empty() && self.journal.pending() < ENTRIES_IN_FLIGHT_MAX
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sends an entry on its way.
    pub(super) fn submit(&mut self, entry: Entry, proposals: Vec<Proposal>) {
        for _ in 1..proposals.len() {
            self.waiting.push_back(Waiting::Chunk);
        }
        self.waiting.push_back(Waiting::Entry(entry));
        self.outgoing.extend(proposals);
        self.pump();
    }

    /// Gives the journal what it can take. What stops it comes as an event.
    pub(super) fn pump(&mut self) {
        self.retry_at = None;
        if !self.purge() {
            self.retry_at = Some(Instant::now() + Duration::from_millis(SPACE_CHECK_MS));
        }
        while self.journal.pending() < ENTRIES_IN_FLIGHT_MAX
            && let Some(mut proposal) = self.outgoing.pop_front()
        {
            match self.journal.offer(&mut proposal) {
                Ok(_) => self.waits_for_room = false,
                Err(error @ (Error::Busy | Error::DiskFull)) => {
                    self.outgoing.push_front(proposal);
                    self.waits_for_room = error == Error::DiskFull;
                    let pause_ms = if error == Error::Busy { PROPOSE_RETRY_MS } else { SPACE_CHECK_MS };
                    self.retry_at = Some(Instant::now() + Duration::from_millis(pause_ms));
                    return;
                }
                Err(error) => {
                    self.outgoing.push_front(proposal);
                    self.failure.get_or_insert(error);
                    return;
                }
            }
        }
        if !self.held.is_empty() {
            self.retry_at = Some(Instant::now() + Duration::from_millis(SPACE_CHECK_MS));
        }
    }

    /// The log up to a snapshot that is there may go; tried again when there is no room to say so. Whether that is done.
    pub(super) fn purge(&mut self) -> bool {
        let Some((index, term)) = self.snapshots.purge_due else { return true };
        let is_done = match self.journal.purge(index, term) {
            Err(Error::Busy | Error::DiskFull) => return false,
            Err(error) => {
                tracing::warn!(partition = self.partition.0, %error, "the log could not be purged");
                true
            }
            Ok(()) => true,
        };
        self.snapshots.purge_due = None;
        is_done
    }

    /// There is room on the disk for messages.
    pub(super) fn has_room(&self) -> bool {
        self.wal.space() == Space::Ample
    }

    /// Translates a wall clock's time into the partition's.
    pub(super) fn of_wall(time: Timestamp, wall: Timestamp, now: Timestamp) -> Timestamp {
        if time >= wall {
            now.plus_ms(time.since_ms(wall))
        } else {
            Timestamp(now.0.saturating_sub(wall.since_ms(time)))
        }
    }

    /// Nothing goes to the log any more. Gives what waited for it.
    pub(super) fn give_up(&mut self) -> (VecDeque<Waiting>, VecDeque<Submission>) {
        self.leads = false;
        self.retry_at = None;
        self.outgoing.clear();
        (std::mem::take(&mut self.waiting), std::mem::take(&mut self.held))
    }
}
