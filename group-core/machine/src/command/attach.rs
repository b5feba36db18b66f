//! Attach.

use alloc::collections::BTreeSet;

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::limits::MEMBERS_PER_GROUP_MAX;
use crate::member::{Member, Presence, Role};
use crate::unacked::Unacked;
use crate::{MemberConfig, Refused, Reply};

impl Group {
    /// Attaches a member, behind those of its priority.
    pub(crate) fn attach(&mut self, context: &mut Context<'_>, config: &MemberConfig) -> Sound<Reply> {
        let id = context.member_id();
        if self.members.is_exclusive() {
            return Ok(Reply::Refused(Refused::Exclusive));
        }
        if (config.exclusive && self.members.present() > 0) || self.members.get(id).is_some() {
            return Ok(Reply::Refused(Refused::InUse));
        }
        if self.members.present() >= MEMBERS_PER_GROUP_MAX {
            return Ok(Reply::Refused(Refused::LimitReached));
        }
        let filter = match &config.filter {
            None => None,
            Some(filter) => match self.backlog.enter_filter(filter) {
                Some(slot) => Some(slot),
                None => return Ok(Reply::Refused(Refused::LimitReached)),
            },
        };
        self.members.insert(Member {
            id,
            owner: config.owner,
            credit: config.credit,
            priority: config.priority,
            exclusive: config.exclusive,
            filter,
            presence: Presence::Attached,
            role: if self.config.single_active { Role::Standby } else { Role::Active },
            unacked: Unacked::default(),
            overdue: BTreeSet::new(),
            turn: None,
            owns: false,
            on_loss: config.on_loss,
        })?;
        context.attachments.insert(config.owner, context.group, id);
        self.elect(context)?;
        Ok(Reply::Attached { member: id })
    }
}
