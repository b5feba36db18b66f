//! Whose turn it is: the members that could be handed a message, and only those, so that a member without credit costs
//! nothing to skip.
//!
//! One queue for members without filter and one per filter, each sorted by turn. The next member for a message is the
//! best front among the queues that may take it: O(filters that match), O(1) without filters. A member that was served
//! or has become servable again lines up behind all others of its priority, which is nearly always the end of a queue.
//!
//! The strategy decides among the members of the highest priority: the first in turn, where a turn counts the load
//! first (`LeastUnacked`), or whether the member is on the leading node (`LocalFirst`), or neither; or any of them
//! (`Random`).
//!
//! Invariants: queues are strictly sorted; a bit of `filters` is set exactly while the queue of that filter is not
//! empty.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cmp::Reverse;

use braid_types::{MemberId, MessageId};

use crate::Strategy;
use crate::fault::{Broken, Sound};
use crate::filters::{FilterSlot, Mask};
use crate::hasher::mix;
use crate::member::Member;
use crate::ready::Takers;

/// A member's place in line. The lower, the sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    /// Consumer priority.
    priority: Reverse<i32>,
    /// Unacked deliveries, or 1 on another node than the leading one, where that counts.
    load: usize,
    /// Rises with each lining-up, in the whole group.
    pub(crate) ticket: u64,
    /// The member.
    pub(crate) member: MemberId,
}

/// Members with credit, in turn.
#[derive(Debug)]
pub(crate) struct ServiceQueue {
    strategy: Strategy,
    /// The node that leads the partition.
    leading: Option<u64>,
    unfiltered: VecDeque<Turn>,
    /// By filter slot; made on first use.
    filtered: Vec<VecDeque<Turn>>,
    /// Filters whose queue is not empty.
    filters: Mask,
    next_ticket: u64,
    /// How many stand in line.
    len: usize,
}

impl ServiceQueue {
    /// A queue that goes on with the tickets of an earlier one.
    pub(crate) fn new(strategy: Strategy, leading: Option<u64>, next_ticket: u64) -> Self {
        Self { strategy, leading, unfiltered: VecDeque::new(), filtered: Vec::new(), filters: 0, next_ticket, len: 0 }
    }

    /// Another node leads, which counts for no one's place here.
    pub(super) fn set_leading(&mut self, leading: Option<u64>) {
        self.leading = leading;
    }

    pub(super) fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The node that leads the partition.
    pub(crate) fn leading(&self) -> Option<u64> {
        self.leading
    }

    /// The next ticket.
    pub(crate) fn next_ticket(&self) -> u64 {
        self.next_ticket
    }

    /// Who could take a message now.
    pub(crate) fn takers(&self) -> Takers {
        Takers { anyone: !self.unfiltered.is_empty(), filters: self.filters }
    }

    /// Who gets a message of this mask.
    pub(crate) fn next(&self, mask: Mask, message: MessageId) -> Option<Turn> {
        match self.strategy {
            Strategy::RoundRobin | Strategy::LeastUnacked | Strategy::Key | Strategy::LocalFirst => self.first(mask),
            Strategy::Random => self.any(mask, hash_of(message)),
        }
    }

    /// The first in turn that may take a message of this mask.
    fn first(&self, mask: Mask) -> Option<Turn> {
        if self.filters & mask == 0 {
            return self.unfiltered.front().copied();
        }
        self.matching(mask).filter_map(VecDeque::front).min().copied()
    }

    /// One of those of the highest priority that may take a message of this mask; each for as many hashes.
    fn any(&self, mask: Mask, hash: u64) -> Option<Turn> {
        let highest = self.first(mask)?.priority;
        let best_of = |queue: &VecDeque<Turn>| queue.partition_point(|turn| turn.priority <= highest);
        let count: usize = self.matching(mask).map(best_of).sum();
        let mut chosen = usize::try_from(hash % u64::try_from(count).ok()?).ok()?;
        for queue in self.matching(mask) {
            let best = best_of(queue);
            if chosen < best {
                return queue.get(chosen).copied();
            }
            chosen -= best;
        }
        None
    }

    /// The queues whose members may take a message of this mask.
    fn matching(&self, mask: Mask) -> impl Iterator<Item = &VecDeque<Turn>> {
        let mut rest = self.filters & mask;
        let filtered = core::iter::from_fn(move || {
            let slot = usize::try_from(rest.trailing_zeros()).ok().filter(|_| rest != 0)?;
            rest &= rest - 1;
            self.filtered.get(slot)
        });
        core::iter::once(&self.unfiltered).chain(filtered)
    }

    /// Takes a member that is about to be served out of the line, so that it lines up behind the others. Alone in line
    /// it is behind all others where it stands.
    pub(crate) fn step_out(&mut self, member: &mut Member) -> Sound<()> {
        if self.len == 1 && member.turn.is_some() { Ok(()) } else { self.leave(member) }
    }

    /// Lines the member up if it is servable, takes it out if it is not.
    pub(crate) fn refresh(&mut self, member: &mut Member) -> Sound<()> {
        match (member.turn, member.is_servable()) {
            (None, true) => {
                self.restore(member, self.next_ticket);
                self.next_ticket += 1;
                Ok(())
            }
            (Some(_), false) => self.leave(member),
            (Some(turn), true) if turn.load != self.load_of(member) => {
                self.leave(member)?;
                self.insert(member, Turn { load: self.load_of(member), ..turn });
                Ok(())
            }
            (None, false) | (Some(_), true) => Ok(()),
        }
    }

    fn load_of(&self, member: &Member) -> usize {
        match self.strategy {
            Strategy::LeastUnacked => member.unacked.len(),
            Strategy::LocalFirst => usize::from(self.leading.is_some_and(|leading| leading != member.owner.node)),
            Strategy::RoundRobin | Strategy::Random | Strategy::Key => 0,
        }
    }

    /// Puts a member at the place of a ticket.
    pub(crate) fn restore(&mut self, member: &mut Member, ticket: u64) {
        let load = self.load_of(member);
        let turn = Turn { priority: Reverse(member.priority), load, ticket, member: member.id };
        self.insert(member, turn);
    }

    /// Takes the member out of the line.
    pub(crate) fn leave(&mut self, member: &mut Member) -> Sound<()> {
        let turn = member.turn.take().ok_or(Broken("a member was served that had no turn"))?;
        self.len -= 1;
        let queue = self.queue_mut(member.filter);
        if queue.front() == Some(&turn) {
            queue.pop_front();
        } else {
            let place = queue.binary_search(&turn);
            place.ok().and_then(|place| queue.remove(place)).ok_or(Broken("a member's turn is not in the queue"))?;
        }
        if let Some(slot) = member.filter
            && queue.is_empty()
        {
            self.filters &= !slot.bit();
        }
        Ok(())
    }

    /// All turns, queue by queue, each with the filter of its queue.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Option<FilterSlot>, Turn)> {
        let unfiltered = self.unfiltered.iter().map(|turn| (None, *turn));
        let slots = self.filtered.iter().zip(0_u8..);
        let filtered = slots.flat_map(|(queue, slot)| queue.iter().map(move |turn| (Some(FilterSlot(slot)), *turn)));
        unfiltered.chain(filtered)
    }

    fn insert(&mut self, member: &mut Member, turn: Turn) {
        member.turn = Some(turn);
        self.len += 1;
        if let Some(slot) = member.filter {
            self.filters |= slot.bit();
        }
        let queue = self.queue_mut(member.filter);
        if queue.back().is_none_or(|back| *back < turn) {
            queue.push_back(turn);
        } else {
            let place = queue.partition_point(|other| *other < turn);
            queue.insert(place, turn);
        }
    }

    fn queue_mut(&mut self, filter: Option<FilterSlot>) -> &mut VecDeque<Turn> {
        let Some(slot) = filter else { return &mut self.unfiltered };
        let index = usize::from(slot.0);
        if self.filtered.len() <= index {
            self.filtered.resize_with(index + 1, VecDeque::new);
        }
        &mut self.filtered[index]
    }
}

fn hash_of(message: MessageId) -> u64 {
    mix(message.index.0, u64::from(message.position))
}
