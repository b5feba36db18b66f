//! What the log says: entries that count now, leadership, the end. And what waited for entries to be applied.

use braid_machine::{Command, GroupConfig};
use braid_replica::{Committed, JournalEvent};
use braid_types::{GroupId, LogIndex, Term};
use bytes::Bytes;
use hashbrown::HashMap;

use super::entry::{Decoded, Part};
use super::group_sets::GroupSets;
use super::letters::Letters;
use super::logged::Waiting;
use super::owner::Owner;
use super::snapshots::Written;

/// Events that are looked at before results are handed out.
const EVENTS_PER_ROUND_MAX: usize = 64;

/// What wakes an owner, beside jobs and time. It is taken even while no jobs are: some of it makes room for them.
#[derive(Debug)]
pub(super) enum Event {
    /// The log says something.
    Journal(JournalEvent),
    /// A snapshot is there, or not.
    SnapshotWritten(Box<Written>),
}

impl Owner {
    /// Takes what the log has to say now.
    pub(super) fn catch_up(&mut self) {
        for _ in 0..EVENTS_PER_ROUND_MAX {
            let Some(event) = self.logged.as_mut().and_then(|logged| logged.journal.try_next()) else { break };
            self.journal_event(event);
        }
    }

    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Journal(event) => self.journal_event(event),
            Event::SnapshotWritten(written) => self.snapshot_written(*written),
        }
    }

    fn journal_event(&mut self, event: JournalEvent) {
        match event {
            JournalEvent::Committed { index, term, entry } => self.committed(index, term, entry),
            JournalEvent::Leads { term } => self.lead(term),
            JournalEvent::Snapshot(request) => self.take_snapshot(Some(request)),
            JournalEvent::Stopped(error) => self.stop_serving(&error),
        }
    }

    fn committed(&mut self, index: LogIndex, term: Term, entry: Committed) {
        self.index = index;
        self.term = term;
        match entry {
            Committed::Own => {
                let Some(logged) = &mut self.logged else { return };
                if let Some(Waiting::Entry(entry)) = logged.waiting.pop_front() {
                    logged.snapshots.note_applied(index, entry.log_bytes);
                    self.apply_entry(entry);
                }
                if let Some(logged) = &mut self.logged {
                    logged.pump();
                }
                self.ask_what_waited();
            }
            Committed::Other(payload) => self.replay(payload),
        }
    }

    fn replay(&mut self, payload: Bytes) {
        let Some(logged) = &mut self.logged else { return };
        let bytes = payload.len();
        match Decoded::read(payload) {
            Ok(Some(entry)) => {
                logged.snapshots.note_applied(self.index, bytes);
                self.apply_decoded(entry);
            }
            Ok(None) => {}
            Err(error) => {
                let why = format!("entry {} cannot be read: {error}", self.index.0);
                self.stop_serving(&braid_replica::Error::LogDamaged { partition: self.id, why });
            }
        }
    }

    /// What former runs left is applied; now this one says that it begins: all members of before are gone.
    fn lead(&mut self, term: Term) {
        self.term = term;
        self.letters = Letters::of(&self.machine);
        let sets = GroupSets::of(&self.machine);
        let node = self.owned.node;
        let Some(logged) = &mut self.logged else { return };
        logged.sets = sets;
        logged.set_time(self.machine.time());
        logged.leads = true;
        self.entry.push(Part::Own(Command::NodeLost { node }));
        self.entry.push(Part::Own(Command::Lead { node }));
        self.close_entry();
        let Some(logged) = &mut self.logged else { return };
        if let Some(started) = logged.started.take() {
            logged.waiting.push_back(Waiting::Started { answer: started });
        }
    }

    fn ask_what_waited(&mut self) {
        while let Some(logged) = &mut self.logged
            && matches!(logged.waiting.front(), Some(waiting) if !waiting.is_proposal())
            && let Some(waiting) = logged.waiting.pop_front()
        {
            self.ask(waiting);
        }
    }

    /// Does it now if nothing is before it.
    pub(super) fn wait_or(&mut self, waiting: Waiting) {
        match &mut self.logged {
            Some(logged) if logged.has_waiting() => logged.waiting.push_back(waiting),
            _ => self.ask(waiting),
        }
    }

    pub(super) fn ask(&mut self, waiting: Waiting) {
        let is_heard = match waiting {
            Waiting::Entry(_) | Waiting::Chunk => true,
            Waiting::Inspect { groups, answer } => {
                answer.send(super::inspect::inspect(&self.machine, &self.attached, groups)).is_ok()
            }
            // Nobody is told that something is done of which that is not known.
            Waiting::Barrier { .. } if self.is_stopped => true,
            Waiting::Barrier { answer } => answer.send(()).is_ok(),
            Waiting::Started { answer } => answer.send(Ok(())).is_ok(),
            Waiting::Reconcile { wanted, upto, answer } => {
                self.reconcile(wanted, upto);
                self.wait_or(Waiting::Barrier { answer });
                true
            }
        };
        if !is_heard {
            tracing::debug!("nobody waits for the answer any more");
        }
    }

    /// Makes the groups that are wanted and not here, and deletes those that are here, were made by the catalog (their
    /// ids are at most `upto`) and are not wanted: their deletion was committed and did not get here (SPEC section 8, P3).
    fn reconcile(&mut self, wanted: Vec<(GroupId, GroupConfig)>, upto: GroupId) {
        let mut wanted: HashMap<GroupId, GroupConfig> = wanted.into_iter().collect();
        for group in self.machine.group_ids() {
            if wanted.remove(&group).is_none() && group <= upto {
                self.own(Command::DeleteGroup { group, if_unused: false, if_empty: false });
            }
        }
        let mut missing: Vec<(GroupId, GroupConfig)> = wanted.into_iter().collect();
        missing.sort_unstable_by_key(|(group, _)| *group);
        for (group, config) in missing {
            self.own(Command::CreateGroup { group, config: Box::new(config) });
        }
        self.close_entry();
    }

    fn own(&mut self, command: Command) {
        self.push_own(Part::Own(command));
    }
}
