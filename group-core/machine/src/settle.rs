//! Ends deliveries: one by one as the client names them, or all of a member that is gone.
//!
//! Invariant: an id that is not unacked changes nothing, so that a settle may be repeated, reordered or late.

use braid_types::{DeliveryId, MemberId, Outcome};

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::limits::DELIVERIES_PER_SETTLE_MAX;
use crate::{Refused, Reply};

impl Group {
    /// Ends deliveries of a member with one outcome.
    pub(crate) fn settle(
        &mut self,
        context: &mut Context<'_>,
        member: MemberId,
        deliveries: &[DeliveryId],
        outcome: Outcome,
    ) -> Sound<Reply> {
        if deliveries.len() > DELIVERIES_PER_SETTLE_MAX {
            return Ok(Reply::Refused(Refused::LimitReached));
        }
        let Some(holder) = self.members.get_mut(member) else { return Ok(Reply::Refused(Refused::NoSuchMember)) };
        for delivery in deliveries {
            let Some(handed_out) = holder.unacked.take(*delivery) else {
                holder.overdue.remove(delivery);
                continue;
            };
            self.in_flight.remove(member, &handed_out.message);
            if outcome == Outcome::Accepted {
                // Nearly all end like this, and then the message need not be moved.
                context.release(&handed_out.message);
            } else {
                self.backlog.end_delivery(context, &self.config, handed_out.message, outcome);
            }
        }
        self.refresh(context, member)?;
        self.elect(context)?;
        Ok(Reply::Done)
    }

    /// Ends all deliveries of a member with one outcome, oldest first.
    pub(crate) fn settle_all(&mut self, context: &mut Context<'_>, member: MemberId, outcome: Outcome) {
        let Some(holder) = self.members.get_mut(member) else { return };
        while let Some((_, handed_out)) = holder.unacked.take_first() {
            self.in_flight.remove(member, &handed_out.message);
            self.backlog.end_delivery(context, &self.config, handed_out.message, outcome);
        }
    }
}
