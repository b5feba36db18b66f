//! The loss of a connection or a node, in one group: all members that it takes along at once.
//!
//! Invariant: none of them is handed what another of them gave back.

use alloc::vec::Vec;

use braid_types::{DeliveryId, GroupId, MemberId, Outcome};

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::member::Presence;
use crate::{OnLoss, Reply};

/// What was lost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss<'a> {
    /// A connection. All in order.
    Connection {
        /// Deliveries that paused members keep.
        kept: &'a [DeliveryId],
        /// Deliveries that ending members were never sent, with their attachments.
        unsent: &'a [(u32, DeliveryId)],
    },
    /// A whole node; paused members keep all that they hold.
    Node,
}

impl Loss<'_> {
    /// How deliveries of a member end that ends with it.
    fn outcome(self, of_connection: Outcome) -> Outcome {
        match self {
            Self::Connection { .. } => of_connection,
            Self::Node => Outcome::Released,
        }
    }

    /// Whether a paused member keeps a delivery.
    fn keeps(self, delivery: DeliveryId) -> bool {
        match self {
            Self::Connection { kept, .. } => kept.binary_search(&delivery).is_ok(),
            Self::Node => true,
        }
    }

    /// Whether a member that ends was sent a delivery, as far as anybody knows.
    fn was_sent(self, attachment: u32, delivery: DeliveryId) -> bool {
        match self {
            Self::Connection { unsent, .. } => unsent.binary_search(&(attachment, delivery)).is_err(),
            Self::Node => true,
        }
    }
}

impl Group {
    /// Ends or pauses members, as each of them says. `members` are in order of their ids.
    pub(crate) fn lose(
        &mut self,
        context: &mut Context<'_>,
        members: &[(GroupId, MemberId)],
        loss: Loss<'_>,
    ) -> Sound<Reply> {
        let stopped: Vec<(MemberId, OnLoss, Presence)> =
            members.iter().filter_map(|(_, id)| self.stop_lost(context, *id)).collect();
        for (id, on_loss, _) in &stopped {
            match on_loss {
                OnLoss::Detach(outcome) => {
                    let attachment = self.members.get(*id).map_or(0, |member| member.owner.attachment);
                    self.give_back_unless(context, *id, |delivery| loss.was_sent(attachment, delivery));
                    self.settle_all(context, *id, loss.outcome(*outcome));
                }
                OnLoss::Pause => self.give_back_unless(context, *id, |delivery| loss.keeps(delivery)),
            }
        }
        let mut has_left = false;
        for (id, on_loss, was) in stopped {
            match on_loss {
                OnLoss::Detach(_) => has_left |= self.see_off(context, id, was)?,
                OnLoss::Pause => self.refresh(context, id)?,
            }
        }
        self.elect(context)?;
        if has_left {
            self.note_if_unused(context);
        }
        Ok(Reply::Done)
    }

    /// A member of what was lost is sent nothing more. What it was before.
    fn stop_lost(&mut self, context: &Context<'_>, id: MemberId) -> Option<(MemberId, OnLoss, Presence)> {
        let member = self.members.get_mut(id)?;
        let on_loss = member.on_loss;
        let was = match on_loss {
            OnLoss::Detach(_) => self.dismiss(context, id)?,
            OnLoss::Pause => {
                let was = member.presence;
                if was == Presence::Attached {
                    member.presence = Presence::Paused;
                }
                was
            }
        };
        Some((id, on_loss, was))
    }

    /// What a member holds goes back, not counted as tried, except for what it keeps.
    fn give_back_unless(&mut self, context: &mut Context<'_>, id: MemberId, keeps: impl Fn(DeliveryId) -> bool) {
        let Some(holder) = self.members.get_mut(id) else { return };
        let given: Vec<DeliveryId> =
            holder.unacked.iter().map(|(delivery, _)| delivery).filter(|delivery| !keeps(*delivery)).collect();
        for delivery in given {
            if let Some(handed_out) = holder.unacked.take(delivery) {
                self.in_flight.remove(id, &handed_out.message);
                self.backlog.end_delivery(context, &self.config, handed_out.message, Outcome::Released);
            }
        }
    }
}
