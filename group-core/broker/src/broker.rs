//! The node facade: partitions, interest, retained messages, counters.

use std::sync::Arc;

use braid_types::PartitionId;
use tokio::sync::mpsc;

use crate::{Clock, Counters, InterestTable, MemoryGauge, Owned, PartitionHandle, PartitionNote, RetainedTable};

/// How a broker is set up.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Partitions of this node.
    pub partitions: u32,
    /// Bytes of bodies that groups may hold before publishers have to wait.
    pub memory_bytes_max: usize,
    /// Random: seeds hash tables that clients fill.
    pub seed: u64,
}

/// What a node's connections work with.
#[derive(Debug)]
pub struct Broker {
    /// Time.
    pub clock: Clock,
    /// Counts.
    pub counters: Arc<Counters>,
    /// Held bodies.
    pub memory: Arc<MemoryGauge>,
    /// Plain subscriptions.
    pub interest: InterestTable,
    /// Retained messages.
    pub retained: RetainedTable,
    partitions: Vec<PartitionHandle>,
}

impl Broker {
    /// Starts the partitions on the current runtime. The receiver gets what they have to say to the node.
    #[must_use]
    pub fn start(options: Options) -> (Self, mpsc::UnboundedReceiver<PartitionNote>) {
        let clock = Clock::start();
        let counters = Arc::new(Counters::default());
        let memory = Arc::new(MemoryGauge::new(options.memory_bytes_max));
        let (notes, notes_receiver) = mpsc::unbounded_channel();
        let owned = Owned { clock, counters: Arc::clone(&counters), memory: Arc::clone(&memory), notes };
        let partitions =
            (0..options.partitions.max(1)).map(|id| PartitionHandle::start(PartitionId(id), owned.clone())).collect();
        let interest = InterestTable::new(options.seed);
        let retained = RetainedTable::new(options.seed);
        (Self { clock, counters, memory, interest, retained, partitions }, notes_receiver)
    }

    /// A partition of this node.
    #[must_use]
    pub fn partition(&self, id: PartitionId) -> Option<&PartitionHandle> {
        self.partitions.get(id.0 as usize)
    }

    /// All partitions of this node.
    #[must_use]
    pub fn partitions(&self) -> &[PartitionHandle] {
        &self.partitions
    }
}
