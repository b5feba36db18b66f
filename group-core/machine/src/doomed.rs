//! What was purged or deleted with a group and is let go of in steps: a queue of millions must not stop the partition, or
//! fill its memory with effects, when it goes.
//!
//! Nobody sees it any more; only its bodies are still there. A snapshot does not have it: for the log it is gone.
//!
//! Invariant: in each entry of the log some of it goes, so it is empty after finitely many.

use alloc::vec::Vec;

use braid_types::LogIndex;

use crate::Effect;
use crate::limits::DOOMED_PER_ENTRY;
use crate::message::HeldMessage;
use crate::ready::Ready;
use crate::references::References;

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct Doomed {
    lots: Vec<Ready>,
    /// The entry in which something went last.
    last: LogIndex,
}

impl Doomed {
    /// Nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.lots.is_empty()
    }

    /// Takes over what a group had.
    pub(crate) fn add(&mut self, lot: Ready) {
        if !lot.is_empty() {
            self.lots.push(lot);
        }
    }

    /// Lets go of some messages, once in each entry.
    pub(crate) fn let_go(&mut self, entry: LogIndex, references: &mut References, effects: &mut Vec<Effect>) {
        if self.lots.is_empty() || self.last == entry {
            return;
        }
        self.last = entry;
        for _ in 0..DOOMED_PER_ENTRY {
            let Some(lot) = self.lots.first_mut() else { return };
            let Some(message) = lot.first().and_then(|class| lot.pop(class)) else {
                self.lots.remove(0);
                continue;
            };
            if !message.shared || references.release(message.id) {
                effects.push(Effect::Forget { message: message.id });
            }
        }
    }

    /// What is left, in no particular order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &HeldMessage> {
        self.lots.iter().flat_map(Ready::iter)
    }
}
