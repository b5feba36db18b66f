//! A member to attach: who gets its deliveries, how they are limited, and what its loss means.

use braid_types::{ConnectionId, Filter, Outcome};

/// Who gets a member's deliveries: opaque to the machine, carried back in [`crate::Effect`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The node that the connection is on.
    pub node: u64,
    /// The connection, unique within its node's run.
    pub connection: ConnectionId,
    /// The connection's own number for this attachment.
    pub attachment: u32,
}

/// How a member's deliveries are settled and limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credit {
    /// Settled by the client; at most `messages` unacked (0: unlimited). Refilled by settling.
    Window {
        /// The window.
        messages: u32,
    },
    /// Settled by the very command that dispatches; limited by what was granted and not yet used.
    Granted {
        /// Messages.
        messages: u32,
        /// Bytes; the last message may exceed it.
        bytes: u64,
    },
}

/// A member to attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberConfig {
    /// Who gets its deliveries.
    pub owner: Owner,
    /// Window or grants.
    pub credit: Credit,
    /// Higher first.
    pub priority: i32,
    /// No other member beside it.
    pub exclusive: bool,
    /// Offered only messages whose address matches; `None`: all.
    pub filter: Option<Filter>,
    /// What becomes of it when its connection is lost.
    pub on_loss: OnLoss,
}

/// What becomes of a member when its connection is lost (SPEC section 3, settlement).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// It ends, and what it held ends so.
    Detach(Outcome),
    /// It waits for another connection (a persistent session), with those of its deliveries that have to stay with it.
    Pause,
}
