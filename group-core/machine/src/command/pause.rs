//! Pause and resume: a member whose connection goes and comes back, with what it holds.

use braid_types::MemberId;

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::member::Presence;
use crate::{Credit, Owner, Refused, Reply};

impl Group {
    /// Sends a member nothing until it is resumed.
    pub(crate) fn pause(&mut self, context: &mut Context<'_>, id: MemberId) -> Sound<Reply> {
        self.change_present(context, id, |member| {
            member.presence = Presence::Paused;
            Reply::Done
        })
    }

    /// A member goes on under a new owner with a new window. It need not be paused: a connection may be taken over
    /// before its loss was noticed. It has its time anew for what it holds.
    pub(crate) fn resume(
        &mut self,
        context: &mut Context<'_>,
        id: MemberId,
        owner: Owner,
        messages: u32,
    ) -> Sound<Reply> {
        let now = context.now();
        self.note_handing_out(now);
        if let Some(member) = self.members.get(id).filter(|member| member.is_present()) {
            context.attachments.remove(member.owner, context.group, id);
            context.attachments.insert(owner, context.group, id);
        }
        self.change_present(context, id, |member| {
            member.presence = Presence::Attached;
            member.unacked.restart(now);
            member.overdue.clear();
            member.owner = owner;
            member.credit = Credit::Window { messages };
            Reply::Done
        })
    }

    /// Changes a member that has not ended.
    pub(super) fn change_present(
        &mut self,
        context: &mut Context<'_>,
        id: MemberId,
        change: impl FnOnce(&mut crate::member::Member) -> Reply,
    ) -> Sound<Reply> {
        let Some(member) = self.members.get_mut(id).filter(|member| member.is_present()) else {
            return Ok(Reply::Refused(Refused::NoSuchMember));
        };
        let reply = change(member);
        self.refresh(context, id)?;
        self.elect(context)?;
        Ok(reply)
    }
}
