//! Where a partition stands in the log when its journal is opened, and whether that can be.

use braid_log::{PartitionStatus, SnapshotMeta, Wal};
use braid_types::{LogIndex, PartitionId, Term};
use bytes::Bytes;

use crate::Error;

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    partition: PartitionId,
    status: PartitionStatus,
    /// Of the owner's durable snapshot.
    pub(super) snapshot: Option<SnapshotMeta>,
}

impl Standing {
    pub(super) fn of(wal: &Wal, partition: PartitionId) -> Result<Self, Error> {
        let of_log = |error| Error::of_log(partition, &error);
        wal.check().map_err(of_log)?;
        let status = wal.status(partition).map_err(of_log)?.unwrap_or_default();
        let snapshot = wal.snapshot(partition).map_err(of_log)?.map(|snapshot| snapshot.meta().clone());
        Ok(Self { partition, status, snapshot })
    }

    /// The last entry that the log has had.
    pub(super) fn last(&self) -> Option<LogIndex> {
        self.status.last
    }

    /// The last vote. A Raft group votes before it writes anything but its first membership; nobody else votes.
    pub(super) fn vote(&self) -> Option<Bytes> {
        self.status.vote.clone()
    }

    /// The highest term that was ever used for an entry.
    pub(super) fn term(&self) -> Term {
        let of_snapshot = self.snapshot.as_ref().map(|snapshot| snapshot.term);
        self.status.last_term.max(of_snapshot).unwrap_or_default()
    }

    /// That the log, whose first entry ever is `origin`, goes on where the snapshot ends: it has the entry `next`, or
    /// ends right before it.
    ///
    /// # Errors
    /// Entries are missing. That is damage: both are only changed in an order that never makes it so.
    pub(super) fn check_reaches(&self, origin: LogIndex, next: LogIndex) -> Result<(), Error> {
        let end = self.status.last.map_or(origin.0, |last| last.0 + 1);
        let begin = self.status.first.map_or(end, |first| first.0);
        if (begin..=end).contains(&next.0) {
            return Ok(());
        }
        let why =
            format!("its entries from {begin} to before {end} do not go on at {}, where its snapshot ends", next.0);
        Err(Error::LogDamaged { partition: self.partition, why })
    }
}

/// That the durable snapshot reaches at least to `index`: a log that is purged further loses what is between them (guide,
/// rule 14).
pub(super) fn check_has_snapshot(wal: &Wal, partition: PartitionId, index: LogIndex) -> Result<(), Error> {
    let status = wal.status(partition).map_err(|error| Error::of_log(partition, &error))?;
    let snapshot = status.and_then(|status| status.snapshot);
    if snapshot.is_some_and(|last| last >= index) { Ok(()) } else { Err(Error::NotInSnapshot { index, snapshot }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reaches(first: Option<u64>, last: Option<u64>, next: u64) -> bool {
        let status = PartitionStatus { first: first.map(LogIndex), last: last.map(LogIndex), ..Default::default() };
        let standing = Standing { status, ..Standing::default() };
        standing.check_reaches(LogIndex(1), LogIndex(next)).is_ok()
    }

    #[test]
    fn a_hole_between_snapshot_and_log_shows() {
        for (first, last, next, expected) in [
            (None, None, 1, true),
            (None, None, 2, false),
            (Some(1), Some(9), 1, true),
            (Some(5), Some(9), 5, true),
            (Some(5), Some(9), 10, true),
            (Some(5), Some(9), 4, false),
            (Some(5), Some(9), 11, false),
            (None, Some(9), 10, true),
            (None, Some(9), 9, false),
            (None, Some(9), 11, false),
        ] {
            assert_eq!(reaches(first, last, next), expected, "{first:?} to {last:?}, next {next}");
        }
    }
}
