//! Settles that are not known to be gone for good yet, and the answers that wait for them (SPEC section 8, P7): a client may
//! take any answer on its channel to mean that what it acknowledged before will not come again.
//!
//! Only partitions with a log have something to wait for. What goes to the same partition keeps its order anyway.

use std::sync::Arc;

use braid_broker::{Item, PartitionHandle};
use braid_types::{CloseReason, Event, PartitionId, PartitionKind, Refusal, RefusalKind, Request};

use super::operate::Pending;
use super::{Service, Subscription};

/// Waits until what was sent to these partitions is applied.
///
/// # Errors
/// One of them is out of service: what was settled there may come again, and no answer may say otherwise.
pub(super) async fn wait(partitions: Vec<PartitionHandle>) -> Result<(), Refusal> {
    let mut all_applied = true;
    for partition in partitions {
        all_applied &= partition.barrier().await;
    }
    if all_applied { Ok(()) } else { Err(Refusal::new(RefusalKind::Internal, "a group's log is out of service")) }
}

impl Service {
    /// A settle goes to this partition.
    pub(super) fn note_unsynced(&mut self, partition: PartitionId) {
        if partition.kind() != Some(PartitionKind::Memory) && !self.unsynced.contains(&partition) {
            self.unsynced.push(partition);
        }
    }

    /// The partitions to wait for; their settles are on the way to them.
    pub(super) fn take_unsynced(&mut self) -> Vec<PartitionHandle> {
        if self.unsynced.is_empty() {
            return Vec::new();
        }
        self.flush();
        let unsynced = std::mem::take(&mut self.unsynced);
        unsynced.iter().filter_map(|partition| self.node.broker.partition(*partition).cloned()).collect()
    }

    /// The request's answer would not wait for all that was settled before by itself.
    pub(super) fn must_sync_before(&self, request: &Request) -> bool {
        if self.unsynced.is_empty() {
            return false;
        }
        let answered_by = match request {
            Request::Subscribe(_) => None,
            Request::Unsubscribe { ticket: Some(_), subscription, .. } => {
                let attachment = self.subscriptions.get(subscription).and_then(Subscription::attachment);
                attachment.and_then(|attachment| self.attachments.get(&attachment)).map(|state| state.partition)
            }
            _ => return false,
        };
        self.unsynced.iter().any(|partition| Some(*partition) != answered_by)
    }

    /// Has what was parked wait for the settles before it.
    pub(super) fn sync_first(&mut self) {
        self.pending = Some(Pending::Answer);
        let (mailbox, unsynced) = (Arc::clone(&self.mailbox), self.take_unsynced());
        tokio::spawn(async move {
            match wait(unsynced).await {
                Ok(()) => mailbox.push(Item::Synced),
                Err(refusal) => {
                    mailbox.request_close(Event::Close { reason: CloseReason::Internal, text: refusal.text });
                }
            }
        });
    }

    /// What was parked goes on.
    pub(super) fn synced(&mut self) {
        self.pending = None;
        self.resume();
    }
}
