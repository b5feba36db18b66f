//! A naive queue: lists that are scanned, written from the specification and not from the machine. It says what each
//! command must answer and cause, in order.
#![allow(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "the numbers of a test are small")]

use std::collections::BTreeMap;

use braid_machine::{
    Command, Credit, DropReason, Effect, GroupSetId, Groups, MemberConfig, MessageHeader, OnLoss, Overflow, Owner,
    PublishIdentity, Refused, Reply, Strategy, Taken,
};
use braid_types::{ConnectionId, DeliveryId, GroupId, MemberId, MessageId, Outcome, Stamp, Timestamp, UnackedOnEnd};

use group::{Group, Member, Message, State, known, order};

mod consequences;
mod group;

/// The model of a partition.
#[derive(Debug, Default)]
pub(crate) struct Model {
    groups: BTreeMap<GroupId, Group>,
    sets: BTreeMap<GroupSetId, Vec<GroupId>>,
    leading: Option<u64>,
    now: Timestamp,
    id: (braid_types::LogIndex, u32),
    effects: Vec<Effect>,
}

impl Model {
    /// What the machine must answer and cause.
    pub(crate) fn apply(&mut self, stamp: Stamp, command: Command) -> (Reply, Vec<Effect>) {
        self.now = self.now.max(stamp.time);
        self.id = (stamp.index, stamp.position);
        let reply = self.command(command);
        (reply, std::mem::take(&mut self.effects))
    }

    fn command(&mut self, command: Command) -> Reply {
        match command {
            Command::CreateGroup { group, config } => {
                self.groups.entry(group).or_insert_with(|| Group { config: *config, ..Group::default() });
                self.within(group, |model, group, _| {
                    group.last_used = model.now;
                    Reply::Done
                })
            }
            Command::Tick => {
                for group in self.groups.keys().copied().collect::<Vec<_>>() {
                    self.within(group, |_, _, _| Reply::Done);
                }
                Reply::Done
            }
            Command::DeleteGroup { group, if_unused, if_empty } => self.delete(group, if_unused, if_empty),
            Command::Enqueue { groups, message } => self.enqueue_to(&groups, &message, None),
            Command::EnqueueOnce { groups, message, identity } => self.enqueue_to(&groups, &message, Some(&identity)),
            Command::PurgeGroup { group } => self.within(group, |model, group, at| {
                let waiting = group.take_waiting();
                let message_count = waiting.len() as u64;
                waiting.into_iter().for_each(|message| model.drop(group, at, message, DropReason::Purged));
                Reply::Removed { message_count }
            }),
            Command::Attach { group, member } => self.within(group, |model, group, _| model.attach(group, *member)),
            Command::Detach { group, member, unacked } => {
                self.within(group, |model, group, at| model.detach(group, at, member, unacked))
            }
            Command::Pause { group, .. }
            | Command::Resume { group, .. }
            | Command::SetWindow { group, .. }
            | Command::Grant { group, .. } => self.within(group, |model, group, _| model.tell_member(group, &command)),
            Command::Settle { group, member, deliveries, outcome } => self.within(group, |model, group, at| {
                if !group.members.contains_key(&member) {
                    return Reply::Refused(Refused::NoSuchMember);
                }
                for delivery in deliveries {
                    let holder = group.members.get_mut(&member).unwrap();
                    holder.overdue.retain(|overdue| *overdue != delivery);
                    if let Some(message) = holder.unacked.remove(&delivery) {
                        model.end(group, at, message, outcome);
                    }
                }
                Reply::Done
            }),
            Command::Get { group, owner, settled, on_loss } => {
                self.within(group, |model, group, at| model.get(group, at, owner, settled, on_loss))
            }
            Command::Configure { group, config } => self.within(group, |model, group, _| {
                group.configure(*config, model.now);
                Reply::Done
            }),
            Command::DefineGroupSet { set, groups } => {
                self.sets.insert(set, groups);
                self.sets.retain(|_, groups| !groups.is_empty());
                Reply::Done
            }
            Command::EndDeadLetters { group, messages } => {
                self.within(group, |model, group, _| model.end_dead_letters(group, &messages))
            }
            Command::ConnectionLost { node, connection, kept, unsent } => {
                self.connection_lost((node, connection), &kept, &unsent)
            }
            Command::NodeLost { node } => self.lose(|owner| owner.node == node, |_, _, _| Outcome::Released, |_| true),
            Command::Lead { node } => {
                self.leading = Some(node);
                Reply::Done
            }
        }
    }

    fn connection_lost(
        &mut self,
        lost: (u64, ConnectionId),
        kept: &[DeliveryId],
        unsent: &[(u32, DeliveryId)],
    ) -> Reply {
        let outcome_of = |outcome, owner: Owner, delivery| {
            if unsent.contains(&(owner.attachment, delivery)) { Outcome::Released } else { outcome }
        };
        self.lose(|owner| (owner.node, owner.connection) == lost, outcome_of, |delivery| kept.contains(&delivery))
    }

    /// In each group: members are stopped, then each gives back what it has to, then it is seen whether any is left.
    fn lose(
        &mut self,
        is_lost: impl Fn(Owner) -> bool,
        outcome_of: impl Fn(Outcome, Owner, DeliveryId) -> Outcome,
        keeps: impl Fn(DeliveryId) -> bool,
    ) -> Reply {
        for at in self.groups.keys().copied().collect::<Vec<_>>() {
            let lost: Vec<MemberId> = self.groups[&at].ids(|member| is_lost(member.config.owner));
            if lost.is_empty() {
                continue;
            }
            self.within(at, |model, group, at| {
                let had_present = group.members.values().any(Member::present);
                for id in &lost {
                    group.members.get_mut(id).unwrap().stop();
                }
                for id in &lost {
                    let member = group.members.get_mut(id).unwrap();
                    let on_loss = member.config.on_loss;
                    let stays = |delivery: DeliveryId| on_loss == OnLoss::Pause && keeps(delivery);
                    let (kept, ended) =
                        std::mem::take(&mut member.unacked).into_iter().partition(|(delivery, _)| stays(*delivery));
                    member.unacked = kept;
                    let owner = member.config.owner;
                    for (delivery, message) in BTreeMap::into_iter(ended) {
                        let outcome = match on_loss {
                            OnLoss::Detach(outcome) => outcome_of(outcome, owner, delivery),
                            OnLoss::Pause => Outcome::Released,
                        };
                        model.end(group, at, message, outcome);
                    }
                }
                model.tell_unused(group, at, had_present);
                Reply::Done
            });
        }
        Reply::Done
    }

    fn tell_unused(&mut self, group: &mut Group, at: GroupId, had_present: bool) {
        if had_present && !group.members.values().any(Member::present) {
            group.last_used = self.now;
            self.effects.push(Effect::Unused { group: at });
        }
    }

    fn end_dead_letters(&mut self, group: &mut Group, messages: &[MessageId]) -> Reply {
        for message in messages {
            if let Some(place) = group.dead.iter().position(|dead| dead.id == *message) {
                let ended = group.dead.remove(place);
                self.forget(&ended);
            }
        }
        Reply::Done
    }

    /// What a member is told while it is present.
    fn tell_member(&mut self, group: &mut Group, command: &Command) -> Reply {
        let now = self.now;
        match *command {
            Command::Pause { member, .. } => group.with_present(member, |member| {
                member.state = State::Paused;
                Reply::Done
            }),
            Command::Resume { member, owner, messages, .. } => group.with_present(member, |member| {
                member.state = State::Attached;
                member.config.owner = owner;
                member.config.credit = Credit::Window { messages };
                member.unacked.values_mut().for_each(|message| message.since = now);
                member.overdue.clear();
                Reply::Done
            }),
            Command::SetWindow { member, messages, .. } => group.with_present(member, |member| {
                let Credit::Window { .. } = member.config.credit else {
                    return Reply::Refused(Refused::NoSuchMember);
                };
                member.config.credit = Credit::Window { messages };
                Reply::Done
            }),
            Command::Grant { member, messages: more, bytes: more_bytes, .. } => group.with_present(member, |member| {
                let Credit::Granted { messages, bytes } = &mut member.config.credit else {
                    return Reply::Refused(Refused::NoSuchMember);
                };
                *messages = messages.saturating_add(more);
                *bytes = bytes.saturating_add(more_bytes);
                Reply::Done
            }),
            _ => unreachable!("not for a member"),
        }
    }

    /// Carries out `work` in a group, and what follows from it.
    fn within(&mut self, at: GroupId, work: impl FnOnce(&mut Self, &mut Group, GroupId) -> Reply) -> Reply {
        let Some(mut group) = self.groups.remove(&at) else { return Reply::Refused(Refused::NoSuchGroup) };
        let reply = work(self, &mut group, at);
        group.elect();
        group.line_up();
        self.keep_time(&mut group, at);
        group.elect();
        group.line_up();
        self.dispatch(&mut group, at);
        self.limit(&mut group, at);
        self.groups.insert(at, group);
        reply
    }

    fn enqueue_to(&mut self, groups: &Groups, header: &MessageHeader, identity: Option<&PublishIdentity>) -> Reply {
        let set = match groups {
            Groups::These(groups) => return self.enqueue(groups, header, identity),
            Groups::Set(set) => set,
        };
        if let Some(groups) = self.sets.get(set).cloned() {
            return self.enqueue(&groups, header, identity);
        }
        self.effects.push(Effect::Forget { message: MessageId { index: self.id.0, position: self.id.1 } });
        Reply::Refused(Refused::NoSuchGroup)
    }

    fn enqueue(&mut self, groups: &[GroupId], header: &MessageHeader, identity: Option<&PublishIdentity>) -> Reply {
        let id = MessageId { index: self.id.0, position: self.id.1 };
        let mut refused = false;
        let (mut taken, mut asked): (Vec<GroupId>, Vec<GroupId>) = (Vec::new(), Vec::new());
        for at in groups {
            if asked.contains(at) || !self.groups.contains_key(at) {
                continue;
            }
            asked.push(*at);
            taken.push(*at);
            let before = self.effects.len();
            let reply = self.within(*at, |model, group, at| {
                if identity.is_some_and(|identity| group.knows(identity, model.now)) {
                    // The first one is in the group, or was.
                    if groups.len() == 1 {
                        model.effects.push(Effect::Forget { message: id });
                    }
                    return Reply::Done;
                }
                if group.rejecting {
                    if group.config.overflow == Overflow::RejectPublishDeadLetter {
                        let reason = DropReason::MaxLength;
                        let kept = group.config.keeps_dead_letters;
                        model.effects.push(Effect::Dropped { group: at, message: id, reason, delivery_count: 0, kept });
                        let message = Message { id, header: header.clone(), acquired: 0, failed: 0, since: model.now };
                        group.dead.extend(Some(message).filter(|_| kept));
                    }
                    return Reply::Refused(Refused::LimitReached);
                }
                identity.into_iter().for_each(|identity| group.remember(identity, model.now));
                let mut header = header.clone();
                header.priority = header.priority.min(group.config.priority_max.unwrap_or(31));
                if let Some(ttl_ms) = group.config.message_ttl_ms {
                    let until = model.now.plus_ms(ttl_ms);
                    header.expires_at = Some(header.expires_at.map_or(until, |expiry| expiry.min(until)));
                }
                group.ready.push(Message { id, header, acquired: 0, failed: 0, since: model.now });
                Reply::Done
            });
            if reply != Reply::Done {
                refused = true;
                taken.pop();
            }
            if groups.len() > 1 {
                // The groups that are still to take it hold it already, as far as forgetting it is concerned.
                let mut own = self.effects.split_off(before);
                own.retain(|effect| *effect != Effect::Forget { message: id });
                self.effects.append(&mut own);
            }
        }
        if (taken.is_empty() || groups.len() > 1) && !self.holds(id) {
            self.effects.push(Effect::Forget { message: id });
        }
        if refused {
            return Reply::Refused(Refused::LimitReached);
        }
        Reply::Enqueued { groups: taken.len() as u32 }
    }

    fn delete(&mut self, at: GroupId, if_unused: bool, if_empty: bool) -> Reply {
        let Some(group) = self.groups.get(&at) else { return Reply::Refused(Refused::NoSuchGroup) };
        if if_unused && group.members.values().any(Member::present) {
            return Reply::Refused(Refused::InUse);
        }
        if if_empty && !(group.ready.is_empty() && group.delayed.is_empty()) {
            return Reply::Refused(Refused::NotEmpty);
        }
        let mut group = self.groups.remove(&at).unwrap();
        let mut messages = group.take_waiting();
        let message_count = messages.len() as u64;
        messages.extend(group.members.values().flat_map(|member| member.unacked.values().cloned()));
        messages.append(&mut group.dead);
        messages.sort_by_key(|message| message.id);
        messages.into_iter().for_each(|message| self.drop(&mut group, at, message, DropReason::GroupDeleted));
        for (id, member) in group.members.iter().filter(|(_, member)| member.present()) {
            self.effects.push(Effect::Cancelled { owner: member.config.owner, group: at, member: *id });
        }
        Reply::Removed { message_count }
    }

    fn attach(&mut self, group: &mut Group, config: MemberConfig) -> Reply {
        let mut present = group.members.values().filter(|member| member.present());
        if present.clone().any(|member| member.config.exclusive) {
            return Reply::Refused(Refused::Exclusive);
        }
        if config.exclusive && present.next().is_some() {
            return Reply::Refused(Refused::InUse);
        }
        let mut filters = group.filters();
        filters.extend(config.filter.iter().filter(|filter| !known(&filters, filter)).cloned().collect::<Vec<_>>());
        if filters.len() > 64 {
            return Reply::Refused(Refused::LimitReached);
        }
        let member = MemberId { index: self.id.0, position: self.id.1 };
        let attached = Member {
            config,
            state: State::Attached,
            next: 0,
            unacked: BTreeMap::new(),
            overdue: Vec::new(),
            chosen: !group.config.single_active,
            quiescing: false,
        };
        group.members.insert(member, attached);
        Reply::Attached { member }
    }

    fn detach(&mut self, group: &mut Group, at: GroupId, id: MemberId, unacked: UnackedOnEnd) -> Reply {
        let Some(member) = group.members.get_mut(&id) else { return Reply::Refused(Refused::NoSuchMember) };
        let was_present = member.present();
        if member.state == State::Paused {
            member.unacked.values_mut().for_each(|message| message.since = self.now);
        }
        member.state = State::Ended;
        member.overdue.clear();
        if let UnackedOnEnd::Settle(outcome) = unacked {
            for (_, message) in std::mem::take(&mut member.unacked) {
                self.end(group, at, message, outcome);
            }
        }
        self.tell_unused(group, at, was_present);
        Reply::Done
    }

    fn get(&mut self, group: &mut Group, at: GroupId, owner: Owner, settled: bool, on_loss: Outcome) -> Reply {
        if group.config.single_active || group.config.strategy == Strategy::Key {
            return Reply::Refused(Refused::Exclusive);
        }
        group.last_used = self.now;
        self.expire(group, at);
        let Some(first) = (0..group.ready.len()).min_by_key(|place| order(&group.ready[*place])) else {
            return Reply::Got { taken: None };
        };
        let mut message = group.ready.remove(first);
        let member = MemberId { index: self.id.0, position: self.id.1 };
        let taken = Taken {
            member,
            delivery: DeliveryId(0),
            message: message.id,
            redelivered: message.acquired > 0,
            delivery_count: message.failed,
            remaining: group.ready.len() as u64,
        };
        message.acquired += 1;
        message.since = self.now;
        if settled {
            self.forget(&message);
        } else {
            let credit = Credit::Window { messages: 1 };
            let on_loss = OnLoss::Detach(on_loss);
            let config = MemberConfig { owner, credit, priority: 0, exclusive: false, filter: None, on_loss };
            let unacked = BTreeMap::from([(DeliveryId(0), message)]);
            group.members.insert(
                member,
                Member {
                    config,
                    state: State::Ended,
                    next: 1,
                    unacked,
                    overdue: Vec::new(),
                    chosen: false,
                    quiescing: false,
                },
            );
        }
        Reply::Got { taken: Some(taken) }
    }

    fn end(&mut self, group: &mut Group, at: GroupId, mut message: Message, outcome: Outcome) {
        match outcome {
            Outcome::Accepted => self.forget(&message),
            Outcome::Released => group.ready.push(message),
            Outcome::Modified => {
                message.failed += 1;
                if group.config.delivery_limit.is_some_and(|limit| message.failed > limit) {
                    self.drop(group, at, message, DropReason::DeliveryLimit);
                } else if let Some(retry) = group.config.retry {
                    let delay_ms = (retry.delay_ms_min * u64::from(message.failed)).min(retry.delay_ms_max);
                    group.delayed.push((self.now.plus_ms(delay_ms), message));
                } else {
                    group.ready.push(message);
                }
            }
            Outcome::Rejected => self.drop(group, at, message, DropReason::Rejected),
        }
    }
}
