//! Single active member (SPEC section 3, dispatch): one member is sent messages, the others stand by.
//!
//! ```text
//!                  nobody is active                 a better one came while it held deliveries
//!   Standby ──────────────────────────▶ Active ────────────────────────────────────────────────▶ Quiescing
//!      ▲                                  │  ▲                                                      │   │
//!      └── ended, paused, or a better ────┘  └──────────── the better one has gone ─────────────────┘   │
//!      ▲   one came and it held nothing                                                                 │
//!      └──────────────────────── its last delivery was settled; the better one is active ───────────────┘
//! ```
//!
//! The best is the one of the highest priority, among equals the oldest; an active member is only replaced for a higher
//! priority, or when it is overdue: what it held for too long went back. So work is handed over without two members at
//! work at a time.
//!
//! Invariant: at most one member is active or quiescing, and one is if any is attached and not overdue.

use alloc::vec::Vec;
use core::cmp::Reverse;

use braid_types::MemberId;

use crate::context::Context;
use crate::fault::Sound;
use crate::group::Group;
use crate::member::{Member, Presence, Role};

impl Group {
    /// After members came, went or settled: gives the roles anew. O(members), for groups with a single active member.
    pub(crate) fn elect(&mut self, context: &mut Context<'_>) -> Sound<()> {
        if !self.config.single_active {
            return Ok(());
        }
        let is_able = |member: &&Member| member.presence == Presence::Attached && member.overdue.is_empty();
        let best = self.members.iter().filter(is_able).max_by_key(|member| (member.priority, Reverse(member.id)));
        let active = self.members.iter().filter(is_able).find(|member| member.role != Role::Standby);
        let (chosen, role) = match (best, active) {
            (None, _) => (None, Role::Standby),
            (Some(best), Some(active)) if best.priority <= active.priority => (Some(active.id), Role::Active),
            (Some(_), Some(active)) if !active.unacked.is_empty() => (Some(active.id), Role::Quiescing),
            (Some(best), _) => (Some(best.id), Role::Active),
        };
        self.give_roles(context, chosen, role)
    }

    fn give_roles(&mut self, context: &mut Context<'_>, chosen: Option<MemberId>, role: Role) -> Sound<()> {
        let role_of = |id| if Some(id) == chosen { role } else { Role::Standby };
        let changed = self.members.iter().filter(|member| member.role != role_of(member.id));
        let changed: Vec<MemberId> = changed.map(|member| member.id).collect();
        for id in changed {
            if let Some(member) = self.members.get_mut(id) {
                member.role = role_of(id);
            }
            self.refresh(context, id)?;
        }
        Ok(())
    }
}
