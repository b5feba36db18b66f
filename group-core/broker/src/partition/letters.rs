//! Dead letters on their way: what groups keep of them goes to the node, in bounded numbers of each group, and ends when
//! the node says that it is safe elsewhere. A group whose letters have nowhere to go holds up no other.
//!
//! Invariants: a letter is under way at most once at a time; what does not fit waits in its group, and is found there
//! again after a restart; `movable` are the groups that have letters waiting and room.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use braid_machine::{DropReason, Partition};
use braid_types::{GroupId, Message, MessageId};
use hashbrown::{HashMap, HashSet};

use crate::limits::DEAD_LETTERS_OF_GROUP_UNDER_WAY_MAX;

/// A message that died in a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter {
    pub(super) group: GroupId,
    pub(super) id: MessageId,
    pub(super) reason: DropReason,
    pub(super) delivery_count: u32,
}

/// A dead letter, for the node to publish again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The group that it died in.
    pub group: GroupId,
    /// Its name there, to say that it is safe.
    pub id: MessageId,
    /// The message.
    pub message: Arc<Message>,
    /// Why.
    pub reason: DropReason,
    /// Failed tries.
    pub delivery_count: u32,
}

/// The dead letters of a partition.
#[derive(Debug, Default)]
pub(super) struct Letters {
    by_group: HashMap<GroupId, OfGroup>,
    /// Groups with letters that wait and may set out.
    movable: BTreeSet<GroupId>,
}

/// Those of one group; at least one.
#[derive(Debug, Default)]
struct OfGroup {
    waiting: VecDeque<Letter>,
    under_way: HashSet<MessageId>,
}

impl OfGroup {
    fn may_move(&self) -> bool {
        !self.waiting.is_empty() && self.under_way.len() < DEAD_LETTERS_OF_GROUP_UNDER_WAY_MAX
    }
}

impl Letters {
    /// All that the groups keep, after a start.
    pub(super) fn of(machine: &Partition) -> Self {
        let mut letters = Self::default();
        for group in machine.groups_with_dead_letters() {
            for (id, reason, delivery_count) in machine.dead_letters(group) {
                letters.push(Letter { group, id, reason, delivery_count });
            }
        }
        letters
    }

    pub(super) fn push(&mut self, letter: Letter) {
        let group = letter.group;
        let of_group = self.by_group.entry(group).or_default();
        of_group.waiting.push_back(letter);
        if of_group.may_move() {
            self.movable.insert(group);
        }
    }

    /// They are safe, or their group is gone.
    pub(super) fn end(&mut self, group: GroupId, messages: &[MessageId]) {
        let Some(of_group) = self.by_group.get_mut(&group) else { return };
        for message in messages {
            of_group.under_way.remove(message);
        }
        if of_group.may_move() {
            self.movable.insert(group);
        } else if of_group.waiting.is_empty() && of_group.under_way.is_empty() {
            self.by_group.remove(&group);
        }
    }

    /// Forgets all letters of a group that is gone.
    pub(super) fn drop_group(&mut self, group: GroupId) {
        self.by_group.remove(&group);
        self.movable.remove(&group);
    }

    /// Those that may set out now.
    pub(super) fn take(&mut self) -> Vec<Letter> {
        let mut taken = Vec::new();
        while let Some(group) = self.movable.pop_first() {
            let Some(of_group) = self.by_group.get_mut(&group) else { continue };
            let room = DEAD_LETTERS_OF_GROUP_UNDER_WAY_MAX.saturating_sub(of_group.under_way.len());
            let before = taken.len();
            taken.extend(of_group.waiting.drain(..room.min(of_group.waiting.len())));
            of_group.under_way.extend(taken.iter().skip(before).map(|letter| letter.id));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use braid_types::LogIndex;

    use super::*;

    fn letter(group: u64, index: u64) -> Letter {
        let id = MessageId { index: LogIndex(index), position: 0 };
        Letter { group: GroupId(group), id, reason: DropReason::Rejected, delivery_count: 0 }
    }

    fn taken(letters: &mut Letters) -> Vec<(u64, u64)> {
        letters.take().iter().map(|letter| (letter.group.0, letter.id.index.0)).collect()
    }

    #[test]
    fn a_group_whose_letters_do_not_end_holds_up_no_other() {
        let limit = DEAD_LETTERS_OF_GROUP_UNDER_WAY_MAX as u64;
        let mut letters = Letters::default();
        for index in 0..limit + 2 {
            letters.push(letter(1, index));
        }
        assert_eq!(taken(&mut letters).len() as u64, limit);
        letters.push(letter(2, 7));
        letters.push(letter(1, limit + 2));
        assert_eq!(taken(&mut letters), [(2, 7)]);
        letters.end(GroupId(1), &[letter(1, 0).id]);
        assert_eq!(taken(&mut letters), [(1, limit)], "in order");
        assert_eq!(taken(&mut letters), []);
        letters.end(GroupId(2), &[letter(2, 7).id]);
        letters.drop_group(GroupId(1));
        assert!(letters.by_group.is_empty() && letters.movable.is_empty());
    }
}
