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
        loop {
            self.backlog.drop_expired(context);
            let takers = self.members.takers();
            if takers.is_empty() {
                return Ok(());
            }
            let Some(class) = self.backlog.ready.first_for(takers) else { return Ok(()) };
            let mask = self.backlog.ready.mask(class).ok_or(Broken("a class is not there"))?;
            let member = self.members.next(mask).ok_or(Broken("nobody takes what somebody may take"))?;
            let message = self.backlog.pop(class).ok_or(Broken("a class with a head has no message"))?;
            self.hand_out(context, member, message)?;
        }
    }

    fn hand_out(&mut self, context: &mut Context<'_>, member: MemberId, mut message: HeldMessage) -> Sound<()> {
        let redelivered = message.acquired_count > 0;
        message.acquired_count = message.acquired_count.saturating_add(1);
        let (id, delivery_count) = (message.id, message.delivery_count);
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
            None => self.unacked += 1,
        }
        Ok(())
    }
}
