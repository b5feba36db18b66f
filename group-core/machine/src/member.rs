//! One member of a group: who gets its deliveries, how much more it may be sent, and what it has not settled.
//!
//! ```text
//!   attach ──▶ Attached ◀──resume/pause──▶ Paused
//!                 │                          │
//!                 └────── detach (keep) ─────┘
//!                              ▼
//!                get ──▶   Leaving ── last delivery settled ──▶ gone
//! ```
//!
//! Invariants: `turn` is what stands for the member in the service queue, and it has one exactly while it
//! [`Member::is_servable`]; a delivery of a `Granted` member is never unacked.

use alloc::collections::BTreeSet;
use core::mem;

use braid_types::{DeliveryId, MemberId, Outcome, Timestamp};

use crate::filters::FilterSlot;
use crate::members::Turn;
use crate::unacked::Unacked;
use crate::{Credit, OnLoss, Owner};

/// Where a member is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It takes messages.
    Attached,
    /// Its connection is away and may come back.
    Paused,
    /// It ended (or is a get) and is here only for what it has not settled.
    Leaving,
}

/// Whether a member is sent messages in a group with a single active member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is sent messages. In other groups every member is active.
    Active,
    /// It is sent nothing more, so that another can take its place when it has settled what it holds.
    Quiescing,
    /// Another is active.
    Standby,
}

/// A member.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) id: MemberId,
    /// Who gets its deliveries.
    pub(crate) owner: Owner,
    /// Window or grants.
    pub(crate) credit: Credit,
    /// Consumer priority; higher first.
    pub(crate) priority: i32,
    /// No other member beside it.
    pub(crate) exclusive: bool,
    /// Its filter; `None`: it takes all messages.
    pub(crate) filter: Option<FilterSlot>,
    /// Where it is in its life.
    pub(crate) presence: Presence,
    /// Whether it is its group's active member.
    pub(crate) role: Role,
    /// What it has not settled.
    pub(crate) unacked: Unacked,
    /// Deliveries that it held for too long and has not settled yet: they are not its own any more, and until it
    /// settles them it is sent nothing.
    pub(crate) overdue: BTreeSet<DeliveryId>,
    /// Its place in the service queue.
    pub(crate) turn: Option<Turn>,
    /// What [`Member::may_own`] said when the member was last looked at.
    pub(crate) owns: bool,
    /// What becomes of it when its connection is lost.
    pub(crate) on_loss: OnLoss,
}

impl Member {
    /// The member that holds what a `Get` took. It was never attached.
    pub(crate) fn of_get(id: MemberId, owner: Owner, on_loss: Outcome) -> Self {
        Self {
            id,
            owner,
            credit: Credit::Window { messages: 1 },
            priority: 0,
            exclusive: false,
            filter: None,
            presence: Presence::Leaving,
            role: Role::Standby,
            unacked: Unacked::default(),
            overdue: BTreeSet::new(),
            turn: None,
            owns: false,
            on_loss: OnLoss::Detach(on_loss),
        }
    }

    /// Attached or paused: it counts as a member of the group.
    pub(crate) fn is_present(&self) -> bool {
        self.presence != Presence::Leaving
    }

    /// It could be handed a message now.
    pub(crate) fn is_servable(&self) -> bool {
        self.may_own() && self.has_credit()
    }

    /// It will be handed messages as soon as it has credit.
    pub(crate) fn may_own(&self) -> bool {
        self.presence == Presence::Attached && self.role == Role::Active && self.overdue.is_empty()
    }

    /// Whether it has become able, or unable, to own a lane since this was last asked.
    pub(crate) fn changes_ownership(&mut self) -> bool {
        let owns = self.may_own();
        mem::replace(&mut self.owns, owns) != owns
    }

    /// It has ended and holds nothing any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.presence == Presence::Leaving && self.unacked.is_empty()
    }

    /// When it will have held its oldest delivery for `timeout_ms`.
    pub(crate) fn patient_until(&self, timeout_ms: u64) -> Option<Timestamp> {
        self.unacked.first().map(|oldest| oldest.since.plus_ms(timeout_ms))
    }

    /// Its window is open, or its grants are not used up.
    pub(crate) fn has_credit(&self) -> bool {
        match self.credit {
            Credit::Window { messages: 0 } => true,
            Credit::Window { messages } => u32::try_from(self.unacked.len()).is_ok_and(|open| open < messages),
            Credit::Granted { messages, bytes } => messages > 0 && bytes > 0,
        }
    }

    /// Uses up what was granted for a message of this size; whether the member has grants, so that its delivery is
    /// settled by being made.
    pub(crate) fn use_grant(&mut self, size_bytes: u32) -> bool {
        match &mut self.credit {
            Credit::Window { .. } => false,
            Credit::Granted { messages, bytes } => {
                *messages = messages.saturating_sub(1);
                *bytes = bytes.saturating_sub(u64::from(size_bytes));
                true
            }
        }
    }
}
