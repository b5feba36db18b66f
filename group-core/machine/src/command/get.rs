//! Get: one message for somebody who is no member.

use braid_types::{DeliveryId, Outcome};

use crate::context::Context;
use crate::fault::{Broken, Sound};
use crate::group::Group;
use crate::limits::HELD_GETS_PER_GROUP_MAX;
use crate::member::Member;
use crate::{Owner, Refused, Reply, Strategy, Taken};

impl Group {
    /// Takes the first ready message, whatever its address. Past a single active member, or one
    /// that has a key, nobody gets anything. Unless it is settled at once, a member that was never
    /// attached holds it.
    pub(crate) fn get(
        &mut self,
        context: &mut Context<'_>,
        owner: Owner,
        settled: bool,
        on_loss: Outcome,
    ) -> Sound<Reply> {
        if self.config.single_active || self.config.strategy == Strategy::Key {
            return Ok(Reply::Refused(Refused::Exclusive));
        }
        let id = context.member_id();
        if self.members.get(id).is_some() {
            return Ok(Reply::Refused(Refused::InUse));
        }
        if !settled && self.members.leaving() >= HELD_GETS_PER_GROUP_MAX {
            return Ok(Reply::Refused(Refused::LimitReached));
        }
        self.last_used = context.now();
        while self.backlog.has_expired(context.now()) {
            self.backlog.drop_expired(context);
        }
        let Some(first) = self.backlog.ready.first() else { return Ok(Reply::Got { taken: None }) };
        let mut message = self.backlog.pop(first).ok_or(Broken("a class with a head has no message"))?;
        let taken = Taken {
            member: id,
            delivery: DeliveryId(0),
            message: message.id,
            redelivered: message.acquired_count > 0,
            delivery_count: message.delivery_count,
            remaining: self.backlog.ready.count(),
        };
        message.acquired_count = message.acquired_count.saturating_add(1);
        if settled {
            context.release(&message);
        } else {
            let mut member = Member::of_get(id, owner, on_loss);
            self.in_flight.add(id, &message);
            member.unacked.push(message, context.now());
            self.members.insert(member)?;
            context.attachments.insert(owner, context.group, id);
            self.note_handing_out(context.now());
        }
        Ok(Reply::Got { taken: Some(taken) })
    }
}
