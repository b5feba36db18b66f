//! What listings show of a member.

use braid_types::{Filter, MemberId, Timestamp};

use super::skipped::{Skipped, skipped};
use crate::group::Group;
use crate::member::{Member, Presence};
use crate::{Credit, Owner};

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
    pub(super) fn new(group: &'a Group, member: &'a Member) -> Self {
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
