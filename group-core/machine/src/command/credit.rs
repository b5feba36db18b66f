//! Set window and grant. A member with the other kind of credit is no such member.

use braid_types::MemberId;

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::{Credit, Refused, Reply};

impl Group {
    /// Changes a member's window. What it holds beyond a smaller one it keeps, and gets nothing more until it is below.
    pub(crate) fn set_window(&mut self, context: &mut Context<'_>, id: MemberId, window: u32) -> Sound<Reply> {
        self.change_present(context, id, |member| match &mut member.credit {
            Credit::Window { messages } => {
                *messages = window;
                Reply::Done
            }
            Credit::Granted { .. } => Reply::Refused(Refused::NoSuchMember),
        })
    }

    /// Adds to what a member may be sent.
    pub(crate) fn grant(
        &mut self,
        context: &mut Context<'_>,
        id: MemberId,
        more_messages: u32,
        more_bytes: u64,
    ) -> Sound<Reply> {
        self.change_present(context, id, |member| match &mut member.credit {
            Credit::Granted { messages, bytes } => {
                *messages = messages.saturating_add(more_messages);
                *bytes = bytes.saturating_add(more_bytes);
                Reply::Done
            }
            Credit::Window { .. } => Reply::Refused(Refused::NoSuchMember),
        })
    }
}
