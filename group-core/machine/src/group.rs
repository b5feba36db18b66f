//! A group: messages, and the members that share them. Here is only the flow of control; what a command does is in
//! `command/`, how messages find members in `dispatch.rs`.
//!
//! Invariants: those of `lib.rs`; `newest` rises.

use braid_types::MessageId;

use crate::backlog::Backlog;
use crate::context::Context;
use crate::fault::{Broken, Sound};
use crate::members::Members;
use crate::message::HeldMessage;
use crate::{GroupConfig, Refused, Reply};

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    /// Its settings.
    pub(crate) config: GroupConfig,
    /// What waits.
    pub(crate) backlog: Backlog,
    /// Its members, with what they hold.
    pub(crate) members: Members,
    /// The last message enqueued.
    pub(crate) newest: Option<MessageId>,
    /// Messages that members hold.
    pub(crate) unacked: u64,
    /// What took it out of service.
    pub(crate) fault: Option<Broken>,
}

impl Group {
    /// A group without messages and members.
    pub(crate) fn new(config: GroupConfig) -> Self {
        Self { config, backlog: Backlog::default(), members: Members::default(), newest: None, unacked: 0, fault: None }
    }

    /// All messages that it holds, in no particular order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &HeldMessage> {
        let unacked = self.members.iter().flat_map(|member| member.unacked.iter());
        self.backlog.ready.iter().chain(unacked.map(|(_, handed_out)| &handed_out.message))
    }

    /// Carries out a command's work in this group, and then all that follows from it. A broken invariant stops the
    /// group; what the command did before stands, and so does its reply.
    pub(crate) fn run(
        &mut self,
        context: &mut Context<'_>,
        work: impl FnOnce(&mut Self, &mut Context<'_>) -> Sound<Reply>,
    ) -> Reply {
        if self.fault.is_some() {
            return Reply::Refused(Refused::Faulted);
        }
        let reply = match work(self, context) {
            Ok(reply) => reply,
            Err(broken) => {
                self.fault = Some(broken);
                return Reply::Refused(Refused::Faulted);
            }
        };
        if let Err(broken) = self.dispatch(context) {
            self.fault = Some(broken);
        }
        reply
    }
}
