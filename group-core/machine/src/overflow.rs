//! Length limits: ready messages and their bytes (SPEC section 3, limits). Unacked and delayed ones do not count, as in
//! RabbitMQ.
//!
//! Invariants: after each command a group that drops its head is within its limits; one that rejects publishes takes
//! none from the moment when it reaches a limit until it is down to four fifths of both, so that publishers do not
//! flap.

use crate::context::Context;
use crate::fault::{Broken, Sound};
use crate::group::Group;
use crate::{DropReason, GroupConfig, Overflow};

impl Group {
    /// After all else of a command: drops what is too much, or sees whether publishes are rejected from now on.
    pub(crate) fn limit_length(&mut self, context: &mut Context<'_>) -> Sound<()> {
        if self.config.messages_max.is_none() && self.config.size_bytes_max.is_none() {
            return Ok(());
        }
        match self.config.overflow {
            Overflow::DropHead => self.drop_head(context),
            Overflow::RejectPublish | Overflow::RejectPublishDeadLetter => {
                self.rejects_publishes = self.is_full() || (self.rejects_publishes && !self.is_relaxed());
                Ok(())
            }
        }
    }

    fn drop_head(&mut self, context: &mut Context<'_>) -> Sound<()> {
        while self.ready_is_over(|limit| limit) {
            let first = self.backlog.ready.first().ok_or(Broken("nothing is ready and yet too much"))?;
            let message = self.backlog.pop(first).ok_or(Broken("a class with a head has no message"))?;
            self.backlog.dead_letters.drop_message(context, message, DropReason::MaxLength);
            self.backlog.drop_expired(context);
        }
        Ok(())
    }

    /// A limit is reached.
    fn is_full(&self) -> bool {
        let GroupConfig { messages_max, size_bytes_max, .. } = self.config;
        messages_max.is_some_and(|limit| self.backlog.ready.count() >= limit)
            || size_bytes_max.is_some_and(|limit| self.backlog.ready.size_bytes() >= limit)
    }

    /// Both are down to four fifths of their limits.
    fn is_relaxed(&self) -> bool {
        !self.ready_is_over(|limit| limit - limit / 5)
    }

    fn ready_is_over(&self, part_of: impl Fn(u64) -> u64) -> bool {
        let GroupConfig { messages_max, size_bytes_max, .. } = self.config;
        messages_max.is_some_and(|limit| self.backlog.ready.count() > part_of(limit))
            || size_bytes_max.is_some_and(|limit| self.backlog.ready.size_bytes() > part_of(limit))
    }
}
