//! A group of the model: what it holds, and who of its members gets what. Lists that are scanned.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use braid_machine::{
    Credit, GroupConfig, MemberConfig, MessageHeader, OnLoss, PublishIdentity, Refused, Reply, Strategy,
};
use braid_types::{DeliveryId, Filter, MemberId, MessageId, Timestamp};
use bytes::Bytes;

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) id: MessageId,
    pub(super) header: MessageHeader,
    pub(super) acquired: u32,
    pub(super) failed: u32,
    /// When it was handed out last.
    pub(super) since: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    Attached,
    Paused,
    Ended,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) config: MemberConfig,
    pub(super) state: State,
    pub(super) next: u64,
    pub(super) unacked: BTreeMap<DeliveryId, Message>,
    /// Taken away because they were held for too long, and not settled since.
    pub(super) overdue: Vec<DeliveryId>,
    /// In a group with a single active member: it is active, or quiescing.
    pub(super) chosen: bool,
    pub(super) quiescing: bool,
}

impl Member {
    pub(super) fn present(&self) -> bool {
        self.state != State::Ended
    }

    pub(super) fn may_be_served(&self) -> bool {
        let has_credit = match self.config.credit {
            Credit::Window { messages } => messages == 0 || self.unacked.len() < messages as usize,
            Credit::Granted { messages, bytes } => messages > 0 && bytes > 0,
        };
        self.state == State::Attached && self.chosen && !self.quiescing && self.overdue.is_empty() && has_credit
    }

    /// Its connection is lost: it is sent nothing more.
    pub(super) fn stop(&mut self) {
        match (self.config.on_loss, &self.state) {
            (OnLoss::Detach(_), _) => {
                self.state = State::Ended;
                self.overdue.clear();
            }
            (OnLoss::Pause, State::Attached) => self.state = State::Paused,
            (OnLoss::Pause, State::Paused | State::Ended) => {}
        }
    }

    pub(super) fn takes(&self, message: &Message) -> bool {
        match (&self.config.filter, &message.header.address) {
            (None, _) => true,
            (Some(filter), Some(address)) => filter.matches(address),
            (Some(_), None) => false,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) config: GroupConfig,
    pub(super) ready: Vec<Message>,
    pub(super) delayed: Vec<(Timestamp, Message)>,
    /// Dropped and kept.
    pub(super) dead: Vec<Message>,
    pub(super) last_used: Timestamp,
    pub(super) rejecting: bool,
    /// Last numbers of publishers, and tokens, with their times.
    pub(super) sequences: BTreeMap<Bytes, (u64, Timestamp)>,
    pub(super) tokens: BTreeMap<Bytes, Timestamp>,
    /// Filters by number: a new one gets the lowest that is free.
    pub(super) numbers: Vec<Option<Filter>>,
    pub(super) members: BTreeMap<MemberId, Member>,
    /// Members that may be served, in the order in which they became so or were served last.
    pub(super) line: Vec<MemberId>,
}

/// Before which others a message goes.
pub(super) fn order(message: &Message) -> (bool, Reverse<u8>, MessageId) {
    (message.acquired == 0, Reverse(message.header.priority.min(31)), message.id)
}

impl Group {
    /// Other settings from now on.
    pub(super) fn configure(&mut self, config: GroupConfig, now: Timestamp) {
        if config.single_active != self.config.single_active {
            for member in self.members.values_mut() {
                (member.chosen, member.quiescing) = (!config.single_active, false);
            }
        }
        self.config = config;
        self.rejecting = false;
        self.last_used = now;
    }

    /// The distinct filters of present members.
    pub(super) fn filters(&self) -> Vec<Filter> {
        let mut filters = Vec::new();
        for member in self.members.values().filter(|member| member.present()) {
            if let Some(filter) = &member.config.filter
                && !known(&filters, filter)
            {
                filters.push(filter.clone());
            }
        }
        filters
    }

    /// By key: per lane, the first message that some member may own; it goes to who holds the lane or else to its
    /// owner, if that one is in line and may take it.
    pub(super) fn next_by_key(&self, places: &[usize]) -> Option<(usize, MemberId)> {
        let mut seen = Vec::new();
        for place in places {
            let message = &self.ready[*place];
            let lane = lane(message);
            if seen.contains(&lane) {
                continue;
            }
            let owners = self.ids(|member| {
                let may_own = member.state == State::Attached && member.chosen && !member.quiescing;
                may_own && member.overdue.is_empty() && member.takes(message)
            });
            let score = |id: &MemberId| hash(hash(lane, id.index.0), u64::from(id.position));
            let Some(owner) = owners.into_iter().max_by_key(|id| (self.members[id].config.priority, score(id))) else {
                continue;
            };
            seen.push(lane);
            let holds = |member: &Member| member.unacked.values().any(|held| self::lane(held) == lane);
            let id = match self.ids(holds)[..] {
                [] => owner,
                [holder] => holder,
                // From before it dispatched by key.
                _ => continue,
            };
            if self.line.contains(&id) && self.members[&id].takes(message) {
                return Some((*place, id));
            }
        }
        None
    }

    pub(super) fn knows(&mut self, identity: &PublishIdentity, now: Timestamp) -> bool {
        let window_ms = self.config.token_window_ms.unwrap_or(120_000);
        match identity {
            PublishIdentity::Sequence { publisher, sequence } => {
                self.sequences.get(publisher).is_some_and(|(last, _)| last >= sequence)
            }
            PublishIdentity::Token { token } => {
                // What was forgotten stays so, though the window may grow later.
                self.tokens.retain(|_, time| time.plus_ms(window_ms) > now);
                self.tokens.contains_key(token)
            }
        }
    }

    pub(super) fn remember(&mut self, identity: &PublishIdentity, now: Timestamp) {
        match identity {
            PublishIdentity::Sequence { publisher, sequence } => {
                self.sequences.insert(publisher.clone(), (*sequence, now));
            }
            PublishIdentity::Token { token } => {
                self.tokens.insert(token.clone(), now);
            }
        }
    }

    /// Takes out what waits, oldest first.
    pub(super) fn take_waiting(&mut self) -> Vec<Message> {
        let mut waiting = std::mem::take(&mut self.ready);
        waiting.extend(std::mem::take(&mut self.delayed).into_iter().map(|(_, message)| message));
        waiting.sort_by_key(|message| message.id);
        waiting
    }

    /// Who may be served stands in line, behind those who stood there before; who may not does not. Who ended and holds
    /// nothing is gone.
    pub(super) fn line_up(&mut self) {
        self.number_filters();
        self.members.retain(|_, member| member.present() || !member.unacked.is_empty());
        let members = &self.members;
        self.line.retain(|id| members.get(id).is_some_and(Member::may_be_served));
        for (id, member) in members {
            if member.may_be_served() && !self.line.contains(id) {
                self.line.push(*id);
            }
        }
    }

    /// Who gets a message, of those in line that may take it.
    pub(super) fn choose(
        &self,
        mut takers: Vec<MemberId>,
        message: MessageId,
        leading: Option<u64>,
    ) -> Option<MemberId> {
        let member = |id: &MemberId| &self.members[id];
        let highest = takers.iter().map(|id| member(id).config.priority).max()?;
        takers.retain(|id| member(id).config.priority == highest);
        match self.config.strategy {
            Strategy::RoundRobin | Strategy::Key => takers.first().copied(),
            Strategy::LeastUnacked => takers.iter().min_by_key(|id| member(id).unacked.len()).copied(),
            Strategy::LocalFirst => {
                let is_remote = |id: &MemberId| leading.is_some_and(|leading| member(id).config.owner.node != leading);
                takers.iter().min_by_key(|id| is_remote(id)).copied()
            }
            Strategy::Random => {
                let number = |id: &MemberId| {
                    let filter = member(id).config.filter.as_ref()?;
                    self.numbers.iter().position(|other| other.as_ref().is_some_and(|other| same(other, filter)))
                };
                takers.sort_by_key(number);
                let hash = hash(message.index.0, u64::from(message.position));
                Some(takers[(hash % takers.len() as u64) as usize])
            }
        }
    }

    /// Single active member: the best attached one that is not overdue is active, unless one is already that is no
    /// worse or still holds something.
    pub(super) fn elect(&mut self) {
        if !self.config.single_active {
            return;
        }
        let attached: Vec<MemberId> = self.ids(|member| member.state == State::Attached && member.overdue.is_empty());
        let best = attached.iter().copied().max_by_key(|id| (self.members[id].config.priority, Reverse(*id)));
        let active = attached.iter().copied().find(|id| self.members[id].chosen);
        self.members.values_mut().for_each(|member| (member.chosen, member.quiescing) = (false, false));
        let Some(best) = best else { return };
        let is_better = |active: MemberId| self.members[&best].config.priority > self.members[&active].config.priority;
        let quiesces = active.is_some_and(|active| is_better(active) && !self.members[&active].unacked.is_empty());
        let stays = active.is_some_and(|active| !is_better(active));
        let chosen = self.members.get_mut(&active.filter(|_| quiesces || stays).unwrap_or(best)).unwrap();
        (chosen.chosen, chosen.quiescing) = (true, quiesces);
    }

    /// Members, in order of their ids.
    pub(super) fn ids(&self, which: impl Fn(&Member) -> bool) -> Vec<MemberId> {
        self.members.iter().filter(|(_, member)| which(member)).map(|(id, _)| *id).collect()
    }

    /// Gives filters their numbers.
    fn number_filters(&mut self) {
        let filters = self.filters();
        for number in &mut self.numbers {
            *number = number.take().filter(|filter| known(&filters, filter));
        }
        for filter in filters {
            if !self.numbers.iter().flatten().any(|other| same(other, &filter)) {
                match self.numbers.iter().position(Option::is_none) {
                    Some(free) => self.numbers[free] = Some(filter),
                    None => self.numbers.push(Some(filter)),
                }
            }
        }
    }

    pub(super) fn with_present(&mut self, id: MemberId, change: impl FnOnce(&mut Member) -> Reply) -> Reply {
        match self.members.get_mut(&id).filter(|member| member.present()) {
            Some(member) => change(member),
            None => Reply::Refused(Refused::NoSuchMember),
        }
    }
}

pub(super) fn known(filters: &[Filter], filter: &Filter) -> bool {
    filters.iter().any(|other| same(other, filter))
}

fn same(left: &Filter, right: &Filter) -> bool {
    left == right && left.dialect() == right.dialect()
}

/// The lane of a message's address, as the strategy by key is specified.
pub(super) fn lane(message: &Message) -> u64 {
    let mut state = 0;
    for level in message.header.address.iter().flat_map(|address| address.levels()) {
        state = hash(state, level.len() as u64);
        for chunk in level.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            state = hash(state, u64::from_le_bytes(word));
        }
    }
    state % 64
}

/// The hash that `Random` is specified with: both numbers, times the golden ratio, folded.
fn hash(left: u64, right: u64) -> u64 {
    let product = u128::from(left ^ right.rotate_left(32)) * 0x9E37_79B9_7F4A_7C15;
    (product as u64) ^ ((product >> 64) as u64)
}
