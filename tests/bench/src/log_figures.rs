//! What a BraidMQ says in `/metrics` of its write-ahead log.

use std::{io, net::SocketAddr};

use crate::http;

/// Counters of the log, since the broker's start or between two looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFigures {
    /// Times that it was synced.
    pub syncs: u64,
    /// Records (entries of all partitions) written.
    pub records: u64,
    /// Bytes of these.
    pub record_bytes: u64,
    /// Files that hold something, at the moment.
    pub segments: u64,
}

impl LogFigures {
    /// Asks the broker whose HTTP port is `address`; `None` when it says nothing of a log.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) fn ask(address: SocketAddr) -> io::Result<Option<Self>> {
        Ok(Self::read(&http::get(address, "/metrics")?))
    }

    /// As [`ask`](Self::ask), for who cannot do without.
    ///
    /// # Errors
    /// When it does not answer or says nothing of a log.
    pub(crate) fn demand(address: SocketAddr) -> io::Result<Self> {
        Self::ask(address)?.ok_or_else(|| io::Error::other("/metrics has no braidmq_log_batches_total and its like"))
    }

    fn read(page: &str) -> Option<Self> {
        let value = |name| sample(page, name);
        // The end of a file is a sync of its own, which a broker may count beside the batches.
        let syncs = value("braidmq_log_syncs_total").or_else(|| value("braidmq_log_batches_total"))?;
        let (records, record_bytes) = (value("braidmq_log_records_total")?, value("braidmq_log_record_bytes_total")?);
        Some(Self { syncs, records, record_bytes, segments: value("braidmq_log_segments")? })
    }

    /// What was counted between `before` and this.
    #[must_use]
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            syncs: self.syncs.saturating_sub(before.syncs),
            records: self.records.saturating_sub(before.records),
            record_bytes: self.record_bytes.saturating_sub(before.record_bytes),
            segments: self.segments,
        }
    }
}

/// The value of a metric without labels.
fn sample(page: &str, name: &str) -> Option<u64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP braidmq_log_batches_total Batches.\nbraidmq_log_batches_total 5\n\
        braidmq_log_records_total 12\nbraidmq_log_record_bytes_total 900\nbraidmq_log_segments 2\n";

    #[test]
    fn figures_are_found_by_their_whole_name() {
        let figures = LogFigures { syncs: 5, records: 12, record_bytes: 900, segments: 2 };
        assert_eq!(LogFigures::read(PAGE), Some(figures));
        let with_ends = format!("braidmq_log_syncs_total 7\n{PAGE}");
        assert_eq!(LogFigures::read(&with_ends), Some(LogFigures { syncs: 7, ..figures }));
        assert_eq!(LogFigures::read("braidmq_log_batches_total_of_another 5\n"), None);
    }

    #[test]
    fn counters_are_subtracted_and_gauges_are_not() {
        let before = LogFigures { syncs: 5, records: 12, record_bytes: 900, segments: 2 };
        let after = LogFigures { syncs: 6, records: 20, record_bytes: 1_000, segments: 3 };
        assert_eq!(after.since(before), LogFigures { syncs: 1, records: 8, record_bytes: 100, segments: 3 });
    }
}
