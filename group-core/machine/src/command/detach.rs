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
        let Some(was) = self.dismiss(context, id) else { return Ok(Reply::Refused(Refused::NoSuchMember)) };
        if let UnackedOnEnd::Settle(outcome) = unacked {
            self.settle_all(context, id, outcome);
        }
        if self.see_off(context, id, was)? {
            self.elect(context)?;
            self.note_if_unused(context);
        }
        Ok(Reply::Done)
    }

    /// A member is to be sent nothing more; what it holds stays with it, and [`Group::see_off`] must follow. What it
    /// was before.
    pub(super) fn dismiss(&mut self, context: &Context<'_>, id: MemberId) -> Option<Presence> {
        let member = self.members.get_mut(id)?;
        let was = member.presence;
        member.presence = Presence::Leaving;
        member.overdue.clear();
        if was == Presence::Paused {
            // Its time stood still.
            member.unacked.restart(context.now());
            self.note_handing_out(context.now());
        }
        Some(was)
    }

    /// Takes a dismissed member out of the line and its filter out of use. Whether it was present until now.
    pub(super) fn see_off(&mut self, context: &mut Context<'_>, id: MemberId, was: Presence) -> Sound<bool> {
        let filter = self.members.get(id).and_then(|member| member.filter);
        // Before the filter goes: the member leaves the service queue of its filter.
        self.refresh(context, id)?;
        if was == Presence::Leaving {
            return Ok(false);
        }
        self.members.count_leaving();
        if let Some(slot) = filter {
            self.backlog.leave_filter(slot);
            if let Some(lingering) = self.members.get_mut(id) {
                lingering.filter = None;
            }
        }
        Ok(true)
    }

    /// Tells if the last present member has just left.
    pub(super) fn note_if_unused(&mut self, context: &mut Context<'_>) {
        if self.members.present() == 0 {
            self.last_used = context.now();
            context.effects.push(Effect::Unused { group: context.group });
        }
    }
}
