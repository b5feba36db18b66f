//! Why a member is sent nothing, for `group explain`.

use crate::Credit;
use crate::group::Group;
use crate::member::{Member, Presence, Role};

/// Why a member is sent nothing just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The group is out of service.
    Faulted,
    /// Its connection is away.
    Paused,
    /// It ended; it is here only for what it has not settled.
    Leaving,
    /// It holds as many unacked deliveries as its window allows.
    WindowFull,
    /// Its grants are used up.
    NothingGranted,
    /// The group has a single active member, and it is another.
    Standby,
    /// It was the single active member; another takes its place when it has settled what it holds.
    Quiescing,
    /// It held deliveries for too long and has to settle them first.
    Overdue,
    /// Messages are ready, but its filter matches none of them.
    NothingMatches,
    /// Messages are ready, but they are in lanes of other members (strategy by key).
    OtherLanes,
}

impl Skipped {
    /// In words, for listings.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Faulted => "the group is out of service",
            Self::Paused => "its connection is away",
            Self::Leaving => "it ended and has deliveries to settle",
            Self::WindowFull => "its window is full",
            Self::Overdue => "it held deliveries for too long and has to settle them",
            Self::Standby => "another member is the active one",
            Self::Quiescing => "it settles what it holds before another member takes its place",
            Self::NothingGranted => "its credit is used up",
            Self::OtherLanes => "the ready messages have keys of other members",
            Self::NothingMatches => "its filter matches no ready message",
        }
    }
}

/// Why `member` is sent nothing just now, if so.
pub(super) fn skipped(group: &Group, member: &Member) -> Option<Skipped> {
    if group.fault.is_some() {
        return Some(Skipped::Faulted);
    }
    match member.presence {
        Presence::Paused => return Some(Skipped::Paused),
        Presence::Leaving => return Some(Skipped::Leaving),
        Presence::Attached => {}
    }
    if !member.overdue.is_empty() {
        return Some(Skipped::Overdue);
    }
    match member.role {
        Role::Standby => return Some(Skipped::Standby),
        Role::Quiescing => return Some(Skipped::Quiescing),
        Role::Active => {}
    }
    if !member.has_credit() {
        return Some(match member.credit {
            Credit::Window { .. } => Skipped::WindowFull,
            Credit::Granted { .. } => Skipped::NothingGranted,
        });
    }
    // It has credit, so whatever is ready was not for it.
    let matches = |mask| member.filter.is_none_or(|slot| slot.bit() & mask != 0);
    let mut waiting = group.backlog.ready.classes().iter().filter(|class| !class.is_empty());
    if waiting.any(|class| matches(class.key().mask)) {
        return Some(Skipped::OtherLanes);
    }
    (group.backlog.ready.count() > 0).then_some(Skipped::NothingMatches)
}
