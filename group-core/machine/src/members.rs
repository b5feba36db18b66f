//! The members of a group, and whose turn it is.
//!
//! Invariants: a member stands in the service queue exactly while it is servable; `present` counts the members that are
//! attached or paused; at most one of those is exclusive, and then it is the only one.

use alloc::collections::BTreeMap;

use braid_types::{MemberId, MessageId};

use crate::fault::{Broken, Sound};
use crate::filters::Mask;
use crate::member::Member;
use crate::ready::Takers;
use crate::{Owner, Strategy};

mod service_queue;

pub(crate) use service_queue::{ServiceQueue, Turn};

/// The members of a group.
#[derive(Debug)]
pub(crate) struct Members {
    by_id: BTreeMap<MemberId, Member>,
    service: ServiceQueue,
    present: usize,
    /// Changes when members become able to own a lane, or unable.
    generation: u64,
}

impl Members {
    /// No members, and a service queue that goes on with the tickets of an earlier one.
    pub(crate) fn new(strategy: Strategy, leading: Option<u64>, next_ticket: u64) -> Self {
        let service = ServiceQueue::new(strategy, leading, next_ticket);
        Self { by_id: BTreeMap::new(), service, present: 0, generation: 1 }
    }

    /// Another node leads. Members keep their tickets.
    pub(crate) fn lead(&mut self, leading: Option<u64>) {
        let strategy = self.service.strategy();
        if strategy == Strategy::LocalFirst {
            self.line_up_again(strategy, leading);
        } else {
            self.service.set_leading(leading);
        }
    }

    /// The strategy is another one. Members keep their tickets.
    pub(crate) fn set_strategy(&mut self, strategy: Strategy) {
        self.line_up_again(strategy, self.service.leading());
    }

    fn line_up_again(&mut self, strategy: Strategy, leading: Option<u64>) {
        let mut service = ServiceQueue::new(strategy, leading, self.service.next_ticket());
        for member in self.by_id.values_mut() {
            if let Some(turn) = member.turn {
                service.restore(member, turn.ticket);
            }
        }
        self.service = service;
    }

    /// Members that are attached or paused.
    pub(crate) fn present(&self) -> usize {
        self.present
    }

    /// Changes when members become able to own a lane, or unable.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Members that are only here for what they have not settled.
    pub(crate) fn leaving(&self) -> usize {
        self.by_id.len() - self.present
    }

    /// Whether a present member is exclusive.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.present == 1 && self.by_id.values().any(|member| member.is_present() && member.exclusive)
    }

    /// All members, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.by_id.values()
    }

    /// A member.
    pub(crate) fn get(&self, id: MemberId) -> Option<&Member> {
        self.by_id.get(&id)
    }

    /// A member, to be changed; [`Members::refresh`] must follow.
    pub(crate) fn get_mut(&mut self, id: MemberId) -> Option<&mut Member> {
        self.by_id.get_mut(&id)
    }

    /// The queue of those that are servable.
    pub(crate) fn service(&self) -> &ServiceQueue {
        &self.service
    }

    /// Who could take a message now.
    pub(crate) fn takers(&self) -> Takers {
        self.service.takers()
    }

    /// Whose turn it is to take this message.
    pub(crate) fn next(&self, mask: Mask, message: MessageId) -> Option<MemberId> {
        self.service.next(mask, message).map(|turn| turn.member)
    }

    /// Takes a member in; behind the others if it is servable.
    pub(crate) fn insert(&mut self, mut member: Member) -> Sound<()> {
        self.present += usize::from(member.is_present());
        self.service.refresh(&mut member)?;
        self.generation += u64::from(member.changes_ownership());
        self.by_id.insert(member.id, member);
        Ok(())
    }

    /// Takes a member in at the place in line that a snapshot says it had.
    pub(crate) fn restore(&mut self, mut member: Member, ticket: Option<u64>) {
        self.present += usize::from(member.is_present());
        if let Some(ticket) = ticket {
            self.service.restore(&mut member, ticket);
        }
        self.generation += u64::from(member.changes_ownership());
        self.by_id.insert(member.id, member);
    }

    /// After a member was changed: it lines up in the service queue, leaves it, or is removed when it is gone. Whose it
    /// was that is gone.
    pub(crate) fn refresh(&mut self, id: MemberId) -> Sound<Option<Owner>> {
        let Some(member) = self.by_id.get_mut(&id) else { return Ok(None) };
        self.service.refresh(member)?;
        self.generation += u64::from(member.changes_ownership());
        if !member.is_gone() {
            return Ok(None);
        }
        Ok(self.by_id.remove(&id).map(|member| member.owner))
    }

    /// A member stopped being present; [`Members::refresh`] must follow.
    pub(crate) fn count_leaving(&mut self) {
        self.present -= 1;
    }

    /// Before a member is handed a message: it steps out of the line. What is broken shows here, before a message
    /// moves.
    pub(crate) fn step_out(&mut self, id: MemberId) -> Sound<()> {
        let member = self.by_id.get_mut(&id).ok_or(Broken("the service queue names a member that is not there"))?;
        self.service.step_out(member)
    }

    /// A member that has stepped out, and the line that it goes back to ([`ServiceQueue::refresh`]).
    pub(crate) fn get_with_line(&mut self, id: MemberId) -> Option<(&mut Member, &mut ServiceQueue)> {
        Some((self.by_id.get_mut(&id)?, &mut self.service))
    }

    /// All members, out of the group.
    pub(crate) fn into_members(self) -> impl Iterator<Item = Member> {
        self.by_id.into_values()
    }
}
