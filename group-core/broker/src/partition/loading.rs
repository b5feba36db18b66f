//! Reads messages from the log that are needed and not in memory. The owner waits for it, nobody else does.

use std::sync::Arc;

use braid_log::Wal;
use braid_types::{Message, MessageId, PartitionId};
use bytes::{Bytes, BytesMut};

use super::PartitionNote;
use super::entry::chunks_of;
use super::letters::DeadLetter;
use super::owner::Owner;
use super::round::Missing;
use crate::stored;

/// What was read, in the order in which it was asked for.
type Read = Vec<Result<Arc<Message>, String>>;

impl Owner {
    /// Gives this round's deliveries the messages that they lack.
    pub(super) async fn load_missing(&mut self) {
        let mut missing = self.round.take_missing();
        if missing.is_empty() {
            return;
        }
        self.finish_ahead().await;
        missing.retain(|missing| match self.bodies.get(missing.message) {
            Some(message) => {
                self.round.fill(*missing, message);
                false
            }
            None => true,
        });
        let wanted: Vec<MessageId> = missing.iter().map(|missing| missing.message).collect();
        let last_group = missing.last().map(|missing| missing.group);
        let read = self.read(wanted).await;
        if let Some(group) = last_group {
            let bytes: usize = read.iter().flatten().map(|message| message.size_bytes()).sum();
            self.ahead.note_wait(group, bytes / read.len().max(1));
        }
        let mut unfilled: Vec<Missing> = Vec::new();
        for (missing, read) in missing.into_iter().zip(read) {
            match read {
                Ok(message) => self.round.fill(missing, message),
                Err(error) => {
                    tracing::error!(partition = self.id.0, message = ?missing.message, %error, "a message is lost");
                    unfilled.push(missing);
                }
            }
        }
        if !unfilled.is_empty() {
            // The log has said that it is damaged: the partition is out of service, its members are told.
            self.round.drop_unfilled(&unfilled);
            self.stop_serving(&braid_replica::Error::LogDamaged {
                partition: self.id,
                why: String::from("a message cannot be read"),
            });
        }
    }

    /// Lets dead letters set out, as many as may be under way.
    pub(super) async fn send_letters(&mut self) {
        let leads = self.logged.as_ref().is_none_or(|logged| logged.leads);
        let letters = if leads { self.letters.take() } else { Vec::new() };
        if letters.is_empty() {
            return;
        }
        let mut found: Vec<Option<Arc<Message>>> = letters.iter().map(|letter| self.bodies.get(letter.id)).collect();
        if self.logged.is_some() {
            let wanted = letters.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(letter, _)| letter.id);
            let mut read = self.read(wanted.collect()).await.into_iter();
            for found in found.iter_mut().filter(|found| found.is_none()) {
                *found = read.next().and_then(Result::ok);
            }
        }
        for (letter, message) in letters.into_iter().zip(found) {
            let super::letters::Letter { group, id, reason, delivery_count } = letter;
            let Some(message) = message else {
                tracing::error!(?group, ?id, "a dead letter has no body; it stays where it is");
                continue;
            };
            let letter = DeadLetter { group, id, message, reason, delivery_count };
            if self.owned.notes.send(PartitionNote::DeadLetter(Box::new(letter))).is_err() {
                tracing::debug!("the node has stopped");
            }
        }
    }

    /// Reads messages; from memory where the log still has them there, otherwise beside the runtime's workers.
    async fn read(&mut self, wanted: Vec<MessageId>) -> Read {
        let Some(logged) = &self.logged else { return Vec::new() };
        let (wal, partition) = (logged.wal.clone(), logged.partition);
        if let Some(read) = recent(&wal, partition, &wanted) {
            return read;
        }
        let asked = wanted.len();
        let reading = tokio::task::spawn_blocking(move || read_some(&wal, partition, &wanted));
        match reading.await {
            Ok(read) => read,
            Err(error) => (0..asked).map(|_| Err(error.to_string())).collect(),
        }
    }
}

/// The messages, if all of them are in the log's memory and in one piece.
fn recent(wal: &Wal, partition: PartitionId, wanted: &[MessageId]) -> Option<Read> {
    if wanted.iter().any(|id| chunks_of(*id).next().is_some()) {
        return None;
    }
    let bodies = wal.recent_bodies(partition, wanted).ok().flatten()?;
    let message = |bytes| stored::read(bytes).map(|stored| Arc::new(stored.message)).map_err(|error| error.to_string());
    Some(bodies.into_iter().map(message).collect())
}

/// Reads from the disk.
pub(super) fn read_some(wal: &Wal, partition: PartitionId, wanted: &[MessageId]) -> Read {
    let bodies = wal.bodies(partition, wanted);
    let join = |(id, body): (&MessageId, Result<Bytes, braid_log::Error>)| {
        let body = body.map_err(|error| error.to_string())?;
        let stored = stored::read(body).map_err(|error| error.to_string())?;
        let chunks: Vec<MessageId> = chunks_of(*id).collect();
        if chunks.len() != stored.chunks as usize {
            return Err(String::from("the number of its pieces is wrong"));
        }
        if chunks.is_empty() {
            return Ok(Arc::new(stored.message));
        }
        let mut whole = BytesMut::new();
        for chunk in wal.bodies(partition, &chunks) {
            whole.extend_from_slice(&chunk.map_err(|error| error.to_string())?);
        }
        whole.extend_from_slice(&stored.message.body);
        Ok(Arc::new(Message { body: whole.freeze(), ..stored.message }))
    };
    wanted.iter().zip(bodies).map(join).collect()
}
