//! What waits to be written, in the order of submission.

use std::collections::VecDeque;

use braid_types::PartitionId;

use crate::{
    Callback,
    format::{BLOCK_BYTES, Kind, MARK_BYTES_MAX, Record, round_up},
};

/// A record to be written.
pub(crate) struct Queued {
    pub(crate) kind: Kind,
    pub(crate) partition: PartitionId,
    pub(crate) index: u64,
    pub(crate) term: u64,
    pub(crate) chain: u64,
    pub(crate) record: Record,
    /// For bodies that are rewritten: the segment that they leave.
    pub(crate) leaves: Option<u32>,
    pub(crate) done: Option<Callback>,
}

impl std::fmt::Debug for Queued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queued")
            .field("kind", &self.kind)
            .field("partition", &self.partition)
            .field("index", &self.index)
            .field("chain", &self.chain)
            .finish_non_exhaustive()
    }
}

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    items: VecDeque<Queued>,
    /// Bytes of their records.
    pub(crate) bytes: usize,
    /// Bytes that they take on disk at worst.
    pub(crate) charge: usize,
    /// Records ever submitted.
    pub(crate) submitted: u64,
    /// Records ever made durable. All before any that is.
    pub(crate) durable: u64,
    /// The writer sleeps.
    pub(crate) is_writer_asleep: bool,
}

impl Queue {
    /// Bytes that a record takes on disk at worst: a batch of its own.
    pub(crate) fn charge_of(record: &Record) -> usize {
        round_up(MARK_BYTES_MAX + record.size_bytes(), BLOCK_BYTES)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn front(&self) -> Option<&Queued> {
        self.items.front()
    }

    pub(crate) fn push(&mut self, queued: Queued) {
        self.submitted += 1;
        self.bytes += queued.record.size_bytes();
        self.charge += Self::charge_of(&queued.record);
        self.items.push_back(queued);
    }

    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let queued = self.items.pop_front()?;
        self.bytes -= queued.record.size_bytes();
        self.charge -= Self::charge_of(&queued.record);
        Some(queued)
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Queued> + use<'_> {
        (self.bytes, self.charge) = (0, 0);
        self.items.drain(..)
    }
}
