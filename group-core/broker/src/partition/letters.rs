//! Dead letters on their way: what groups keep of them goes to the node in bounded numbers, and ends when the node says
//! that it is safe elsewhere.
//!
//! Invariant: a letter is under way at most once at a time; what does not fit waits in its group, and is found there
//! again after a restart.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_machine::{DropReason, Partition};
use braid_types::{GroupId, Message, MessageId};
use hashbrown::HashSet;

use crate::limits::DEAD_LETTERS_UNDER_WAY_MAX;

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
    queue: VecDeque<Letter>,
    under_way: HashSet<(GroupId, MessageId)>,
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
        self.queue.push_back(letter);
    }

    /// They are safe, or their group is gone.
    pub(super) fn end(&mut self, group: GroupId, messages: &[MessageId]) {
        for message in messages {
            self.under_way.remove(&(group, *message));
        }
    }

    /// Forgets all letters of a group that is gone.
    pub(super) fn drop_group(&mut self, group: GroupId) {
        self.queue.retain(|letter| letter.group != group);
        self.under_way.retain(|(other, _)| *other != group);
    }

    /// Those that may set out now.
    pub(super) fn take(&mut self) -> Vec<Letter> {
        let room = DEAD_LETTERS_UNDER_WAY_MAX.saturating_sub(self.under_way.len()).min(self.queue.len());
        let taken: Vec<Letter> = self.queue.drain(..room).collect();
        self.under_way.extend(taken.iter().map(|letter| (letter.group, letter.id)));
        taken
    }
}
