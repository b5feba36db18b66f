//! Who received what, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use braid_conformance::Failure;

/// One message in the hands of one member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receipt {
    /// Position of the member.
    pub(crate) member: usize,
    /// The message's number.
    pub(crate) id: u32,
    /// Marked as sent before; `None` where the protocol has no such mark (NATS).
    pub(crate) flagged: Option<bool>,
    /// The member acknowledged it, or its protocol has no acknowledgement.
    pub(crate) settled: bool,
}

/// All receipts, in the order in which they were reported.
#[derive(Debug)]
pub(crate) struct Ledger {
    messages: u32,
    by_message: BTreeMap<u32, Vec<Receipt>>,
    by_member: Vec<u32>,
}

impl Ledger {
    /// An empty ledger for messages 0 to `messages` - 1.
    pub(crate) fn new(messages: u32, members: usize) -> Self {
        Self { messages, by_message: BTreeMap::new(), by_member: vec![0; members] }
    }

    /// Enters a receipt.
    pub(crate) fn enter(&mut self, receipt: Receipt) -> Result<(), Failure> {
        if receipt.id >= self.messages {
            return Err(Failure::new(format!("{receipt:?} was never published")));
        }
        self.by_member[receipt.member] += 1;
        self.by_message.entry(receipt.id).or_default().push(receipt);
        Ok(())
    }

    /// Messages that came at least once.
    pub(crate) fn distinct(&self) -> usize {
        self.by_message.len()
    }

    /// Receipts of each member.
    pub(crate) fn taken_by_member(&self) -> Vec<u32> {
        self.by_member.clone()
    }

    /// Messages that came more than once.
    pub(crate) fn duplicates(&self) -> Vec<u32> {
        self.by_message.iter().filter(|(_, receipts)| receipts.len() > 1).map(|(id, _)| *id).collect()
    }

    /// Messages that nobody settled.
    pub(crate) fn missing(&self) -> Vec<u32> {
        let settled =
            |id: &u32| self.by_message.get(id).is_some_and(|receipts| receipts.iter().any(|receipt| receipt.settled));
        (0..self.messages).filter(|id| !settled(id)).collect()
    }

    /// Messages that `members` had received and not acknowledged.
    pub(crate) fn held_by(&self, members: &[usize]) -> BTreeSet<u32> {
        let receipts = self.by_message.values().flatten();
        receipts
            .filter(|receipt| members.contains(&receipt.member) && !receipt.settled)
            .map(|receipt| receipt.id)
            .collect()
    }

    /// Receipts after the first of a message that were not marked, where the protocol has a mark.
    pub(crate) fn unflagged_repeats(&self) -> Vec<Receipt> {
        let repeats = self.by_message.values().flat_map(|receipts| receipts.iter().skip(1));
        repeats.filter(|receipt| receipt.flagged == Some(false)).copied().collect()
    }
}
