//! Reads what a group is likely to hand out next before it is needed, beside the owner's work, so that consumers of a
//! backlog seldom wait for the disk.
//!
//! For one group at a time, the last one that had to wait. What was read and is not needed after all goes when more is
//! read.

use std::sync::Arc;

use braid_types::{GroupId, Message, MessageId};
use tokio::sync::oneshot;

use super::loading::read_some;
use super::owner::Owner;
use crate::limits::{READ_AHEAD_BYTES, READ_AHEAD_MESSAGES};

/// What was read ahead, or could be.
type ReadAhead = Vec<(MessageId, Arc<Message>)>;

/// The reading ahead of a partition.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// For which group.
    group: Option<GroupId>,
    /// Bytes of its messages, on average.
    average_bytes: usize,
    /// What is being read.
    reading: Option<oneshot::Receiver<ReadAhead>>,
}

impl Ahead {
    /// A group had to wait for messages of this size.
    pub(super) fn note_wait(&mut self, group: GroupId, average_bytes: usize) {
        self.group = Some(group);
        self.average_bytes = average_bytes;
    }
}

impl Owner {
    /// Waits for what is being read.
    pub(super) async fn finish_ahead(&mut self) {
        if let Some(reading) = self.ahead.reading.take()
            && let Ok(read) = reading.await
        {
            self.keep_ahead(read);
        }
    }

    /// Takes what has been read, and has more read when little is left.
    pub(super) fn tend_ahead(&mut self) {
        if let Some(reading) = &mut self.ahead.reading {
            match reading.try_recv() {
                Ok(read) => self.keep_ahead(read),
                Err(oneshot::error::TryRecvError::Empty) => return,
                Err(oneshot::error::TryRecvError::Closed) => {}
            }
            self.ahead.reading = None;
        }
        let Some(group) = self.ahead.group.filter(|_| self.bodies.ahead() < READ_AHEAD_MESSAGES / 2) else { return };
        let Some(logged) = self.logged.as_ref().filter(|logged| logged.leads) else { return };
        let count = (READ_AHEAD_BYTES / (self.ahead.average_bytes + 1)).min(READ_AHEAD_MESSAGES);
        let upcoming = self.machine.upcoming(group, 2 * READ_AHEAD_MESSAGES);
        let wanted: Vec<MessageId> = upcoming.filter(|id| !self.bodies.has(*id)).take(count).collect();
        if wanted.len() < count / 2 {
            // Nearly all is in memory: until it has to wait again.
            self.ahead.group = None;
            return;
        }
        let (wal, partition) = (logged.wal.clone(), logged.partition);
        let (sender, reading) = oneshot::channel();
        self.ahead.reading = Some(reading);
        tokio::task::spawn_blocking(move || {
            let read = read_some(&wal, partition, &wanted);
            // One that cannot be read is reported when it is needed.
            let found = wanted.into_iter().zip(read).filter_map(|(id, message)| Some((id, message.ok()?)));
            if sender.send(found.collect()).is_err() {
                tracing::debug!("the partition has stopped");
            }
        });
    }

    fn keep_ahead(&mut self, read: ReadAhead) {
        if self.bodies.ahead() > READ_AHEAD_MESSAGES {
            // Read for members that are gone or slow.
            self.bodies.forget_ahead();
        }
        for (id, message) in read {
            self.bodies.read_ahead(id, message);
        }
    }
}
