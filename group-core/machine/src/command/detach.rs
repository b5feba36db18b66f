//! Detach.

use braid_types::{MemberId, UnackedOnEnd};

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::member::Presence;
use crate::{Effect, Refused, Reply};

impl Group {
    /// Ends a member. Whoever is left when the last present one ends is told by [`Effect::Unused`].
    pub(crate) fn detach(&mut self, context: &mut Context<'_>, id: MemberId, unacked: UnackedOnEnd) -> Sound<Reply> {
        let Some(member) = self.members.get_mut(id) else { return Ok(Reply::Refused(Refused::NoSuchMember)) };
        let was = member.presence;
        member.presence = Presence::Leaving;
        member.overdue.clear();
        let filter = member.filter;
        if was == Presence::Paused {
            // Its time stood still.
            member.unacked.restart(context.now());
            self.note_handing_out(context.now());
        }
        if let UnackedOnEnd::Settle(outcome) = unacked {
            self.settle_all(context, id, outcome);
        }
        // Before the filter goes: the member leaves the service queue of its filter.
        self.members.refresh(id)?;
        if was != Presence::Leaving {
            self.members.count_leaving();
            if let Some(slot) = filter {
                self.backlog.leave_filter(slot);
                if let Some(lingering) = self.members.get_mut(id) {
                    lingering.filter = None;
                }
            }
            self.elect()?;
            if self.members.present() == 0 {
                self.last_used = context.now();
                context.effects.push(Effect::Unused { group: context.group });
            }
        }
        Ok(Reply::Done)
    }
}
