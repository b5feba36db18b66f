//! The loop of a partition's owner, and the effect runner that it ends each entry with.

use std::sync::Arc;

use braid_machine::{Command, DropReason, Effect, Owner as MemberOwner, Partition, Refused, Reply};
use braid_types::{
    ConnectionId, DeliveryId, GroupId, LogIndex, Machine, MemberId, MessageId, Outcome, Stamp, Term, UnackedOnEnd,
};
use bytes::Bytes;
use smallvec::SmallVec;
use tokio::sync::mpsc;

use super::attached::{Attached, AttachedMember};
use super::round::Round;
use super::{Job, Owned, PartitionNote};
use crate::bodies::Bodies;
use crate::limits::ROUND_SUBMISSIONS_MAX;
use crate::mailbox::{Item, Mailbox};
use crate::work::{Answer, OnLoss, Submission, Task};

/// The owner of one partition.
pub(super) struct Owner {
    machine: Partition,
    bodies: Bodies,
    attached: Attached,
    owned: Owned,
    index: LogIndex,
    effects: Vec<Effect>,
    /// Items of this round, per receiver.
    round: Round,
    /// In-flight bytes of this round, per sender.
    released: Vec<(Arc<Mailbox>, usize)>,
    added_bytes: usize,
    removed_bytes: usize,
    tally: Tally,
}

/// Counts of this round.
#[derive(Debug, Default)]
struct Tally {
    enqueued: u64,
    delivered: u64,
    settled: u64,
}

impl Owner {
    pub(super) fn new(machine: Partition, owned: Owned) -> Self {
        Self {
            machine,
            bodies: Bodies::default(),
            attached: Attached::default(),
            owned,
            index: LogIndex(0),
            effects: Vec::new(),
            round: Round::default(),
            released: Vec::new(),
            added_bytes: 0,
            removed_bytes: 0,
            tally: Tally::default(),
        }
    }

    pub(super) async fn run(mut self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut taken = Vec::with_capacity(ROUND_SUBMISSIONS_MAX);
        loop {
            let clock = self.owned.clock;
            let deadline = self.machine.next_deadline().map(|time| clock.instant_of(time.plus_ms(1)));
            let due = tokio::time::sleep_until(deadline.unwrap_or_else(std::time::Instant::now).into());
            tokio::select! {
                biased;
                count = jobs.recv_many(&mut taken, ROUND_SUBMISSIONS_MAX) => {
                    if count == 0 {
                        return;
                    }
                }
                () = due, if deadline.is_some() => self.tick(),
            }
            for job in taken.drain(..) {
                self.job(job);
            }
            self.end_round();
        }
    }

    /// An entry that says only what time it is: something expires, times out, or is to be tried again.
    fn tick(&mut self) {
        let stamp = self.open_entry();
        self.machine.apply(stamp, Command::Tick, &mut self.effects);
        self.run_effects();
        self.close_entry();
    }

    fn job(&mut self, job: Job) {
        match job {
            Job::Submit(submission) => self.submission(submission),
            Job::ConnectionClosed { connection, kept } => self.connection_closed(connection, &kept),
            Job::Inspect { groups, answer } => {
                let inspected = super::inspect::inspect(&self.machine, &self.attached, groups);
                if answer.send(inspected).is_err() {
                    tracing::debug!("nobody waits for the listing any more");
                }
            }
        }
    }

    fn submission(&mut self, submission: Submission) {
        let Submission { from, tasks, in_flight_bytes } = submission;
        let stamp = self.open_entry();
        for (position, task) in (0u32..).zip(tasks) {
            self.task(Stamp { position, ..stamp }, &from, task);
        }
        self.close_entry();
        if in_flight_bytes > 0 {
            match self.released.iter_mut().find(|(mailbox, _)| Arc::ptr_eq(mailbox, &from)) {
                Some((_, bytes)) => *bytes += in_flight_bytes,
                None => self.released.push((from, in_flight_bytes)),
            }
        }
    }

    fn open_entry(&mut self) -> Stamp {
        self.index = LogIndex(self.index.0 + 1);
        self.bodies.open(self.index);
        Stamp { index: self.index, position: 0, term: Term(1), time: self.owned.clock.now() }
    }

    fn close_entry(&mut self) {
        self.bodies.close();
    }

    fn task(&mut self, stamp: Stamp, from: &Arc<Mailbox>, task: Task) {
        let Task { command, message, answer } = task;
        if let Some(message) = message {
            self.added_bytes += self.bodies.insert(stamp.position, message);
        }
        // A member's first deliveries come out of its attach; they must find the mailbox.
        match &answer {
            Answer::Attach { .. } | Answer::AttachSession(_) | Answer::Get { .. } => {
                self.attached.register(from);
            }
            Answer::Silent
            | Answer::Confirm { .. }
            | Answer::ConfirmPart { .. }
            | Answer::Detach { .. }
            | Answer::Once(_) => {}
        }
        match &command {
            Command::Enqueue { groups, .. } | Command::EnqueueOnce { groups, .. } => {
                self.tally.enqueued += groups.len() as u64;
            }
            Command::Settle { deliveries, .. } => self.tally.settled += deliveries.len() as u64,
            _ => {}
        }
        let ended = ended_member(&command);
        let resumed = if let Command::Resume { group, member, .. } = &command {
            self.attached.register(from);
            Some((*group, *member))
        } else {
            None
        };
        let group = command_group(&command);
        let reply = self.machine.apply(stamp, command, &mut self.effects);
        if let (Some((group, member)), Reply::Done) = (resumed, reply) {
            let label = Bytes::new();
            let attached = AttachedMember { group, on_loss: OnLoss::Pause, is_lingering: false, label };
            self.attached.insert(from, member, attached);
        }
        self.answer(from, answer, group, reply);
        self.run_effects();
        if let Some((group, member)) = ended {
            self.member_may_have_ended(from.connection(), group, member);
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

    fn answer(&mut self, from: &Arc<Mailbox>, answer: Answer, group: GroupId, reply: Reply) {
        let refused = if let Reply::Refused(refused) = reply { Some(refused) } else { None };
        match answer {
            Answer::Silent => {}
            Answer::Confirm { ticket } => self.push(from, Item::Confirmed { ticket, refused }),
            Answer::ConfirmPart { join } => self.push(from, Item::ConfirmedPart { join, refused }),
            Answer::Attach { attachment, on_loss, label } => {
                let attached = AttachedMember { group, on_loss, is_lingering: false, label };
                let result = self.attach(from, attached, reply);
                self.push(from, Item::Attached { attachment, result });
            }
            Answer::AttachSession(waiting) => {
                let label = Bytes::new();
                let attached = AttachedMember { group, on_loss: OnLoss::Pause, is_lingering: false, label };
                let result = self.attach(from, attached, reply);
                // The connection must know the member before its first deliveries, which follow now.
                self.push(from, Item::Attached { attachment: 0, result });
                if waiting.send(result).is_err() {
                    tracing::debug!("nobody waits for the session's member any more");
                }
            }
            Answer::Detach { attachment } => self.push(from, Item::Detached { attachment }),
            Answer::Get { ticket, attachment, on_loss } => {
                let taken = match reply {
                    Reply::Got { taken: Some(taken) } => {
                        if self.machine.has_member(group, taken.member) {
                            let attached = AttachedMember::of_get(group, on_loss);
                            self.attached.insert(from, taken.member, attached);
                        }
                        Ok(self.bodies.get(taken.message).map(|message| (taken, message)))
                    }
                    Reply::Got { taken: None } => Ok(None),
                    other => Err(refusal_of(other)),
                };
                self.push(from, Item::Got { ticket, attachment, taken });
            }
            Answer::Once(waiting) => {
                if waiting.send(reply).is_err() {
                    tracing::debug!("nobody waits for the reply any more");
                }
            }
        }
    }

    fn attach(&mut self, from: &Arc<Mailbox>, attached: AttachedMember, reply: Reply) -> Result<MemberId, Refused> {
        let Reply::Attached { member } = reply else { return Err(refusal_of(reply)) };
        self.attached.insert(from, member, attached);
        Ok(member)
    }

    /// First every member of the connection stops, then what they held ends: nothing goes back only to be handed to
    /// another member of the same lost connection.
    fn connection_closed(&mut self, connection: ConnectionId, kept: &[DeliveryId]) {
        let mut members = self.attached.remove(connection);
        // A member that was resumed elsewhere before this loss was noticed is not this connection's any more.
        members.retain(|(member, attached)| {
            attached.on_loss != OnLoss::Pause || self.owner_of(attached.group, *member) == Some(connection)
        });
        if members.is_empty() {
            return;
        }
        let stamp = self.open_entry();
        let mut positions = 0u32..;
        for (member, attached) in &members {
            let (group, member) = (attached.group, *member);
            let command = match attached.on_loss {
                OnLoss::Detach(_) => Command::Detach { group, member, unacked: UnackedOnEnd::Keep },
                OnLoss::Pause => Command::Pause { group, member },
            };
            self.apply_own(Stamp { position: positions.next().unwrap_or(u32::MAX), ..stamp }, command);
        }
        for (member, attached) in &members {
            let (group, member) = (attached.group, *member);
            let stamp = Stamp { position: positions.next().unwrap_or(u32::MAX), ..stamp };
            match attached.on_loss {
                OnLoss::Detach(outcome) => {
                    let unacked = UnackedOnEnd::Settle(outcome);
                    self.apply_own(stamp, Command::Detach { group, member, unacked });
                }
                OnLoss::Pause => self.take_back_unseen(stamp, group, member, kept),
            }
        }
        self.close_entry();
    }

    fn owner_of(&self, group: GroupId, member: MemberId) -> Option<ConnectionId> {
        let view = self.machine.group(group)?;
        view.members().find(|known| known.id == member).map(|known| known.owner.connection)
    }

    /// Applies a command of the partition's own, whose reply nobody waits for.
    fn apply_own(&mut self, stamp: Stamp, command: Command) {
        self.machine.apply(stamp, command, &mut self.effects);
        self.run_effects();
    }

    /// What was on its way to a session's client when the connection was lost, and is not in what the session keeps,
    /// goes back to the group, which sends it again when the client is back.
    fn take_back_unseen(&mut self, stamp: Stamp, group: GroupId, member: MemberId, kept: &[DeliveryId]) {
        let mut kept = kept.to_vec();
        kept.sort_unstable();
        let unseen: SmallVec<[DeliveryId; 4]> =
            self.machine.unacked(group, member).filter(|id| kept.binary_search(id).is_err()).collect();
        if !unseen.is_empty() {
            self.apply_own(stamp, Command::Settle { group, member, deliveries: unseen, outcome: Outcome::Released });
        }
    }

    fn run_effects(&mut self) {
        let mut effects = std::mem::take(&mut self.effects);
        let counters = Arc::clone(&self.owned.counters);
        for effect in effects.drain(..) {
            match effect {
                Effect::Deliver { owner, delivery, message, redelivered, delivery_count, settled, .. } => {
                    self.deliver(owner, delivery, message, redelivered, delivery_count, settled);
                }
                Effect::Forget { message } => self.removed_bytes += self.bodies.forget(message),
                Effect::Dropped { reason, .. } => match reason {
                    DropReason::Rejected => counters.messages_dropped_rejected_total.add(1),
                    DropReason::DeliveryLimit => counters.messages_dropped_limit_total.add(1),
                    DropReason::Expired => counters.messages_dropped_expired_total.add(1),
                    DropReason::MaxLength => counters.messages_dropped_overflow_total.add(1),
                    DropReason::Purged | DropReason::GroupDeleted => {}
                },
                Effect::GroupExpired { group } => {
                    if self.owned.notes.send(PartitionNote::Expired(group)).is_err() {
                        tracing::debug!("the node has stopped");
                    }
                }
                Effect::MemberOverdue { group, deliveries, .. } => {
                    tracing::warn!(?group, deliveries, "a member held deliveries for too long; they went back");
                }
                Effect::Cancelled { owner, member, .. } => {
                    self.attached.remove_member(owner.connection, member);
                    self.hand_to(owner.connection, Item::Cancelled { attachment: owner.attachment });
                }
                Effect::Unused { group } => {
                    if self.owned.notes.send(PartitionNote::Unused(group)).is_err() {
                        tracing::debug!("the node has stopped");
                    }
                }
            }
        }
        self.effects = effects;
    }

    fn deliver(
        &mut self,
        owner: MemberOwner,
        delivery: DeliveryId,
        message: MessageId,
        redelivered: bool,
        delivery_count: u32,
        settled: bool,
    ) {
        let Some(message) = self.bodies.get(message) else {
            tracing::error!(?message, "a delivered message has no body; the delivery is skipped");
            self.owned.counters.groups_faulted_total.add(1);
            return;
        };
        self.tally.delivered += 1;
        self.tally.settled += u64::from(settled);
        let attachment = owner.attachment;
        self.hand_to(
            owner.connection,
            Item::Deliver { attachment, delivery, settled, redelivered, delivery_count, message },
        );
    }

    fn hand_to(&mut self, connection: ConnectionId, item: Item) {
        let attached = &self.attached;
        self.round.push_to(connection, item, || attached.mailbox(connection));
    }

    fn push(&mut self, to: &Arc<Mailbox>, item: Item) {
        self.round.push_to(to.connection(), item, || Some(to));
    }

    fn end_round(&mut self) {
        self.round.flush();
        // Before publishers are woken: they look at it.
        self.owned.memory.update(self.added_bytes, self.removed_bytes);
        for (mailbox, bytes) in self.released.drain(..) {
            mailbox.release_in_flight(bytes);
        }
        self.added_bytes = 0;
        self.removed_bytes = 0;
        let tally = std::mem::take(&mut self.tally);
        self.owned.counters.messages_enqueued_total.add(tally.enqueued);
        self.owned.counters.messages_delivered_total.add(tally.delivered);
        self.owned.counters.messages_settled_total.add(tally.settled);
    }
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

fn command_group(command: &Command) -> GroupId {
    match command {
        Command::Attach { group, .. } | Command::Get { group, .. } => *group,
        _ => GroupId(0),
    }
}

fn refusal_of(reply: Reply) -> Refused {
    if let Reply::Refused(refused) = reply { refused } else { Refused::Faulted }
}
