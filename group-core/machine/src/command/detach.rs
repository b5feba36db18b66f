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
        let was_present = member.is_present();
        let filter = member.filter;
        member.presence = Presence::Leaving;
        if let UnackedOnEnd::Settle(outcome) = unacked {
            self.settle_all(context, id, outcome);
        }
        // Before the filter goes: the member leaves the service queue of its filter.
        self.members.refresh(id)?;
        if was_present {
            self.members.count_leaving();
            if let Some(slot) = filter {
                self.backlog.leave_filter(slot);
                if let Some(lingering) = self.members.get_mut(id) {
                    lingering.filter = None;
                }
            }
            if self.members.present() == 0 {
                context.effects.push(Effect::Unused { group: context.group });
            }
        }
        Ok(Reply::Done)
    }
}
