//! Applies entries to the machine and answers those who asked. What follows from it is in `effects`.

use std::sync::Arc;

use braid_machine::{Command, Groups, Refused, Reply};
use braid_types::{ConnectionId, GroupId, Machine, MemberId, Stamp};
use bytes::Bytes;

use super::attached::AttachedMember;
use super::entry::{Decoded, Entry, Part};
use super::owner::Owner;
use crate::Submission;
use crate::mailbox::{Item, Mailbox};
use crate::work::{Answer, Task};

impl Owner {
    /// Applies an entry of this run, with all that comes of it. `self.index` and `self.term` are its own.
    pub(super) fn apply_entry(&mut self, entry: Entry) {
        let mut stamp = Stamp { index: self.index, position: entry.first_position, term: self.term, time: entry.time };
        self.bodies.open(self.index);
        let submissions = entry.parts.len();
        for part in entry.parts {
            match part {
                Part::Submitted(Submission { from, tasks, in_flight_bytes }) => {
                    for task in tasks {
                        self.task(stamp, &from, task);
                        stamp.position += 1;
                    }
                    self.release(from, in_flight_bytes);
                }
                Part::Own(command) => {
                    self.apply_own(stamp, command);
                    stamp.position += 1;
                }
                Part::Lost { connection, command } => {
                    self.apply_own(stamp, command);
                    self.attached.remove(connection);
                    stamp.position += 1;
                }
            }
        }
        self.bodies.close(submissions);
    }

    /// Applies an entry of a former run. Nobody waits for it, and its effects were that run's; only what the log need
    /// not keep is noted.
    pub(super) fn apply_decoded(&mut self, entry: Decoded) {
        let mut stamp = Stamp { index: self.index, position: entry.first_position, term: self.term, time: entry.time };
        for command in entry.commands {
            self.machine.apply(stamp, command, &mut self.effects);
            stamp.position += 1;
            self.note_forgotten();
        }
    }

    fn task(&mut self, stamp: Stamp, from: &Arc<Mailbox>, task: Task) {
        let Task { command, message, answer } = task;
        if let Some(message) = message {
            let size_bytes = self.bodies.insert(stamp.position, message);
            if self.logged.is_none() {
                self.added_bytes += size_bytes;
            }
        }
        // A member's first deliveries come out of its attach; they must find the mailbox.
        if attaches(&command) {
            self.attached.register(from);
            self.attached.end(from.connection());
        }
        self.count(&command);
        let ended = ended_member(&command);
        let resumed = if let Command::Resume { group, member, .. } = &command { Some((*group, *member)) } else { None };
        let group = command_group(&command);
        self.letters_end(&command);
        let reply = self.machine.apply(stamp, command, &mut self.effects);
        if let (Some((group, member)), Reply::Done) = (resumed, reply) {
            self.attached.insert(from, member, AttachedMember::of_session(group));
        }
        self.answer(from, answer, group, reply);
        self.run_effects();
        if let Some((group, member)) = ended {
            self.member_may_have_ended(from.connection(), group, member);
        }
    }

    fn count(&mut self, command: &Command) {
        match command {
            Command::Enqueue { groups, .. } | Command::EnqueueOnce { groups, .. } => {
                self.tally.enqueued += match groups {
                    Groups::These(these) => these.len() as u64,
                    Groups::Set(set) => self.machine.group_set(*set).map_or(0, |groups| groups.len() as u64),
                };
            }
            Command::Settle { deliveries, .. } => self.tally.settled += deliveries.len() as u64,
            _ => {}
        }
    }

    fn letters_end(&mut self, command: &Command) {
        match command {
            Command::EndDeadLetters { group, messages } => self.letters.end(*group, messages),
            Command::DeleteGroup { group, .. } => self.letters.drop_group(*group),
            _ => {}
        }
    }

    /// After a detach or settle: a member that is gone from the machine leaves the list.
    fn member_may_have_ended(&mut self, connection: ConnectionId, ended: Ended, member: MemberId) {
        let Some(attached) = self.attached.member(connection, member) else { return };
        if ended == Ended::Detached {
            attached.is_lingering = true;
        }
        if attached.is_lingering && !self.machine.has_member(attached.group, member) {
            self.attached.remove_member(connection, member);
        }
    }

    pub(super) fn answer(&mut self, from: &Arc<Mailbox>, answer: Answer, group: GroupId, reply: Reply) {
        let refused = if let Reply::Refused(refused) = reply { Some(refused) } else { None };
        match answer {
            Answer::Silent => {}
            Answer::Confirm { ticket } => self.push(from, Item::Confirmed { ticket, refused }),
            Answer::ConfirmPart { join } => self.push(from, Item::ConfirmedPart { join, refused }),
            Answer::Attach { attachment, label } => {
                let attached = AttachedMember { group, attachment: Some(attachment), is_lingering: false, label };
                let result = self.attach(from, attached, reply);
                self.push(from, Item::Attached { attachment, result });
            }
            Answer::AttachSession(waiting) => {
                let result = self.attach(from, AttachedMember::of_session(group), reply);
                // The connection must know the member before its first deliveries, which follow now.
                self.push(from, Item::Attached { attachment: 0, result });
                if waiting.send(result).is_err() {
                    tracing::debug!("nobody waits for the session's member any more");
                }
            }
            Answer::SetWindow { attachment } => self.push(from, Item::WindowSet { attachment }),
            Answer::Detach { attachment } => self.push(from, Item::Detached { attachment }),
            Answer::Get { ticket, attachment } => self.answer_get(from, (ticket, attachment), group, reply),
            Answer::Once(waiting) => {
                if waiting.send(reply).is_err() {
                    tracing::debug!("nobody waits for the reply any more");
                }
            }
        }
    }

    fn answer_get(
        &mut self,
        from: &Arc<Mailbox>,
        (ticket, attachment): (braid_types::Ticket, u32),
        group: GroupId,
        reply: Reply,
    ) {
        let (taken, missing) = match reply {
            Reply::Got { taken: Some(taken) } => {
                if self.machine.has_member(group, taken.member) {
                    self.attached.insert(from, taken.member, AttachedMember::of_get(group));
                }
                let (message, missing) = self.message(taken.message);
                (Ok(message.map(|message| (taken, message))), missing)
            }
            Reply::Got { taken: None } => (Ok(None), None),
            other => (Err(refusal_of(other)), None),
        };
        let item = Item::Got { ticket, attachment, taken };
        self.round.push_to(from.connection(), item, missing.map(|message| (group, message)), || Some(from));
    }

    fn attach(&mut self, from: &Arc<Mailbox>, attached: AttachedMember, reply: Reply) -> Result<MemberId, Refused> {
        let Reply::Attached { member } = reply else { return Err(refusal_of(reply)) };
        self.attached.insert(from, member, attached);
        Ok(member)
    }

    /// Applies a command of the partition's own, whose reply nobody waits for.
    fn apply_own(&mut self, stamp: Stamp, command: Command) {
        if matches!(command, Command::Tick)
            && let Some(logged) = &mut self.logged
        {
            logged.has_tick = false;
        }
        self.letters_end(&command);
        self.machine.apply(stamp, command, &mut self.effects);
        self.run_effects();
    }

    /// The sender's publishes have arrived.
    pub(super) fn release(&mut self, from: Arc<Mailbox>, in_flight_bytes: usize) {
        if in_flight_bytes == 0 {
            return;
        }
        match self.released.iter_mut().find(|(mailbox, _)| Arc::ptr_eq(mailbox, &from)) {
            Some((_, bytes)) => *bytes += in_flight_bytes,
            None => self.released.push((from, in_flight_bytes)),
        }
    }

    pub(super) fn push(&mut self, to: &Arc<Mailbox>, item: Item) {
        self.round.push_to(to.connection(), item, None, || Some(to));
    }

    /// Tells all members that they get nothing more.
    pub(super) fn cancel_all(&mut self) {
        for connection in self.attached.take_all() {
            let mut members: Vec<(MemberId, AttachedMember)> = connection.members.into_iter().collect();
            members.sort_unstable_by_key(|(member, _)| *member);
            for attachment in members.iter().filter_map(|(_, member)| member.attachment) {
                self.push(&connection.mailbox, Item::Cancelled { attachment });
            }
        }
    }
}

impl AttachedMember {
    fn of_session(group: GroupId) -> Self {
        Self { group, attachment: None, is_lingering: false, label: Bytes::new() }
    }
}

/// Whether a command may make its sender a member.
pub(super) fn attaches(command: &Command) -> bool {
    matches!(command, Command::Attach { .. } | Command::Get { .. } | Command::Resume { .. })
}

/// How a command may end a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Detached,
    Settled,
}

fn ended_member(command: &Command) -> Option<(Ended, MemberId)> {
    match command {
        Command::Detach { member, .. } => Some((Ended::Detached, *member)),
        Command::Settle { member, .. } => Some((Ended::Settled, *member)),
        _ => None,
    }
}

/// The group that an answer needs to know.
pub(super) fn command_group(command: &Command) -> GroupId {
    match command {
        Command::Attach { group, .. } | Command::Get { group, .. } => *group,
        _ => GroupId(0),
    }
}

fn refusal_of(reply: Reply) -> Refused {
    if let Reply::Refused(refused) = reply { refused } else { Refused::Faulted }
}
