//! A group: messages, and the members that share them. Here is only the flow of control; what a command does is in
//! `command/`, how messages find members in `dispatch.rs`.
//!
//! Invariants: those of `lib.rs`; `newest` rises.

use alloc::boxed::Box;

use braid_types::{MemberId, MessageId, Timestamp};

use crate::backlog::Backlog;
use crate::context::Context;
use crate::dispatch::Owners;
use crate::fault::{Broken, Sound};
use crate::in_flight::InFlight;
use crate::members::Members;
use crate::message::{HeldMessage, NEVER};
use crate::publishers::Publishers;
use crate::{GroupConfig, Refused, Reply};

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    /// Its settings.
    pub(crate) config: GroupConfig,
    /// What waits.
    pub(crate) backlog: Backlog,
    /// Its members, with what they hold.
    pub(crate) members: Members,
    /// The last message that it was asked to take.
    pub(crate) newest: Option<MessageId>,
    /// What members hold.
    pub(crate) in_flight: InFlight,
    /// Who has which lane, where the strategy is by key; made on first use.
    pub(crate) owners: Option<Box<Owners>>,
    /// It has reached a length limit and takes no publishes until it has relaxed.
    pub(crate) rejects_publishes: bool,
    /// When it last had a member, a get or a declaration.
    pub(crate) last_used: Timestamp,
    /// No member holds a delivery for too long before this time.
    pub(crate) patient_until: Timestamp,
    /// What it remembers of its publishers; made on first use.
    pub(crate) publishers: Option<Box<Publishers>>,
    /// What took it out of service.
    pub(crate) fault: Option<Broken>,
    /// It was changed since the changed ones were last asked for.
    pub(crate) is_changed: bool,
}

impl Group {
    /// A group without messages and members.
    pub(crate) fn new(config: GroupConfig, leading: Option<u64>) -> Self {
        let config = config.with_times_of_at_least_1();
        Self {
            backlog: Backlog::new(&config),
            members: Members::new(config.strategy, leading, 0),
            newest: None,
            in_flight: InFlight::new(config.strategy),
            owners: None,
            rejects_publishes: false,
            last_used: Timestamp(0),
            patient_until: NEVER,
            publishers: None,
            fault: None,
            is_changed: false,
            config,
        }
    }

    /// All messages that it holds, in no particular order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &HeldMessage> {
        let unacked = self.members.iter().flat_map(|member| member.unacked.iter());
        let delayed = self.backlog.delayed.iter().map(|(_, message)| message);
        let dead = self.backlog.dead_letters.iter().map(|letter| &letter.message);
        self.backlog.ready.iter().chain(delayed).chain(unacked.map(|(_, handed_out)| &handed_out.message)).chain(dead)
    }

    /// After a member was changed: it lines up, steps out of the line, or is gone.
    pub(crate) fn refresh(&mut self, context: &mut Context<'_>, id: MemberId) -> Sound<()> {
        if let Some(owner) = self.members.refresh(id)? {
            context.attachments.remove(owner, context.group, id);
        }
        Ok(())
    }

    /// Carries out a command's work in this group, and then all that follows from it. A broken invariant stops the
    /// group; what the command did before stands, and so does its reply.
    pub(crate) fn run(
        &mut self,
        context: &mut Context<'_>,
        work: impl FnOnce(&mut Self, &mut Context<'_>) -> Sound<Reply>,
    ) -> Reply {
        if self.fault.is_some() {
            return Reply::Refused(Refused::Faulted);
        }
        let reply = match work(self, context) {
            Ok(reply) => reply,
            Err(broken) => {
                self.fault = Some(broken);
                return Reply::Refused(Refused::Faulted);
            }
        };
        if self.fault.is_none()
            && let Err(broken) = self.follow_up(context)
        {
            self.fault = Some(broken);
        }
        reply
    }

    fn follow_up(&mut self, context: &mut Context<'_>) -> Sound<()> {
        self.keep_time(context)?;
        self.dispatch(context)?;
        self.limit_length(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_small() {
        // Together with its slot in the map of groups less than 600 bytes; allocators have a class of 512.
        assert!(size_of::<Group>() <= 512, "{} bytes", size_of::<Group>());
    }
}
