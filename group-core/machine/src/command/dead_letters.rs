//! The end of dead letters that the group kept.

use braid_types::MessageId;

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::limits::DEAD_LETTERS_PER_END_MAX;
use crate::{Refused, Reply};

impl Group {
    /// Lets go of dead letters; of those that are not there nothing is said.
    pub(crate) fn end_dead_letters(&mut self, context: &mut Context<'_>, messages: &[MessageId]) -> Sound<Reply> {
        if messages.len() > DEAD_LETTERS_PER_END_MAX {
            return Ok(Reply::Refused(Refused::LimitReached));
        }
        for message in messages {
            if let Some(message) = self.backlog.dead_letters.take(*message) {
                context.release(&message);
            }
        }
        Ok(Reply::Done)
    }
}
