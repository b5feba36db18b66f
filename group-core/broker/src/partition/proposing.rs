//! From what came to an entry of the log: group sets are named, times translated, and publishes held back while the disk
//! is full. Settles, detaches and deletes never are: they are what makes room.

use braid_machine::{Command, Groups, Refused};

use super::entry::{Entry, Part};
use super::logged::{Logged, Waiting, define};
use super::owner::Owner;
use crate::Submission;
use crate::limits::GROUP_SET_MIN;

impl Owner {
    /// Sends an entry to the log.
    pub(super) fn propose(&mut self, mut entry: Entry) {
        let Some(logged) = &mut self.logged else { return };
        let mut defined = Entry::new();
        let (wall, now) = (self.owned.clock.now(), logged.now());
        for part in &mut entry.parts {
            let Part::Submitted(submission) = part else { continue };
            for task in &mut submission.tasks {
                let (Command::Enqueue { groups, message } | Command::EnqueueOnce { groups, message, .. }) =
                    &mut task.command
                else {
                    continue;
                };
                message.expires_at = message.expires_at.map(|time| Logged::of_wall(time, wall, now));
                if let Groups::These(these) = &*groups
                    && these.len() >= GROUP_SET_MIN
                {
                    let (set, is_new) = logged.sets.name(these);
                    if is_new {
                        defined.push(Part::Own(define(set, these)));
                    }
                    *groups = Groups::Set(set);
                }
            }
        }
        if !defined.is_empty() {
            defined.time = now;
            logged.submit(defined);
        }
        entry.time = now;
        logged.submit(entry);
    }

    /// Takes the publishes out of a submission while there is no room for them on the disk; they wait in order. Gives
    /// back what goes on. A partition that is out of service refuses everything.
    pub(super) fn hold_back(&mut self, mut submission: Submission) -> Option<Submission> {
        if self.is_stopped {
            self.refuse(submission);
            return None;
        }
        let Some(logged) = &mut self.logged else { return Some(submission) };
        let brings_messages = submission.tasks.iter().any(|task| task.message.is_some());
        if !brings_messages || (logged.held.is_empty() && logged.has_room()) {
            return Some(submission);
        }
        self.owned.memory.set_disk_full(true);
        let (held, going): (Vec<_>, Vec<_>) = submission.tasks.drain(..).partition(|task| task.message.is_some());
        let in_flight_bytes = submission.in_flight_bytes;
        let from = std::sync::Arc::clone(&submission.from);
        logged.held.push_back(Submission { from, tasks: held, in_flight_bytes });
        logged.pump();
        (!going.is_empty()).then_some(Submission { tasks: going, in_flight_bytes: 0, ..submission })
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
        for submission in held {
            self.add(submission);
        }
        self.close_entry();
    }

    /// The log has stopped: what waited for it is refused, and members are told that they get nothing more.
    pub(super) fn stop_serving(&mut self, error: &braid_replica::Error) {
        let Some(logged) = self.logged.as_mut().filter(|_| !self.is_stopped) else { return };
        self.is_stopped = true;
        tracing::error!(partition = self.id.0, %error, "a partition is out of service");
        self.owned.counters.partitions_out_of_service.add(1);
        let started = logged.started.take();
        let (waiting, held) = logged.give_up();
        for waiting in waiting {
            match waiting {
                Waiting::Entry(entry) => self.refuse_entry(entry),
                Waiting::Chunk => {}
                other => self.ask(other),
            }
        }
        for submission in held {
            self.refuse(submission);
        }
        self.cancel_all();
        if let Some(started) = started
            && started.send(Err(error.clone())).is_err()
        {
            tracing::debug!("nobody waits for the partition");
        }
    }

    pub(super) fn refuse_entry(&mut self, entry: Entry) {
        for part in entry.parts {
            match part {
                Part::Submitted(submission) => self.refuse(submission),
                Part::Own(_) => {}
                Part::Lost { connection, .. } => self.attached.remove(connection),
            }
        }
    }

    fn refuse(&mut self, submission: Submission) {
        let Submission { from, tasks, in_flight_bytes } = submission;
        for task in tasks {
            let group = super::applying::command_group(&task.command);
            self.answer(&from, task.answer, group, braid_machine::Reply::Refused(Refused::Faulted));
        }
        self.release(from, in_flight_bytes);
    }
}
