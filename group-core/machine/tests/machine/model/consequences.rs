//! What follows from a command by itself: what is due, what goes out, what is too much, what expires.

use braid_machine::{Credit, DropReason, Effect, Overflow, Strategy};
use braid_types::{DeliveryId, GroupId, MemberId, MessageId};

use super::Model;
use super::group::{Group, Member, Message, State, lane, order};

impl Model {
    pub(super) fn keep_time(&mut self, group: &mut Group, at: GroupId) {
        for (due, message) in std::mem::take(&mut group.delayed) {
            if due <= self.now {
                group.ready.push(message);
            } else {
                group.delayed.push((due, message));
            }
        }
        for (id, member) in &mut group.members {
            let Some(timeout_ms) = group.config.member_timeout_ms else { break };
            let is_overdue = |message: &Message| message.since.plus_ms(timeout_ms) <= self.now;
            let mut deliveries = 0;
            for delivery in member.unacked.keys().copied().collect::<Vec<_>>() {
                if member.state != State::Paused && is_overdue(&member.unacked[&delivery]) {
                    group.ready.extend(member.unacked.remove(&delivery));
                    member.overdue.extend(Some(delivery).filter(|_| member.present()));
                    deliveries += 1;
                }
            }
            if deliveries > 0 {
                let owner = member.config.owner;
                self.effects.push(Effect::MemberOverdue { owner, group: at, member: *id, deliveries });
            }
        }
        if let Some(expires_ms) = group.config.expires_ms
            && !group.members.values().any(Member::present)
            && group.last_used.plus_ms(expires_ms) <= self.now
        {
            group.last_used = self.now;
            self.effects.push(Effect::GroupExpired { group: at });
        }
    }

    pub(super) fn dispatch(&mut self, group: &mut Group, at: GroupId) {
        loop {
            self.expire(group, at);
            let mut places: Vec<usize> = (0..group.ready.len()).collect();
            places.sort_by_key(|place| order(&group.ready[*place]));
            let by_key = group.config.strategy == Strategy::Key;
            let pair = if by_key { group.next_by_key(&places) } else { None };
            let pair = pair.or_else(|| {
                places.iter().filter(|_| !by_key).find_map(|place| {
                    let takers = group.line.iter().filter(|id| group.members[id].takes(&group.ready[*place]));
                    Some((*place, group.choose(takers.copied().collect(), group.ready[*place].id, self.leading)?))
                })
            });
            let Some((place, member)) = pair else { return };
            self.hand_out(group, at, place, member);
        }
    }

    pub(super) fn hand_out(&mut self, group: &mut Group, at: GroupId, place: usize, id: MemberId) {
        let mut message = group.ready.remove(place);
        let member = group.members.get_mut(&id).unwrap();
        let delivery = DeliveryId(member.next);
        member.next += 1;
        let settled = matches!(member.config.credit, Credit::Granted { .. });
        self.effects.push(Effect::Deliver {
            owner: member.config.owner,
            group: at,
            member: id,
            delivery,
            message: message.id,
            redelivered: message.acquired > 0,
            delivery_count: message.failed,
            settled,
        });
        message.acquired += 1;
        message.since = self.now;
        if let Credit::Granted { messages, bytes } = &mut member.config.credit {
            *messages -= 1;
            *bytes = bytes.saturating_sub(u64::from(message.header.size_bytes));
            self.forget(&message);
        } else {
            member.unacked.insert(delivery, message);
        }
        group.line.retain(|other| *other != id);
        group.line_up();
    }

    pub(super) fn limit(&mut self, group: &mut Group, at: GroupId) {
        let bytes = |group: &Group| group.ready.iter().map(|message| u64::from(message.header.size_bytes)).sum::<u64>();
        let limits = (group.config.messages_max, group.config.size_bytes_max);
        let at_least = |have: u64, limit: Option<u64>, part: f64| limit.map(|limit| have as f64 - limit as f64 * part);
        let excess = |group: &Group, part| {
            [at_least(group.ready.len() as u64, limits.0, part), at_least(bytes(group), limits.1, part)]
        };
        if group.config.overflow == Overflow::DropHead {
            while excess(group, 1.0).into_iter().flatten().any(|excess| excess > 0.0) {
                group.ready.sort_by_key(order);
                let message = group.ready.remove(0);
                self.drop(group, at, message, DropReason::MaxLength);
                self.expire(group, at);
            }
        } else if excess(group, 1.0).into_iter().flatten().any(|excess| excess >= 0.0) {
            group.rejecting = true;
        } else if excess(group, 0.8).into_iter().flatten().all(|excess| excess < 1.0) {
            // Whole messages and bytes: four fifths, rounded up.
            group.rejecting = false;
        }
    }

    /// Drops what has expired and has no message before it that is for the same members, came back too or has the same
    /// priority.
    pub(super) fn expire(&mut self, group: &mut Group, at: GroupId) {
        let filters = group.filters();
        let strategy = group.config.strategy;
        let line = |message: &Message| {
            let address = message.header.address.as_ref();
            let matching: Vec<bool> =
                filters.iter().map(|filter| address.is_some_and(|address| filter.matches(address))).collect();
            let lane = (strategy == Strategy::Key).then(|| lane(message));
            let priority = (message.acquired == 0).then_some(message.header.priority.min(31));
            (matching, lane, priority)
        };
        let mut expired = Vec::new();
        let mut blocked = Vec::new();
        group.ready.sort_by_key(order);
        for message in std::mem::take(&mut group.ready) {
            let line = line(&message);
            let is_expired = message.header.expires_at.is_some_and(|expiry| self.now > expiry);
            if is_expired && !blocked.contains(&line) {
                expired.push(message);
            } else {
                blocked.push(line);
                group.ready.push(message);
            }
        }
        expired.sort_by_key(|message| message.id);
        expired.into_iter().for_each(|message| self.drop(group, at, message, DropReason::Expired));
    }

    pub(super) fn drop(&mut self, group: &mut Group, at: GroupId, message: Message, reason: DropReason) {
        let is_dead = !matches!(reason, DropReason::Purged | DropReason::GroupDeleted);
        let kept = group.config.keeps_dead_letters && is_dead;
        let delivery_count = message.failed;
        self.effects.push(Effect::Dropped { group: at, message: message.id, reason, delivery_count, kept });
        if kept {
            group.dead.push(message);
        } else {
            self.forget(&message);
        }
    }

    /// A message left a group: it is forgotten if no other group holds it. (The group that it left has been taken out
    /// of `groups`.)
    pub(super) fn forget(&mut self, message: &Message) {
        if !self.holds(message.id) {
            self.effects.push(Effect::Forget { message: message.id });
        }
    }

    pub(super) fn holds(&self, id: MessageId) -> bool {
        self.groups.values().any(|group| {
            let unacked = group.members.values().flat_map(|member| member.unacked.values());
            let delayed = group.delayed.iter().map(|(_, message)| message);
            group.ready.iter().chain(delayed).chain(unacked).chain(&group.dead).any(|message| message.id == id)
        })
    }
}
