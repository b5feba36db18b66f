//! From an entry to the log: group sets are named, times translated. And what happens when the log cannot go on.

use braid_machine::{Command, GroupSetId, Groups, Refused};
use braid_types::GroupId;

use super::entry::{Entry, Part};
use super::group_sets::Names;
use super::logged::{Logged, Waiting};
use super::owner::Owner;
use crate::Submission;
use crate::limits::GROUP_SET_MIN;

/// A group in the definition of a set, with room.
const SET_GROUP_BYTES: usize = 12;

impl Owner {
    /// Sends an entry to the log.
    pub(super) fn propose(&mut self, mut entry: Entry) {
        let Some(logged) = &mut self.logged else { return };
        let (wall, now) = (self.owned.clock.now(), logged.now());
        let mut defined = Entry::new();
        let mut names = Names::default();
        let set_groups_max = logged.entry_bytes_max() / SET_GROUP_BYTES;
        let sets = &mut logged.sets;
        let encoded = entry.encode(now, logged.chunk_bytes, |command| {
            let (Command::Enqueue { groups, message } | Command::EnqueueOnce { groups, message, .. }) = command else {
                return;
            };
            if let Some(time) = message.expires_at {
                message.expires_at = Some(Logged::of_wall(time, wall, now));
            }
            if let Groups::These(these) = &*groups
                && (GROUP_SET_MIN..=set_groups_max).contains(&these.len())
                && let Some((set, is_new)) = sets.name(these, &mut names)
            {
                if is_new {
                    defined.push(define(set, these));
                }
                *groups = Groups::Set(set);
            }
        });
        if !defined.is_empty() {
            let encoded = defined.encode(now, logged.chunk_bytes, |_| {});
            logged.submit(defined, encoded);
        }
        let may_be_too_large = entry.bytes > logged.entry_bytes_max();
        if may_be_too_large && !encoded.iter().all(|proposal| logged.fits(proposal)) {
            tracing::warn!(partition = self.id.0, bytes = entry.bytes, "a command is too large for the log");
            return self.refuse_entry(entry, Refused::LimitReached);
        }
        logged.submit(entry, encoded);
    }

    /// What could not be taken is tried again.
    pub(super) fn retry(&mut self) {
        let Some(logged) = &mut self.logged else { return };
        logged.pump();
        if logged.held.is_empty() || !logged.has_room() || !logged.takes_entries() {
            return;
        }
        self.owned.memory.set_disk_full(false);
        let held = std::mem::take(&mut logged.held);
        self.gather_held(held);
    }

    /// Steps down if the log has failed.
    pub(super) fn check_log(&mut self) {
        if let Some(Err(error)) = self.logged.as_ref().map(|logged| logged.wal.check()) {
            self.stop_serving(&braid_replica::Error::Failed(error.to_string()));
        }
    }

    /// The log has stopped: what waited for it is refused, and members are told that they get nothing more.
    pub(super) fn stop_serving(&mut self, error: &braid_replica::Error) {
        let Some(logged) = self.logged.as_mut().filter(|_| !self.is_stopped) else { return };
        self.is_stopped = true;
        tracing::error!(partition = self.id.0, %error, "a partition is out of service");
        self.owned.counters.partitions_out_of_service.add(1);
        let started = logged.started.take();
        let (waiting, held) = logged.give_up();
        if !held.is_empty() {
            // Other partitions that have no room say so again.
            self.owned.memory.set_disk_full(false);
        }
        for waiting in waiting {
            match waiting {
                Waiting::Entry(entry) => self.refuse_entry(entry, Refused::Faulted),
                Waiting::Chunk => {}
                other => self.ask(other),
            }
        }
        for submission in held {
            self.refuse(submission, Refused::Faulted);
        }
        self.cancel_all();
        if let Some(started) = started
            && started.send(Err(error.clone())).is_err()
        {
            tracing::debug!("nobody waits for the partition");
        }
    }

    pub(super) fn refuse_entry(&mut self, entry: Entry, why: Refused) {
        for part in entry.parts {
            match part {
                Part::Submitted(submission) => self.refuse(submission, why),
                Part::Own(_) => {}
                Part::Lost { connection, .. } => self.attached.remove(connection),
            }
        }
    }

    pub(super) fn refuse(&mut self, submission: Submission, why: Refused) {
        let Submission { from, tasks, in_flight_bytes } = submission;
        for task in tasks {
            let group = super::applying::command_group(&task.command);
            self.answer(&from, task.answer, group, braid_machine::Reply::Refused(why));
        }
        self.release(from, in_flight_bytes);
    }
}

fn define(set: GroupSetId, groups: &[GroupId]) -> Part {
    Part::Own(Command::DefineGroupSet { set, groups: groups.to_vec() })
}
