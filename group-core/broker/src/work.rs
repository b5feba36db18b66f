//! What connections send to partitions: batches of commands, each with what is to be done with its reply.

use std::sync::Arc;

use braid_machine::{Command, Refused, Reply};
use braid_types::{MemberId, Message, Ticket};
use bytes::Bytes;
use tokio::sync::oneshot;

use crate::Mailbox;

/// What is to be done with a command's reply.
#[derive(Debug)]
pub enum Answer {
    /// Nothing.
    Silent,
    /// Tell the publisher: this was its only partition.
    Confirm {
        /// Of the publish.
        ticket: Ticket,
    },
    /// Tell the publisher: one of several partitions has it.
    ConfirmPart {
        /// The connection's number for the publish.
        join: u64,
    },
    /// Tell the connection its member.
    Attach {
        /// Which attachment.
        attachment: u32,
        /// Consumer tag, client id or sid, for listings.
        label: Bytes,
    },
    /// Tell the connection what it got.
    Get {
        /// Of the request.
        ticket: Ticket,
        /// Which attachment holds it.
        attachment: u32,
    },
    /// Tell the connection that what was handed out by its former window is on its way.
    SetWindow {
        /// Which attachment.
        attachment: u32,
    },
    /// Tell the connection that the attachment gets nothing more.
    Detach {
        /// Which attachment.
        attachment: u32,
    },
    /// The member of a persistent session; tell whoever waits for it.
    AttachSession(oneshot::Sender<Result<MemberId, Refused>>),
    /// Tell whoever waits for it.
    Once(oneshot::Sender<Reply>),
}

/// One command on its way.
#[derive(Debug)]
pub struct Task {
    /// The command.
    pub command: Command,
    /// The message of an enqueue.
    pub message: Option<Arc<Message>>,
    /// What to do with the reply.
    pub answer: Answer,
}

/// Commands of one connection, applied one after the other.
#[derive(Debug)]
pub struct Submission {
    /// Who gets the answers and the deliveries of attached members.
    pub from: Arc<Mailbox>,
    /// The commands.
    pub tasks: Vec<Task>,
    /// Bytes that are counted as in flight for the connection.
    pub in_flight_bytes: usize,
}
