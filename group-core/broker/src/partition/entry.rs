//! One entry of a partition's log: the commands that came while the last one was being written.
//!
//! ```text
//! version 1 | partition time 8 | position of the first command 4 | number of commands 4 | command…
//! ```
//!
//! Numbers are little-endian; commands have the machine's own encoding. Command `n` has the position `first + n`, which
//! with the entry's index names the message or member that it makes. A position of [`CHUNKED_POSITION`] or more says how
//! many entries before this one hold the beginning of the message's body.

use braid_log::Body;
use braid_machine::Command;
use braid_replica::Proposal;
use braid_types::{ConnectionId, CorruptBytes, LogIndex, Message, MessageId, Timestamp, Wire};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::sizes::{command_bytes, message_bytes};
use crate::stored;
use crate::work::Submission;

const VERSION: u8 = 1;

const HEADER_BYTES: usize = 17;

/// Positions from here on are those of messages with chunks, whose number is added.
const CHUNKED_POSITION: u32 = 1 << 31;

/// Where commands come from.
#[derive(Debug)]
pub(super) enum Part {
    /// From a connection, or the node.
    Submitted(Submission),
    /// From the partition itself.
    Own(Command),
    /// A connection is lost.
    Lost { connection: ConnectionId, command: Command },
}

/// An entry that is not applied yet.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) time: Timestamp,
    pub(super) first_position: u32,
    pub(super) parts: Vec<Part>,
    pub(super) commands: usize,
    pub(super) bytes: usize,
    /// Of its encoded form, without bodies.
    pub(super) log_bytes: usize,
}

impl Entry {
    pub(super) fn new() -> Self {
        Self { time: Timestamp(0), first_position: 0, parts: Vec::new(), commands: 0, bytes: 0, log_bytes: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds a part of the partition's own.
    pub(super) fn push(&mut self, part: Part) {
        self.commands += 1;
        if let Part::Own(command) | Part::Lost { command, .. } = &part {
            self.bytes += command_bytes(command);
        }
        self.parts.push(part);
    }

    /// What goes to the log: the entry, after the chunks of its message if that is larger than `chunk_bytes`. `prepare`
    /// makes each command what it is to be in the log.
    pub(super) fn encode(
        &mut self,
        time: Timestamp,
        chunk_bytes: usize,
        mut prepare: impl FnMut(&mut Command),
    ) -> Vec<Proposal> {
        self.time = time;
        let mut proposals = self.chunks(chunk_bytes);
        let chunks = u32::try_from(proposals.len()).unwrap_or(0);
        if chunks > 0 {
            self.first_position = CHUNKED_POSITION + chunks;
        }
        let mut payload = BytesMut::with_capacity(HEADER_BYTES + self.commands * 24);
        payload.put_u8(VERSION);
        payload.put_u64_le(self.time.0);
        payload.put_u32_le(self.first_position);
        payload.put_u32_le(u32::try_from(self.commands).unwrap_or(u32::MAX));
        let mut prefixes = BytesMut::with_capacity(self.commands * 64);
        let mut bodies = Vec::with_capacity(self.commands);
        let mut position = self.first_position;
        for part in &mut self.parts {
            let submission = match part {
                Part::Submitted(submission) => submission,
                Part::Own(command) | Part::Lost { command, .. } => {
                    command.encode(&mut payload);
                    position += 1;
                    continue;
                }
            };
            for task in &mut submission.tasks {
                prepare(&mut task.command);
                task.command.encode(&mut payload);
                if let Some(message) = &task.message {
                    stored::put_prefix(message, chunks, &mut prefixes);
                    let prefix = prefixes.split().freeze();
                    let bytes = message.body.slice((chunks as usize * chunk_bytes).min(message.body.len())..);
                    bodies.push(Body { position, prefix, bytes });
                }
                position += 1;
            }
        }
        self.log_bytes = payload.len();
        proposals.push(Proposal { payload: payload.freeze(), bodies });
        proposals
    }

    /// The chunks of the entry's only message, if it is too large for one piece.
    fn chunks(&self, chunk_bytes: usize) -> Vec<Proposal> {
        let Some(message) = self.only_message().filter(|message| message_bytes(message) > chunk_bytes) else {
            return Vec::new();
        };
        // All but the last part, which goes with the message.
        let count = message.body.len() / chunk_bytes;
        let chunk = |number: usize| message.body.slice(number * chunk_bytes..(number + 1) * chunk_bytes);
        let proposal = |number| Proposal { payload: Bytes::new(), bodies: vec![Body::new(0, chunk(number))] };
        (0..count).map(proposal).collect()
    }

    fn only_message(&self) -> Option<&Message> {
        let [Part::Submitted(submission)] = self.parts.as_slice() else { return None };
        let [task] = submission.tasks.as_slice() else { return None };
        task.message.as_deref()
    }
}

/// An entry of the log that this run did not propose.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) time: Timestamp,
    pub(super) first_position: u32,
    pub(super) commands: Vec<Command>,
}

impl Decoded {
    /// Reads an entry; `None`: it holds a chunk, or nothing.
    ///
    /// # Errors
    /// It is not an entry of ours.
    pub(super) fn read(mut payload: Bytes) -> Result<Option<Self>, CorruptBytes> {
        if payload.is_empty() {
            return Ok(None);
        }
        if payload.len() < HEADER_BYTES || payload.get_u8() != VERSION {
            return Err(CorruptBytes { what: "entry of a partition" });
        }
        let time = Timestamp(payload.get_u64_le());
        let first_position = payload.get_u32_le();
        let count = usize::try_from(payload.get_u32_le()).unwrap_or(usize::MAX);
        let commands = braid_machine::decode_commands(&mut payload, count)?;
        Ok(Some(Self { time, first_position, commands }))
    }
}

/// The chunks of a message, in order; none for most. Each is the only body of its entry.
pub(super) fn chunks_of(message: MessageId) -> impl Iterator<Item = MessageId> {
    let count = u64::from(message.position.saturating_sub(CHUNKED_POSITION));
    let first = message.index.0.saturating_sub(count);
    (first..first + count).map(|index| MessageId { index: LogIndex(index), position: 0 })
}
