//! Which bodies are still needed: what the owner says is forgotten, captured, kept.
//!
//! A forgotten body may be needed again after a restart, when the state goes back to the last durable snapshot. So it is
//! only marked, and removed when a snapshot is durable that was captured after it was forgotten (guide, rule 14).

use std::sync::Arc;

use braid_types::{LogIndex, MessageId, PartitionId};

use super::{Engine, Partition, Segments};
use crate::{Damage, Error, index::Epoch, limits::CHUNKS_PER_SWEEP};

const FIRST: MessageId = MessageId { index: LogIndex(0), position: 0 };

impl Partition {
    /// Marks bodies as forgotten. Those that are unknown, or forgotten already, are passed over. Gives their bytes.
    pub(crate) fn forget(&mut self, messages: &[MessageId]) -> u64 {
        let epoch = self.sweep.epoch;
        let bytes = self.bodies.forget(messages, epoch);
        *self.forgotten_bytes_mut(epoch) += bytes;
        bytes
    }

    /// Bytes that wait for a snapshot to be given up.
    pub(crate) fn forgotten_bytes(&self) -> u64 {
        self.sweep.bytes.iter().sum()
    }

    /// Divides what is forgotten into before and after. `false`: not possible while the last sweep is not done; then
    /// what is forgotten now waits for one snapshot more.
    pub(crate) fn capture(&mut self) -> bool {
        self.sweep.is_captured = true;
        if self.sweep.cursor.is_some() {
            return false;
        }
        self.sweep.epoch = self.sweep.epoch.other();
        true
    }

    /// The snapshot of the last capture is durable.
    pub(crate) fn begin_sweep(&mut self) {
        self.sweep.cursor = Some(FIRST);
    }

    pub(crate) fn is_sweep_due(&self) -> bool {
        self.sweep.cursor.is_some() && Arc::strong_count(&self.pins) == 1
    }

    /// Removes some of what was forgotten before the capture. Whether that was due.
    pub(crate) fn sweep_some(&mut self, segments: &mut Segments) -> bool {
        if !self.is_sweep_due() {
            return false;
        }
        let epoch = self.sweep.epoch.other();
        let mut freed = 0;
        self.sweep.cursor = self.bodies.sweep(
            self.sweep.cursor.unwrap_or(FIRST),
            CHUNKS_PER_SWEEP,
            |chunk| chunk.forgotten_in(epoch) > 0,
            |_, slot| slot.is_forgotten_in(epoch),
            |slot| {
                freed += u64::from(slot.length());
                segments.drop_body(slot.segment, slot.length());
            },
        );
        let bytes = self.forgotten_bytes_mut(epoch);
        *bytes = bytes.saturating_sub(freed);
        true
    }

    fn forgotten_bytes_mut(&mut self, epoch: Epoch) -> &mut u64 {
        let [even, odd] = &mut self.sweep.bytes;
        match epoch {
            Epoch::Even => even,
            Epoch::Odd => odd,
        }
    }
}

impl Engine {
    /// Notes that bodies are needed.
    pub(crate) fn keep(&mut self, id: PartitionId, messages: &[MessageId]) -> Result<(), Error> {
        let Some(partition) = self.partition_mut(id)? else { return Ok(()) };
        let mut found = None;
        for message in messages {
            let doubt = partition.doubtful.iter().find(|(doubtful, _)| doubtful == message);
            match partition.bodies.get_mut(*message) {
                Some(slot) if doubt.is_none() => slot.keep(),
                _ => {
                    found = Some(doubt.map_or_else(|| missing(id, *message), |(_, damage)| damage.clone()));
                    break;
                }
            }
        }
        if let Some(damage) = found {
            self.damage(damage.clone());
            return Err(Error::Damaged(damage));
        }
        Ok(())
    }

    /// Removes some of the bodies up to `upto` that are not kept. Returns where to go on.
    pub(crate) fn drop_unkept(
        &mut self,
        id: PartitionId,
        upto: LogIndex,
        cursor: MessageId,
    ) -> Result<Option<MessageId>, Error> {
        self.partition(id)?;
        let Self { partitions, segments, .. } = self;
        let Some(partition) = partitions.get_mut(&id) else { return Ok(None) };
        let next = partition.bodies.sweep(
            cursor,
            CHUNKS_PER_SWEEP,
            |_| true,
            |message, slot| !slot.take_kept() && message.index <= upto,
            |slot| segments.drop_body(slot.segment, slot.length()),
        );
        if next.is_none() {
            partition.doubtful.retain(|(message, _)| message.index > upto);
        }
        Ok(next)
    }
}

fn missing(partition: PartitionId, message: MessageId) -> Damage {
    let what = "a body that is needed is missing";
    Damage { partition, segment: 0, offset: 0, index: Some(message.index), position: Some(message.position), what }
}
