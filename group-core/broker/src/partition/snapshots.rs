//! When a snapshot is made, and of what: of the groups that changed since the last one, encoded at once and written
//! beside the partition's work, which goes on.

use braid_log::{Capture, SnapshotMeta, Wal};
use braid_replica::{Error, SnapshotRequest};
use braid_types::{GroupId, LogIndex, Term};
use bytes::{BufMut, Bytes, BytesMut};
use hashbrown::HashSet;
use tokio::sync::mpsc;

use super::owner::Owner;
use crate::limits::SNAPSHOT_RECLAIMS_BYTES;

/// The part of a snapshot that is no group: the last entry whose bodies are known (8 bytes, little-endian), and what the
/// machine has beside groups.
pub(super) const HEAD: u64 = 0;

/// What is known of snapshots.
#[derive(Debug)]
pub(super) struct Snapshots {
    /// Bytes of the log that one would free.
    reclaims_bytes: u64,
    /// Size of the last one that was written.
    size_bytes: u64,
    /// One is being made.
    pub(super) is_under_way: bool,
    /// The last one failed, or there was none: what it was to have is not known to be on disk.
    pub(super) needs_all: bool,
    /// The last entry of commands that was applied: bodies up to here are those of messages that the machine knows, or of
    /// nobody. Those after it may be pieces of a message that it does not know yet.
    pub(super) known_upto: LogIndex,
    /// The log up to here is to go.
    pub(super) purge_due: Option<(LogIndex, Term)>,
    /// Holds one at most, and is read while the disk is full too: what it says makes room.
    written: mpsc::UnboundedReceiver<Box<Written>>,
    writers: mpsc::UnboundedSender<Box<Written>>,
}

impl Default for Snapshots {
    fn default() -> Self {
        let (writers, written) = mpsc::unbounded_channel();
        let (reclaims_bytes, size_bytes, is_under_way, needs_all, purge_due) = (0, 0, false, false, None);
        let known_upto = LogIndex(0);
        Self { reclaims_bytes, size_bytes, is_under_way, needs_all, known_upto, purge_due, written, writers }
    }
}

impl Snapshots {
    /// The next one that was written, or not. Cancel safe.
    pub(super) async fn written(&mut self) -> Box<Written> {
        match self.written.recv().await {
            Some(written) => written,
            // It is never closed: one that writes is here.
            None => std::future::pending().await,
        }
    }

    /// Bodies of so many bytes are not needed any more.
    pub(super) fn note_forgotten(&mut self, bytes: u64) {
        self.reclaims_bytes += bytes;
    }

    /// The entry `index` of so many bytes is applied.
    pub(super) fn note_applied(&mut self, index: LogIndex, bytes: usize) {
        self.reclaims_bytes += bytes as u64;
        self.known_upto = index;
    }
}

/// A snapshot that was written, or not.
#[derive(Debug)]
pub(crate) struct Written {
    index: LogIndex,
    term: Term,
    result: Result<u64, braid_log::Error>,
    request: Option<SnapshotRequest>,
}

/// A part, as it is to be written; `None`: as the last snapshot has it.
type Parts = Vec<(u64, Option<Bytes>)>;

impl Owner {
    /// Begins a snapshot when it is worth it.
    pub(super) fn consider_snapshot(&mut self) {
        let Some(logged) = &mut self.logged else { return };
        let snapshots = &logged.snapshots;
        let is_worth_it = if self.owned.memory.is_disk_full() || logged.waits_for_room {
            snapshots.reclaims_bytes >= logged.full_disk_reclaims_bytes().max(snapshots.size_bytes)
        } else {
            snapshots.reclaims_bytes >= SNAPSHOT_RECLAIMS_BYTES.max(snapshots.size_bytes * 2)
        };
        if logged.leads && is_worth_it && !snapshots.is_under_way {
            self.begin_snapshot();
        }
    }

    /// Begins a snapshot, unless one is being made.
    pub(super) fn begin_snapshot(&mut self) {
        let Some(logged) = &mut self.logged else { return };
        if logged.snapshots.is_under_way || !logged.leads {
            return;
        }
        logged.snapshots.is_under_way = true;
        if logged.journal.begin_snapshot() {
            self.take_snapshot(None);
        }
    }

    /// Takes note of the state as it is now, and has it written.
    pub(super) fn take_snapshot(&mut self, request: Option<SnapshotRequest>) {
        self.forget_in_log();
        let Some(logged) = &mut self.logged else { return };
        logged.snapshots.is_under_way = true;
        let note = request.as_ref().map_or_else(|| logged.journal.snapshot_note(), SnapshotRequest::note);
        let meta = SnapshotMeta { last: self.index, term: self.term, note };
        let wal = logged.wal.clone();
        let (index, term) = (self.index, self.term);
        let capture = match wal.capture(logged.partition) {
            Ok(capture) => capture,
            Err(error) => return self.snapshot_written(Written { index, term, result: Err(error), request }),
        };
        logged.snapshots.reclaims_bytes = 0;
        let changed: HashSet<GroupId> = self.machine.take_changed().into_iter().collect();
        let needs_all = std::mem::take(&mut logged.snapshots.needs_all);
        let mut head = BytesMut::new();
        head.put_u64_le(logged.snapshots.known_upto.0);
        self.machine.put_head(&mut head);
        let mut parts: Parts = vec![(HEAD, Some(head.freeze()))];
        let mut part = BytesMut::new();
        for group in self.machine.group_ids() {
            if needs_all || changed.contains(&group) {
                self.machine.put_group(group, &mut part);
                parts.push((group.0, Some(part.split().freeze())));
            } else {
                parts.push((group.0, None));
            }
        }
        let writers = logged.snapshots.writers.clone();
        tokio::task::spawn_blocking(move || {
            let result = write(&wal, capture, meta, &parts);
            if writers.send(Box::new(Written { index, term, result, request })).is_err() {
                tracing::debug!("the partition has stopped");
            }
        });
    }

    /// The log up to a snapshot that was written may go.
    pub(super) fn snapshot_written(&mut self, written: Written) {
        let Some(logged) = &mut self.logged else { return };
        let Written { index, term, result, request } = written;
        logged.snapshots.is_under_way = false;
        let partition = self.id.0;
        match result {
            Ok(size_bytes) => {
                logged.snapshots.size_bytes = size_bytes;
                tracing::debug!(partition, index = index.0, size_bytes, "a snapshot was written");
                if let Some(request) = request {
                    request.done(Ok(()));
                }
                logged.snapshots.purge_due = Some((index, term));
                logged.pump();
            }
            Err(error) => {
                logged.snapshots.needs_all = true;
                tracing::warn!(partition, %error, "a snapshot could not be written");
                if let Some(request) = request {
                    request.done(Err(Error::Failed(error.to_string())));
                }
            }
        }
    }
}

fn write(wal: &Wal, capture: Capture, meta: SnapshotMeta, parts: &Parts) -> Result<u64, braid_log::Error> {
    let mut writer = wal.write_snapshot(capture, meta)?;
    let mut size_bytes = 0;
    for (key, part) in parts {
        match part {
            Some(bytes) => {
                size_bytes += bytes.len() as u64;
                writer.put(*key, bytes)?;
            }
            None => writer.keep(*key)?,
        }
    }
    writer.finish()?;
    Ok(size_bytes)
}
