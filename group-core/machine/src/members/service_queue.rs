//! Whose turn it is: the members that could be handed a message, and only those, so that a member without credit costs
//! nothing to skip.
//!
//! One queue for members without filter and one per filter, each sorted by turn. The next member for a message is the
//! best front among the queues that may take it: O(filters that match), O(1) without filters. A member that was served
//! or has become servable again lines up behind all others of its priority, which is nearly always the end of a queue.
//!
//! Invariants: queues are strictly sorted; a bit of `filters` is set exactly while the queue of that filter is not empty.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cmp::Reverse;

use braid_types::MemberId;

use crate::fault::{Broken, Sound};
use crate::filters::{FilterSlot, Mask};
use crate::member::Member;
use crate::ready::Takers;

/// A member's place in line. The lower, the sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    /// Consumer priority.
    priority: Reverse<i32>,
    /// Rises with each lining-up, in the whole group.
    pub(crate) ticket: u64,
    /// The member.
    pub(crate) member: MemberId,
}

/// Members with credit, in turn.
#[derive(Debug, Default)]
pub(crate) struct ServiceQueue {
    unfiltered: VecDeque<Turn>,
    /// By filter slot; made on first use.
    filtered: Vec<VecDeque<Turn>>,
    /// Filters whose queue is not empty.
    filters: Mask,
    next_ticket: u64,
}

impl ServiceQueue {
    /// A queue that goes on with the tickets of an earlier one.
    pub(crate) fn starting_at(next_ticket: u64) -> Self {
        Self { next_ticket, ..Self::default() }
    }

    /// The next ticket.
    pub(crate) fn next_ticket(&self) -> u64 {
        self.next_ticket
    }

    /// Who could take a message now.
    pub(crate) fn takers(&self) -> Takers {
        Takers { anyone: !self.unfiltered.is_empty(), filters: self.filters }
    }

    /// The first in turn that may take a message of this mask.
    pub(crate) fn first(&self, mask: Mask) -> Option<Turn> {
        let mut best = self.unfiltered.front();
        let mut matching = self.filters & mask;
        while matching != 0 {
            let slot = usize::try_from(matching.trailing_zeros()).unwrap_or(usize::MAX);
            matching &= matching - 1;
            let front = self.filtered.get(slot).and_then(VecDeque::front);
            best = match (best, front) {
                (Some(best), Some(front)) => Some(best.min(front)),
                (best, front) => best.or(front),
            };
        }
        best.copied()
    }

    /// Lines the member up if it is servable, takes it out if it is not.
    pub(crate) fn refresh(&mut self, member: &mut Member) -> Sound<()> {
        match (member.turn, member.is_servable()) {
            (None, true) => {
                let turn = Turn { priority: Reverse(member.priority), ticket: self.next_ticket, member: member.id };
                self.next_ticket += 1;
                self.insert(member, turn);
                Ok(())
            }
            (Some(_), false) => self.leave(member),
            (None, false) | (Some(_), true) => Ok(()),
        }
    }

    /// Puts a member back at the place that a snapshot says it had.
    pub(crate) fn restore(&mut self, member: &mut Member, ticket: u64) {
        let turn = Turn { priority: Reverse(member.priority), ticket, member: member.id };
        self.insert(member, turn);
    }

    /// Takes the member out of the line.
    pub(crate) fn leave(&mut self, member: &mut Member) -> Sound<()> {
        let turn = member.turn.take().ok_or(Broken("a member was served that had no turn"))?;
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
