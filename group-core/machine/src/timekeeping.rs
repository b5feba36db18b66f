//! What time brings to a group: messages expire, delayed ones are due, members hold deliveries for too long, the group
//! itself is unused for too long. Looked at with each command for the group and each tick; a deadline is only ever
//! compared with partition time.
//!
//! Invariant: if nothing is due, looking changes nothing that a snapshot shows.

use alloc::vec::Vec;

use braid_types::{MemberId, Timestamp};

use crate::Effect;
use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::member::Presence;
use crate::message::NEVER;

impl Group {
    /// When something may be due next.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        let waits_for_nothing = self.backlog.ready.calm_until() == NEVER
            && self.patient_until == NEVER
            && self.backlog.delayed.is_empty()
            && self.config.expires_ms.is_none();
        if waits_for_nothing || self.fault.is_some() {
            return None;
        }
        // A message expires after its time, not at it.
        let expiry = Some(self.backlog.ready.calm_until()).filter(|time| *time != NEVER).map(|time| time.plus_ms(1));
        let patience = Some(self.patient_until).filter(|time| *time != NEVER);
        [expiry, self.backlog.delayed.first_due(), patience, self.unused_until()].into_iter().flatten().min()
    }

    /// Does what is due, except for expiry, which is part of dispatching.
    pub(crate) fn keep_time(&mut self, context: &mut Context<'_>) -> Sound<()> {
        self.backlog.put_back_due(context.now());
        if self.patient_until <= context.now() {
            self.end_overdue(context)?;
        }
        if self.unused_until().is_some_and(|time| time <= context.now()) {
            self.last_used = context.now();
            context.effects.push(Effect::GroupExpired { group: context.group });
        }
        Ok(())
    }

    /// Something else than expiry is due, so that it has to be done before anything is handed out.
    pub(crate) fn has_due(&self, now: Timestamp) -> bool {
        self.patient_until <= now || self.backlog.delayed.first_due().is_some_and(|due| due <= now)
    }

    /// A member was handed something, or has its time anew.
    pub(crate) fn note_handing_out(&mut self, now: Timestamp) {
        if let Some(timeout_ms) = self.config.member_timeout_ms {
            self.patient_until = self.patient_until.min(now.plus_ms(timeout_ms));
        }
    }

    /// Looks when the next member will have held a delivery for too long. One whose connection is away may take its
    /// time.
    pub(crate) fn look_at_holders(&mut self) -> Vec<(Timestamp, MemberId)> {
        let timeout_ms = self.config.member_timeout_ms;
        let holders = self.members.iter().filter(|member| member.presence != Presence::Paused);
        let oldest = holders.filter_map(|member| Some((member.patient_until(timeout_ms?)?, member.id)));
        let oldest: Vec<(Timestamp, MemberId)> = oldest.collect();
        self.patient_until = oldest.iter().map(|(until, _)| *until).min().unwrap_or(NEVER);
        oldest
    }

    /// When the group will have been unused for too long.
    fn unused_until(&self) -> Option<Timestamp> {
        let expires_ms = self.config.expires_ms.filter(|_| self.members.present() == 0)?;
        Some(self.last_used.plus_ms(expires_ms))
    }

    /// Takes back what members hold for too long.
    fn end_overdue(&mut self, context: &mut Context<'_>) -> Sound<()> {
        for (until, member) in self.look_at_holders() {
            if until <= context.now() {
                self.end_overdue_of(context, member)?;
            }
        }
        self.look_at_holders();
        self.elect(context)
    }

    fn end_overdue_of(&mut self, context: &mut Context<'_>, id: MemberId) -> Sound<()> {
        let (Some(timeout_ms), Some(member)) = (self.config.member_timeout_ms, self.members.get_mut(id)) else {
            return Ok(());
        };
        let mut deliveries = 0;
        while member.patient_until(timeout_ms).is_some_and(|until| until <= context.now()) {
            let Some((delivery, handed_out)) = member.unacked.take_first() else { break };
            if member.is_present() {
                member.overdue.insert(delivery);
            }
            self.in_flight.remove(id, &handed_out.message);
            self.backlog.put_back(handed_out.message);
            deliveries += 1;
        }
        let owner = member.owner;
        context.effects.push(Effect::MemberOverdue { owner, group: context.group, member: id, deliveries });
        self.refresh(context, id)
    }
}
