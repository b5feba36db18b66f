//! The loop of a partition's owner: jobs in, entries to the log, committed entries applied, results out.
//!
//! It never waits for the disk while it could do something else: what comes while entries are being written is gathered
//! for the next one. Without a log an entry is applied as soon as it is made.

use std::sync::Arc;
use std::time::Instant;

use braid_machine::{Command, Effect, Partition, Refused};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use tokio::sync::mpsc;

use super::ahead::Ahead;
use super::attached::Attached;
use super::entry::{Entry, Part};
use super::events::Event;
use super::letters::Letters;
use super::logged::{Logged, Waiting};
use super::round::Round;
use super::{Job, Owned};
use crate::bodies::Bodies;
use crate::limits::ROUND_SUBMISSIONS_MAX;
use crate::mailbox::Mailbox;

/// The owner of one partition.
pub(super) struct Owner {
    pub(super) id: PartitionId,
    pub(super) machine: Partition,
    pub(super) bodies: Bodies,
    pub(super) attached: Attached,
    pub(super) letters: Letters,
    pub(super) ahead: Ahead,
    pub(super) owned: Owned,
    /// `None`: nothing is kept, an entry counts as soon as it is made.
    pub(super) logged: Option<Box<Logged>>,
    /// Out of service: nothing is taken.
    pub(super) is_stopped: bool,
    /// Of the last applied entry.
    pub(super) index: LogIndex,
    pub(super) term: Term,
    pub(super) effects: Vec<Effect>,
    /// What came and is not in the log yet.
    pub(super) entry: Entry,
    /// Items of this round, per receiver.
    pub(super) round: Round,
    /// In-flight bytes of this round, per sender.
    pub(super) released: Vec<(Arc<Mailbox>, usize)>,
    /// What the log need not keep any more.
    pub(super) forgotten: Vec<MessageId>,
    pub(super) added_bytes: usize,
    pub(super) removed_bytes: usize,
    pub(super) tally: Tally,
}

/// Counts of this round.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) enqueued: u64,
    pub(super) delivered: u64,
    pub(super) settled: u64,
}

impl Owner {
    pub(super) fn new(id: PartitionId, owned: Owned, logged: Option<Box<Logged>>) -> Self {
        Self {
            id,
            machine: Partition::default(),
            bodies: if logged.is_some() { Bodies::logged() } else { Bodies::default() },
            attached: Attached::default(),
            letters: Letters::default(),
            ahead: Ahead::default(),
            owned,
            logged,
            is_stopped: false,
            index: LogIndex(0),
            term: Term(1),
            effects: Vec::new(),
            entry: Entry::new(),
            round: Round::default(),
            released: Vec::new(),
            forgotten: Vec::new(),
            added_bytes: 0,
            removed_bytes: 0,
            tally: Tally::default(),
        }
    }

    pub(super) async fn run(mut self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut taken = Vec::with_capacity(ROUND_SUBMISSIONS_MAX);
        loop {
            self.catch_up();
            self.end_round().await;
            let takes_jobs = self.takes_jobs();
            let deadline = if takes_jobs && !self.is_stopped { self.deadline() } else { None };
            let due = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now).into());
            let retry = self.logged.as_ref().and_then(|logged| logged.retry_at());
            let retry_due = tokio::time::sleep_until(retry.unwrap_or_else(Instant::now).into());
            tokio::select! {
                biased;
                event = next_event(self.logged.as_mut()) => self.event(event),
                count = jobs.recv_many(&mut taken, ROUND_SUBMISSIONS_MAX), if takes_jobs => {
                    if count == 0 {
                        return self.stop().await;
                    }
                    self.take(&mut taken);
                }
                () = due, if deadline.is_some() => self.tick(),
                () = retry_due, if retry.is_some() => self.retry(),
            }
        }
    }

    /// Takes what came as one entry, or several where it is too much for one.
    fn take(&mut self, jobs: &mut Vec<Job>) {
        for job in jobs.drain(..) {
            match job {
                Job::Submit(submission) => self.gather(submission),
                // One that has no member here is nobody's business, and no entry's.
                Job::ConnectionClosed { connection, .. } if !self.attached.concerns(connection) => {
                    self.attached.remove(connection);
                }
                Job::ConnectionClosed { connection, kept, unsent } => {
                    let kept = kept.into_iter().collect();
                    let command = Command::ConnectionLost { node: self.owned.node, connection, kept, unsent };
                    self.push_own(Part::Lost { connection, command });
                }
                Job::Reconcile { wanted, upto, answer } => {
                    self.close_entry();
                    self.wait_or(Waiting::Reconcile { wanted, upto, answer });
                }
                Job::Inspect { groups, answer } => {
                    self.close_entry();
                    self.wait_or(Waiting::Inspect { groups, answer });
                }
                Job::Barrier { answer } => {
                    self.close_entry();
                    self.wait_or(Waiting::Barrier { answer });
                }
                Job::CheckLog => self.check_log(),
                Job::Snapshot => self.begin_snapshot(),
            }
        }
        self.close_entry();
    }

    /// Ends the entry: to the log, or applied at once.
    pub(super) fn close_entry(&mut self) {
        if self.entry.is_empty() {
            return;
        }
        if self.is_stopped {
            let entry = std::mem::replace(&mut self.entry, Entry::new());
            return self.refuse_entry(entry, Refused::Faulted);
        }
        let mut entry = std::mem::replace(&mut self.entry, Entry::new());
        if self.logged.is_some() {
            self.propose(entry);
        } else {
            entry.time = self.owned.clock.now();
            self.index = LogIndex(self.index.0 + 1);
            self.apply_entry(entry);
        }
    }

    /// An entry that says only what time it is: something expires, times out, or is to be tried again.
    fn tick(&mut self) {
        if let Some(logged) = &mut self.logged {
            logged.has_tick = true;
        }
        self.entry.push(Part::Own(Command::Tick));
        self.close_entry();
    }

    /// When something is due.
    fn deadline(&mut self) -> Option<Instant> {
        let time = self.machine.next_deadline()?.plus_ms(1);
        match &mut self.logged {
            None => Some(self.owned.clock.instant_of(time)),
            // One that is under way will see to it.
            Some(logged) if logged.has_tick => None,
            Some(logged) => Some(logged.instant_of(time)),
        }
    }

    /// Another entry may be made.
    fn takes_jobs(&self) -> bool {
        self.is_stopped || self.logged.as_ref().is_none_or(|logged| logged.takes_entries())
    }

    /// All handles are gone: what was taken still goes to the log.
    async fn stop(&mut self) {
        while self.logged.as_ref().is_some_and(|logged| logged.has_waiting()) {
            let event = next_event(self.logged.as_mut()).await;
            self.event(event);
            self.catch_up();
            self.end_round().await;
        }
    }
}

/// The next event of the log; never, without one.
async fn next_event(logged: Option<&mut Box<Logged>>) -> Event {
    match logged {
        Some(logged) => logged.next().await,
        None => std::future::pending().await,
    }
}
