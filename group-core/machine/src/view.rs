//! What listings show of a group and its members. Reads only.

use braid_types::{Filter, GroupId, MemberId, Timestamp};

use crate::group::Group;
use crate::member::{Member, Presence, Role};
use crate::ready::Takers;
use crate::{Credit, GroupConfig, Owner};

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
            Self::NothingMatches => "its filter matches no ready message",
        }
    }
}

/// A group, as listings show it.
#[derive(Clone, Copy, Debug)]
pub struct GroupView<'a> {
    id: GroupId,
    group: &'a Group,
}

impl<'a> GroupView<'a> {
    pub(crate) fn new(id: GroupId, group: &'a Group) -> Self {
        Self { id, group }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> GroupId {
        self.id
    }

    /// Its settings.
    #[must_use]
    pub fn config(&self) -> &'a GroupConfig {
        &self.group.config
    }

    /// Messages that wait for a member.
    #[must_use]
    pub fn ready(&self) -> u64 {
        self.group.backlog.ready.count()
    }

    /// The sum of their sizes, in bytes.
    #[must_use]
    pub fn ready_bytes(&self) -> u64 {
        self.group.backlog.ready.size_bytes()
    }

    /// Ready messages that no present member may take, whatever its credit: no filter matches them.
    #[must_use]
    pub fn unmatched(&self) -> u64 {
        let present = self.group.members.iter().filter(|member| member.is_present());
        let takers = present.fold(Takers::default(), |takers, member| match member.filter {
            None => Takers { anyone: true, ..takers },
            Some(slot) => Takers { filters: takers.filters | slot.bit(), ..takers },
        });
        let classes = self.group.backlog.ready.classes().iter();
        classes.filter(|class| !takers.may_take(class.mask())).map(|class| class.len()).sum()
    }

    /// Messages that wait for their next try.
    #[must_use]
    pub fn delayed(&self) -> u64 {
        self.group.backlog.delayed.count()
    }

    /// Messages that were handed out and not settled.
    #[must_use]
    pub fn unacked(&self) -> u64 {
        self.group.unacked
    }

    /// Members that are attached or paused.
    #[must_use]
    pub fn member_count(&self) -> usize {
        self.group.members.present()
    }

    /// The broken invariant that took the group out of service, if one did.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        self.group.fault.map(|broken| broken.0)
    }

    /// Its members, oldest first; those that ended and still hold deliveries, and gets, too.
    pub fn members(&self) -> impl Iterator<Item = MemberView<'a>> + use<'a> {
        let group = self.group;
        group.members.iter().map(|member| MemberView::new(group, member))
    }
}

/// A member, as listings show it.
#[derive(Clone, Copy, Debug)]
pub struct MemberView<'a> {
    /// Its id.
    pub id: MemberId,
    /// Who gets its deliveries.
    pub owner: Owner,
    /// Window or grants, as they stand.
    pub credit: Credit,
    /// Messages that it may still be sent; `None`: unlimited.
    pub credit_messages: Option<u64>,
    /// Deliveries that it has not settled.
    pub unacked: u64,
    /// When the oldest of them was handed out.
    pub unacked_since: Option<Timestamp>,
    /// Consumer priority.
    pub priority: i32,
    /// It holds the group alone.
    pub exclusive: bool,
    /// Its filter; `None`: it takes all messages.
    pub filter: Option<&'a Filter>,
    /// Its connection is away.
    pub paused: bool,
    /// Why it is sent nothing just now; `None` when it is sent what comes.
    pub skipped: Option<Skipped>,
}

impl<'a> MemberView<'a> {
    fn new(group: &'a Group, member: &'a Member) -> Self {
        let unacked = u64::try_from(member.unacked.len()).unwrap_or(u64::MAX);
        let credit_messages = match member.credit {
            Credit::Window { messages: 0 } => None,
            Credit::Window { messages } => Some(u64::from(messages).saturating_sub(unacked)),
            Credit::Granted { messages, bytes } => Some(if bytes == 0 { 0 } else { u64::from(messages) }),
        };
        Self {
            id: member.id,
            owner: member.owner,
            credit: member.credit,
            credit_messages,
            unacked,
            unacked_since: member.unacked.first().map(|handed_out| handed_out.since),
            priority: member.priority,
            exclusive: member.exclusive,
            filter: member.filter.and_then(|slot| group.backlog.filters.get(slot)),
            paused: member.presence == Presence::Paused,
            skipped: skipped(group, member),
        }
    }
}

fn skipped(group: &Group, member: &Member) -> Option<Skipped> {
    if group.fault.is_some() {
        return Some(Skipped::Faulted);
    }
    match member.presence {
        Presence::Paused => return Some(Skipped::Paused),
        Presence::Leaving => return Some(Skipped::Leaving),
        Presence::Attached => {}
    }
    match member.role {
        Role::Standby => return Some(Skipped::Standby),
        Role::Quiescing => return Some(Skipped::Quiescing),
        Role::Active => {}
    }
    if !member.overdue.is_empty() {
        return Some(Skipped::Overdue);
    }
    if !member.has_credit() {
        return Some(match member.credit {
            Credit::Window { .. } => Skipped::WindowFull,
            Credit::Granted { .. } => Skipped::NothingGranted,
        });
    }
    // It has credit, so whatever is ready was not for it.
    (group.backlog.ready.count() > 0).then_some(Skipped::NothingMatches)
}
