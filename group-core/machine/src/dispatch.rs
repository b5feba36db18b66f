//! Pairs ready messages with members that have credit, after each command, on every replica: delivery is never a
//! command (ARCHITECTURE, INV-1).
//!
//! The next message is the first that some member with credit may take; it goes to the member whose turn it is among
//! those that may take it. A member that cannot take it keeps its turn and is not waited for.

use braid_types::MemberId;

use crate::context::Context;
use crate::fault::{Broken, Sound};
use crate::group::Group;
use crate::message::HeldMessage;
use crate::ready::ClassIndex;
use crate::{Effect, Strategy};

mod by_key;

pub(crate) use by_key::Owners;

impl Group {
    /// Hands out all that can be handed out.
    pub(crate) fn dispatch(&mut self, context: &mut Context<'_>) -> Sound<()> {
        while !self.backlog.ready.is_empty() {
            self.backlog.drop_expired(context);
            if self.backlog.has_expired(context.now()) {
                break;
            }
            let Some((class, member)) = self.next_pair()? else { break };
            self.members.step_out(member)?;
            let message = self.backlog.pop(class).ok_or(Broken("a class with a head has no message"))?;
            self.hand_out(context, member, message)?;
        }
        Ok(())
    }

    /// Takes in a fresh message. When nothing waits before it and a member may take it, it goes there without having
    /// been queued: what a group does nearly always as long as its members keep up.
    pub(crate) fn take_in(&mut self, context: &mut Context<'_>, message: HeldMessage) -> Sound<()> {
        let class = self.backlog.class_of(&message);
        if self.backlog.ready.is_empty()
            && self.config.strategy != Strategy::Key
            && !self.has_due(context.now())
            && !message.is_expired(context.now())
            && let Some(member) = self.members.next(class.mask, message.id)
            && self.members.step_out(member).is_ok()
        {
            return self.hand_out(context, member, message);
        }
        self.backlog.ready.push_fresh(class, message);
        Ok(())
    }

    /// The next message, by its class, and who gets it.
    fn next_pair(&mut self) -> Sound<Option<(ClassIndex, MemberId)>> {
        let takers = self.members.takers();
        if takers.is_empty() {
            return Ok(None);
        }
        if self.config.strategy == Strategy::Key {
            return Ok(self.next_by_key());
        }
        let Some(class) = self.backlog.ready.first_for(takers) else { return Ok(None) };
        let (mask, head) = self.backlog.ready.peek(class).ok_or(Broken("a class with a head has no message"))?;
        let member = self.members.next(mask, head).ok_or(Broken("nobody takes what somebody may take"))?;
        Ok(Some((class, member)))
    }

    fn hand_out(&mut self, context: &mut Context<'_>, id: MemberId, mut message: HeldMessage) -> Sound<()> {
        let Some((member, line)) = self.members.get_with_line(id) else {
            self.backlog.put_back(message);
            return Err(Broken("a member that stepped out is not there"));
        };
        let settled = member.use_grant(message.size_bytes);
        context.effects.push(Effect::Deliver {
            owner: member.owner,
            group: context.group,
            member: id,
            delivery: member.unacked.next(),
            message: message.id,
            redelivered: message.acquired_count > 0,
            delivery_count: message.delivery_count,
            settled,
        });
        if settled {
            member.unacked.pass();
            context.release(&message);
        } else {
            message.acquired_count = message.acquired_count.saturating_add(1);
            self.in_flight.add(id, &message);
            member.unacked.push(message, context.now());
        }
        line.refresh(member)?;
        self.note_handing_out(context.now());
        Ok(())
    }
}
