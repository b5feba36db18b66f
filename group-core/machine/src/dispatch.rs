//! Pairs ready messages with members that have credit, after each command, on every replica: delivery is never a
//! command (ARCHITECTURE, INV-1).
//!
//! The next message is the first that some member with credit may take; it goes to the member whose turn it is among
//! those that may take it. A member that cannot take it keeps its turn and is not waited for.

use braid_types::MemberId;

use crate::Effect;
use crate::context::Context;
use crate::fault::{Broken, Sound};
use crate::group::Group;
use crate::message::HeldMessage;

impl Group {
    /// Hands out all that can be handed out.
    pub(crate) fn dispatch(&mut self, context: &mut Context<'_>) -> Sound<()> {
        while !self.backlog.ready.is_empty() {
            self.backlog.drop_expired(context);
            let takers = self.members.takers();
            if takers.is_empty() {
                break;
            }
            let Some(class) = self.backlog.ready.first_for(takers) else { break };
            let (mask, head) = self.backlog.ready.peek(class).ok_or(Broken("a class with a head has no message"))?;
            let member = self.members.next(mask, head).ok_or(Broken("nobody takes what somebody may take"))?;
            let message = self.backlog.pop(class).ok_or(Broken("a class with a head has no message"))?;
            self.hand_out(context, member, message)?;
        }
        Ok(())
    }

    /// Takes in a fresh message. When nothing waits before it and a member may take it, it goes there without having
    /// been queued: what a group does nearly always as long as its members keep up.
    pub(crate) fn take_in(&mut self, context: &mut Context<'_>, message: HeldMessage) -> Sound<()> {
        let mask = self.backlog.mask_of(&message);
        if self.backlog.ready.is_empty()
            && !self.has_due(context.now())
            && !message.is_expired(context.now())
            && let Some(member) = self.members.next(mask, message.id)
        {
            return self.hand_out(context, member, message);
        }
        self.backlog.ready.push_fresh(mask, message);
        Ok(())
    }

    fn hand_out(&mut self, context: &mut Context<'_>, member: MemberId, mut message: HeldMessage) -> Sound<()> {
        let redelivered = message.acquired_count > 0;
        message.acquired_count = message.acquired_count.saturating_add(1);
        let (id, delivery_count) = (message.id, message.delivery_count);
        if self.members.get(member).is_none() {
            self.backlog.put_back(message);
            return Err(Broken("the service queue names a member that is not there"));
        }
        let receipt = self.members.hand_out(member, message, context.now())?;
        context.effects.push(Effect::Deliver {
            owner: receipt.owner,
            group: context.group,
            member,
            delivery: receipt.delivery,
            message: id,
            redelivered,
            delivery_count,
            settled: receipt.settled.is_some(),
        });
        match receipt.settled {
            Some(message) => context.release(&message),
            None => {
                self.unacked += 1;
                self.note_handing_out(context.now());
            }
        }
        Ok(())
    }
}
