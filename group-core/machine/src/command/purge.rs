//! Purge, and the end of a group.

use alloc::vec::Vec;
use core::mem;

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::limits::REMOVED_AT_ONCE_MAX;
use crate::{DropReason, Effect, Refused, Reply};

impl Group {
    /// Drops the messages that wait, oldest first; if they are very many, they are gone from the group at once and let go
    /// of in steps, without a word about each. Dead letters stay.
    pub(crate) fn purge(&mut self, context: &mut Context<'_>) -> Sound<Reply> {
        let message_count = self.backlog.count();
        if message_count > REMOVED_AT_ONCE_MAX {
            context.doomed.add(self.backlog.take_apart());
        }
        for message in self.backlog.take_all() {
            context.drop_message(&message, DropReason::Purged);
        }
        Ok(Reply::Removed { message_count })
    }

    /// Why the group may not be deleted, if so.
    pub(crate) fn refuses_delete(&self, if_unused: bool, if_empty: bool) -> Option<Refused> {
        if if_unused && self.members.present() > 0 {
            return Some(Refused::InUse);
        }
        (if_empty && self.backlog.count() > 0).then_some(Refused::NotEmpty)
    }

    /// Lets go of all that the group holds: messages oldest first (very many in steps), dead letters too, then members
    /// oldest first.
    pub(crate) fn dissolve(mut self, context: &mut Context<'_>) -> Reply {
        let message_count = self.backlog.count();
        if message_count > REMOVED_AT_ONCE_MAX {
            context.doomed.add(self.backlog.take_apart());
        }
        let mut messages = self.backlog.take_all();
        messages.extend(mem::take(&mut self.backlog.dead_letters).into_messages());
        let mut present = Vec::new();
        for mut member in self.members.into_members() {
            while let Some((_, handed_out)) = member.unacked.take_first() {
                messages.push(handed_out.message);
            }
            context.attachments.remove(member.owner, context.group, member.id);
            if member.is_present() {
                present.push(Effect::Cancelled { owner: member.owner, group: context.group, member: member.id });
            }
        }
        messages.sort_by_key(|message| message.id);
        for message in messages {
            context.drop_message(&message, DropReason::GroupDeleted);
        }
        context.effects.append(&mut present);
        Reply::Removed { message_count }
    }
}
