//! Configure: other settings for a group that is at work.

use core::mem;

use alloc::vec::Vec;

use braid_types::MemberId;

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::in_flight::InFlight;
use crate::member::Role;
use crate::{GroupConfig, Reply, Strategy};

impl Group {
    /// Replaces the settings. Whether publishes are rejected is found anew, the group counts as used just now, and a
    /// delivery that is held for longer than the new settings allow is overdue at once.
    pub(crate) fn configure(&mut self, context: &mut Context<'_>, config: GroupConfig) -> Sound<Reply> {
        let old = mem::replace(&mut self.config, config.with_times_of_at_least_1());
        self.backlog.dead_letters.keeps = self.config.keeps_dead_letters;
        self.rejects_publishes = false;
        self.last_used = context.now();
        self.look_at_holders();
        if self.config.strategy != old.strategy {
            self.change_strategy(old.strategy);
        }
        if self.config.single_active != old.single_active {
            self.forget_roles(context)?;
        }
        self.elect(context)?;
        Ok(Reply::Done)
    }

    /// Members keep their places in line and what they hold; messages are sorted into lanes, or out of them.
    fn change_strategy(&mut self, old: Strategy) {
        self.members.set_strategy(self.config.strategy);
        if (old == Strategy::Key) == (self.config.strategy == Strategy::Key) {
            return;
        }
        self.owners = None;
        self.backlog.change_strategy(self.config.strategy);
        self.in_flight = InFlight::new(self.config.strategy);
        for member in self.members.iter() {
            for (_, handed_out) in member.unacked.iter() {
                self.in_flight.add(member.id, &handed_out.message);
            }
        }
    }

    /// All are equal again: active, or standing by for whoever is elected.
    fn forget_roles(&mut self, context: &mut Context<'_>) -> Sound<()> {
        let role = if self.config.single_active { Role::Standby } else { Role::Active };
        let present = self.members.iter().filter(|member| member.is_present());
        let present: Vec<MemberId> = present.map(|member| member.id).collect();
        for id in present {
            if let Some(member) = self.members.get_mut(id) {
                member.role = role;
            }
            self.refresh(context, id)?;
        }
        Ok(())
    }
}
