//! What came is gathered into entries of bounded size; publishes are held back while the disk is full. Settles, detaches
//! and deletes never are: they are what makes room.

use std::sync::Arc;

use braid_machine::Refused;

use super::applying::attaches;
use super::entry::Part;
use super::owner::Owner;
use super::sizes::{command_bytes, message_bytes};
use crate::Submission;
use crate::limits::{ENTRY_BYTES_MAX, ENTRY_COMMANDS_MAX};
use crate::work::Task;

/// What has to be known of a submission before it goes into an entry.
#[derive(Clone, Copy, Debug, Default)]
struct Measure {
    bytes: usize,
    has_messages: bool,
}

impl Measure {
    fn of(submission: &Submission, mut attaching: impl FnMut()) -> Self {
        let mut measure = Self::default();
        for task in &submission.tasks {
            measure.bytes += bytes_of(task);
            if task.message.is_some() {
                measure.has_messages = true;
            } else if attaches(&task.command) {
                attaching();
            }
        }
        measure
    }
}

impl Owner {
    /// Takes a submission.
    pub(super) fn gather(&mut self, submission: Submission) {
        let attached = &mut self.attached;
        let measure = Measure::of(&submission, || attached.begin(&submission.from));
        self.add(submission, measure);
    }

    /// Takes submissions that were held back while the disk was full.
    pub(super) fn gather_held(&mut self, held: impl IntoIterator<Item = Submission>) {
        for submission in held {
            let measure = Measure::of(&submission, || {});
            self.add(submission, measure);
        }
        self.close_entry();
    }

    fn add(&mut self, submission: Submission, measure: Measure) {
        let Some(submission) = self.hold_back(submission, measure.has_messages) else { return };
        let fits = self.entry.bytes + measure.bytes <= self.entry_bytes_max()
            && self.entry.commands + submission.tasks.len() <= ENTRY_COMMANDS_MAX
            && measure.bytes <= self.chunk_bytes();
        if fits {
            self.entry.push_submitted(submission, measure.bytes);
        } else {
            self.divide(submission);
        }
    }

    fn chunk_bytes(&self) -> usize {
        self.logged.as_ref().map_or(usize::MAX, |logged| logged.chunk_bytes())
    }

    fn entry_bytes_max(&self) -> usize {
        self.logged.as_ref().map_or(ENTRY_BYTES_MAX, |logged| logged.entry_bytes_max())
    }

    /// Puts something of the partition's own into the entry, which ends where it would become too large.
    pub(super) fn push_own(&mut self, part: Part) {
        self.entry.push(part);
        if self.entry.commands >= ENTRY_COMMANDS_MAX || self.entry.bytes >= self.entry_bytes_max() {
            self.close_entry();
        }
    }

    /// Puts a submission into entries, cut where one would become too large. A message with chunks is alone in its entry.
    fn divide(&mut self, submission: Submission) {
        let entry_bytes_max = self.entry_bytes_max();
        let alone_bytes = self.chunk_bytes().min(entry_bytes_max);
        let mut rest = Some(submission);
        while let Some(mut submission) = rest.take() {
            let room = ENTRY_COMMANDS_MAX.saturating_sub(self.entry.commands);
            let (mut count, mut bytes, mut is_alone) = (0, 0, false);
            for task in submission.tasks.iter().take(room) {
                let size_bytes = bytes_of(task);
                let is_large = task.message.as_deref().is_some_and(|message| message_bytes(message) > alone_bytes);
                let is_full = is_large || self.entry.bytes + bytes + size_bytes > entry_bytes_max;
                if is_full && (count > 0 || !self.entry.is_empty()) {
                    break;
                }
                bytes += size_bytes;
                count += 1;
                if is_large {
                    is_alone = true;
                    break;
                }
            }
            if count < submission.tasks.len() {
                let tasks = submission.tasks.split_off(count);
                let in_flight_bytes = std::mem::take(&mut submission.in_flight_bytes);
                rest = Some(Submission { from: Arc::clone(&submission.from), tasks, in_flight_bytes });
            }
            // An empty one still gives back the bytes that it has in flight.
            if count > 0 || rest.is_none() {
                self.entry.push_submitted(submission, bytes);
            }
            if rest.is_some() || is_alone {
                self.close_entry();
            }
        }
    }

    /// Takes the publishes out of a submission while there is no room for them on the disk; they wait in order. Gives
    /// back what goes on. A partition that is out of service refuses everything.
    fn hold_back(&mut self, mut submission: Submission, has_messages: bool) -> Option<Submission> {
        if self.is_stopped {
            self.refuse(submission, Refused::Faulted);
            return None;
        }
        let Some(logged) = self.logged.as_mut().filter(|_| has_messages) else { return Some(submission) };
        if logged.held.is_empty() && logged.has_room() {
            return Some(submission);
        }
        self.owned.memory.set_disk_full(true);
        let (held, going): (Vec<_>, Vec<_>) = submission.tasks.drain(..).partition(|task| task.message.is_some());
        let in_flight_bytes = submission.in_flight_bytes;
        let from = Arc::clone(&submission.from);
        logged.held.push_back(Submission { from, tasks: held, in_flight_bytes });
        logged.pump();
        (!going.is_empty()).then_some(Submission { tasks: going, in_flight_bytes: 0, ..submission })
    }
}

/// What a task takes in an entry.
fn bytes_of(task: &Task) -> usize {
    command_bytes(&task.command) + task.message.as_deref().map_or(0, message_bytes)
}

impl super::entry::Entry {
    fn push_submitted(&mut self, submission: Submission, bytes: usize) {
        self.commands += submission.tasks.len();
        self.bytes += bytes;
        self.parts.push(Part::Submitted(submission));
    }
}
