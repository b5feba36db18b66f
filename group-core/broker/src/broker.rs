//! The node facade: partitions, interest, retained messages, counters, and the log that they share.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_log::disk::Disk;
use braid_log::{MaintenanceThread, Opened, Statistics, Wal, WriterThread};
use braid_types::{PartitionId, PartitionKind};
use tokio::sync::mpsc;

use crate::partition::{NodeLog, Owned};
use crate::{Clock, Counters, InterestTable, MemoryGauge, PartitionHandle, PartitionNote, RetainedTable};

/// How a broker is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The node's number.
    pub node: u64,
    /// Partitions of this node, of each kind.
    pub partitions: u32,
    /// Bytes of bodies that groups may hold in memory before publishers have to wait.
    pub memory_bytes_max: usize,
    /// Random: seeds hash tables that clients fill.
    pub seed: u64,
    /// The log; without one only partitions in memory are there.
    pub log: Option<LogOptions>,
}

/// Where the log is, and how it is set up.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Its settings.
    pub log: braid_log::Options,
    /// Its files.
    pub disk: Arc<dyn Disk>,
    /// Partitions that must be in it, because groups of theirs are known. One that is not was lost: it is out of service,
    /// and does not begin anew (SPEC section 8, P3).
    pub required: BTreeSet<PartitionId>,
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
    node: u64,
    per_kind: u32,
    /// As many of each kind, in the order of the kinds.
    partitions: Vec<PartitionHandle>,
    log: Option<RunningLog>,
}

/// The log with the threads that drive it.
#[derive(Debug)]
struct RunningLog {
    wal: Wal,
    _maintenance: MaintenanceThread,
    _writer: WriterThread,
}

/// Why a broker did not start. A damaged partition is no reason: it is out of service, alone.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The operator: the log cannot be opened. Nothing was changed in it.
    #[error("the log cannot be opened: {0}")]
    Log(#[from] braid_log::Error),
    /// The operator: the operating system gives no threads.
    #[error("the log's threads: {0}")]
    Threads(std::io::Error),
}

impl Broker {
    /// Opens the log and starts the partitions on the current runtime; returns when all of them serve or are known to be
    /// out of service. The receiver gets what they have to say to the node.
    ///
    /// # Errors
    /// The log cannot be opened.
    pub async fn start(options: Options) -> Result<(Self, mpsc::UnboundedReceiver<PartitionNote>), StartError> {
        let clock = Clock::start();
        let counters = Arc::new(Counters::default());
        let memory = Arc::new(MemoryGauge::new(options.memory_bytes_max));
        let log = match options.log {
            Some(log) => Some(open_log(log).await?),
            None => None,
        };
        let (notes, notes_receiver) = mpsc::unbounded_channel();
        let owned = Owned {
            node: options.node,
            clock,
            counters: Arc::clone(&counters),
            memory: Arc::clone(&memory),
            notes,
            blank: crate::partition::blank(),
        };
        let per_kind = options.partitions.max(1);
        let mut partitions = Vec::new();
        let mut starting = Vec::new();
        for kind in PartitionKind::ALL {
            let of_kind = match (kind, &log) {
                (PartitionKind::Memory, _) => None,
                (_, Some((_, log))) => Some(log.clone()),
                (_, None) => continue,
            };
            for number in 0..per_kind {
                let id = PartitionId::new(0, kind, number);
                let (partition, started) = PartitionHandle::start(id, owned.clone(), of_kind.clone());
                partitions.push(partition);
                starting.push(started);
            }
        }
        for started in starting {
            // What is wrong was logged and counted where it was found.
            drop(started.await);
        }
        let interest = InterestTable::new(options.seed);
        let retained = RetainedTable::new(options.seed);
        let (node, log) = (options.node, log.map(|(running, _)| running));
        Ok((Self { clock, counters, memory, interest, retained, node, per_kind, partitions, log }, notes_receiver))
    }

    /// The node's number.
    #[must_use]
    pub fn node(&self) -> u64 {
        self.node
    }

    /// A partition of this node.
    #[must_use]
    pub fn partition(&self, id: PartitionId) -> Option<&PartitionHandle> {
        let kind = PartitionKind::ALL.iter().position(|kind| id.kind() == Some(*kind))?;
        let place = kind * self.per_kind as usize + id.number() as usize;
        self.partitions.get(place).filter(|partition| partition.id() == id)
    }

    /// All partitions of this node.
    #[must_use]
    pub fn partitions(&self) -> &[PartitionHandle] {
        &self.partitions
    }

    /// Partitions of each kind.
    #[must_use]
    pub fn partitions_per_kind(&self) -> u32 {
        self.per_kind
    }

    /// Looks whether the log still runs. If it has failed, its partitions step down, idle ones too; to be called now and
    /// then. Says whether it runs.
    #[must_use]
    pub fn check_log(&self) -> bool {
        let Some(Err(error)) = self.log.as_ref().map(|log| log.wal.check()) else { return true };
        tracing::error!(%error, "the log has failed; its groups are out of service until the node is restarted");
        self.partitions.iter().for_each(PartitionHandle::check_log);
        false
    }

    /// What the log has done in this run.
    #[must_use]
    pub fn log_statistics(&self) -> Option<Statistics> {
        self.log.as_ref().map(|log| log.wal.statistics())
    }
}

async fn open_log(options: LogOptions) -> Result<(RunningLog, NodeLog), StartError> {
    let LogOptions { log, disk, required } = options;
    let record_bytes_max = log.record_bytes_max();
    let opening = tokio::task::spawn_blocking(move || Wal::open(log, disk));
    let opened = opening.await.map_err(|error| StartError::Threads(error.into()))??;
    let Opened { wal, writer, maintenance, recovery } = opened;
    tracing::info!(
        partitions = recovery.partitions.len(),
        segments = recovery.segments,
        records = recovery.records,
        size_bytes = recovery.size_bytes,
        torn_at = ?recovery.torn_at,
        "the log is open"
    );
    for damage in &recovery.damages {
        tracing::error!(%damage, "the log is damaged");
    }
    for (segment, offset) in &recovery.unattributed {
        tracing::error!(segment, offset, "the log is damaged, and it cannot be told whose records these were");
    }
    let writer = writer.spawn().map_err(StartError::Threads)?;
    let maintenance = maintenance.spawn().map_err(StartError::Threads)?;
    let lost = required.into_iter().filter(|id| !recovery.partitions.contains(id)).collect();
    let node_log = NodeLog { wal: wal.clone(), record_bytes_max, lost: Arc::new(lost) };
    Ok((RunningLog { wal, _maintenance: maintenance, _writer: writer }, node_log))
}
