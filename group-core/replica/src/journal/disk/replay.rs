//! Entries of former runs, read from the log in pieces of bounded size, beside the runtime's threads.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    vec,
};

use braid_log::{Content, Damage, Entry, Error, Wal};
use braid_types::{LogIndex, PartitionId};
use tokio::task::JoinHandle;

use crate::limits::READ_BYTES_MAX;

/// See the file's head.
pub(super) struct Replay {
    wal: Wal,
    partition: PartitionId,
    /// The last entry that was given.
    given: LogIndex,
    /// The last one to give.
    upto: LogIndex,
    read: vec::IntoIter<Entry>,
    reading: Option<JoinHandle<Result<Vec<Entry>, Error>>>,
}

impl Replay {
    /// The entries after `given`, to `upto`.
    pub(super) fn new(wal: Wal, partition: PartitionId, given: LogIndex, upto: LogIndex) -> Self {
        Self { wal, partition, given, upto, read: Vec::new().into_iter(), reading: None }
    }

    /// The next entry; `None` behind the last.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Entry>, Error>> {
        loop {
            if let Some(entry) = self.read.next() {
                self.given = entry.index;
                return Poll::Ready(Ok(Some(entry)));
            }
            if self.given >= self.upto {
                return Poll::Ready(Ok(None));
            }
            let reading = match &mut self.reading {
                Some(reading) => reading,
                None => self.reading.insert(self.start_reading()),
            };
            let Poll::Ready(read) = Pin::new(reading).poll(context) else { return Poll::Pending };
            self.reading = None;
            let entries = read.map_err(|error| Error::Failed(error.to_string().into()))??;
            if entries.first().is_none_or(|first| first.index.0 != self.given.0 + 1) {
                return Poll::Ready(Err(Error::Damaged(self.gap())));
            }
            self.read = entries.into_iter();
        }
    }

    fn start_reading(&self) -> JoinHandle<Result<Vec<Entry>, Error>> {
        let (wal, partition) = (self.wal.clone(), self.partition);
        let range = LogIndex(self.given.0 + 1)..LogIndex(self.upto.0 + 1);
        tokio::task::spawn_blocking(move || wal.entries(partition, range, READ_BYTES_MAX, Content::Heads))
    }

    fn gap(&self) -> Damage {
        let index = Some(LogIndex(self.given.0 + 1));
        let what = "an entry of the log is missing";
        Damage { partition: self.partition, segment: 0, offset: 0, index, position: None, what }
    }
}
