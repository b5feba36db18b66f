//! openraft's log and vote on the file.
//!
//! Each append is one transaction: what openraft gathered while the last one was fsynced is written and fsynced together,
//! which is how concurrent proposals share a commit.

use std::{
    fmt::Debug,
    io,
    ops::{Bound, RangeBounds},
};

use openraft::{
    LogState, OptionalSend, RaftLogReader,
    entry::RaftEntry,
    storage::{IOFlushed, RaftLogStorage},
};
use redb::ReadableDatabase;

use super::{PURGED, Store, VOTE, closed, corrupt, failed, on_disk, put, record};
use crate::{
    limits::ENTRIES_READ_MAX,
    types::{Entry, LogId, Types, Vote},
};

impl Store {
    fn read_entries(&self, range: impl RangeBounds<u64>, count_max: usize) -> io::Result<Vec<Entry>> {
        let guard = self.database.read();
        let database = guard.as_ref().ok_or_else(closed)?;
        let transaction = database.begin_read().map_err(failed)?;
        let table = transaction.open_table(super::LOG).map_err(failed)?;
        let mut entries = Vec::new();
        for found in table.range(owned(&range)).map_err(failed)?.take(count_max) {
            let (index, record) = found.map_err(failed)?;
            entries.push(read_entry(index.value(), record.value())?);
        }
        Ok(entries)
    }

    fn write_entries(&self, entries: &[Entry]) -> io::Result<()> {
        self.change(|_, log| {
            for entry in entries {
                let index = entry.index();
                let sealed = record::seal(&record::log_name(index), &record::entry(entry));
                log.insert(index, sealed.as_ref()).map_err(failed)?;
            }
            Ok(())
        })?;
        if let Some(last) = entries.last() {
            self.state.lock().last = Some(last.log_id());
        }
        Ok(())
    }

    fn truncate(&self, last: Option<LogId>) -> io::Result<()> {
        let first = last.map_or(0, |last| last.index + 1);
        self.change(|_, log| log.retain_in(first.., |_, _| false).map_err(failed))?;
        let mut state = self.state.lock();
        // Nothing comes back by truncating after what is not there.
        state.last = last.or(state.purged).min(state.last);
        Ok(())
    }

    fn purge_to(&self, upto: LogId) -> io::Result<()> {
        self.change(|meta, log| {
            log.retain_in(..=upto.index, |_, _| false).map_err(failed)?;
            put(meta, PURGED, &record::optional_log_id(Some(upto)))
        })?;
        let mut state = self.state.lock();
        state.purged = Some(upto);
        state.last = state.last.max(Some(upto));
        Ok(())
    }
}

impl RaftLogReader<Types> for Store {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> io::Result<Vec<Entry>> {
        self.read_entries(range, usize::MAX)
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> io::Result<Vec<Entry>> {
        self.read_entries(start..end, ENTRIES_READ_MAX)
    }

    async fn read_vote(&mut self) -> io::Result<Option<Vote>> {
        Ok(self.state.lock().vote)
    }
}

impl RaftLogStorage<Types> for Store {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> io::Result<LogState<Types>> {
        let state = self.state.lock();
        Ok(LogState { last_purged_log_id: state.purged, last_log_id: state.last })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> io::Result<()> {
        let (store, vote) = (self.clone(), *vote);
        on_disk(move || {
            store.change(|meta, _| put(meta, VOTE, &record::vote(&vote)))?;
            store.state.lock().vote = Some(vote);
            Ok(())
        })
        .await
    }

    /// Kept in memory until the next transaction takes it along.
    async fn save_committed(&mut self, committed: Option<LogId>) -> io::Result<()> {
        self.state.lock().committed = committed;
        Ok(())
    }

    async fn read_committed(&mut self) -> io::Result<Option<LogId>> {
        Ok(self.state.lock().committed)
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<Types>) -> io::Result<()>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let (store, entries) = (self.clone(), entries.into_iter().collect::<Vec<_>>());
        let written = on_disk(move || store.write_entries(&entries)).await;
        callback.io_completed(written);
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogId>) -> io::Result<()> {
        let store = self.clone();
        on_disk(move || store.truncate(last)).await
    }

    async fn purge(&mut self, upto: LogId) -> io::Result<()> {
        let store = self.clone();
        on_disk(move || store.purge_to(upto)).await
    }
}

/// Reads an entry's record, which must be of that index.
pub(super) fn read_entry(index: u64, sealed: &[u8]) -> io::Result<Entry> {
    let body = record::unseal(&record::log_name(index), sealed).map_err(corrupt)?;
    let entry = record::read_entry(body).map_err(corrupt)?;
    if entry.index() != index {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a log record has another index than its place"));
    }
    Ok(entry)
}

fn owned(range: &impl RangeBounds<u64>) -> (Bound<u64>, Bound<u64>) {
    (range.start_bound().cloned(), range.end_bound().cloned())
}

#[cfg(test)]
impl Store {
    /// How many entries the log holds.
    pub(crate) fn log_length(&self) -> usize {
        self.read_entries(.., usize::MAX).map_or(0, |entries| entries.len())
    }
}
