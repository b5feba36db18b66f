//! The byte form of a partition's state, for snapshots. No body is ever in it.
//!
//! ```text
//!   snapshot = version (1 byte)  time  count of groups  group…      (in order of their ids)
//!   group    = id  length  that many bytes: a part that stands for itself (guide, rule 27)
//! ```
//!
//! Only what cannot be computed is written: classes, queues, counts and references follow from it. So equal states have
//! equal bytes, however they came about, and most invariants hold of a restored state by construction; the rest are
//! checked, and what does not hold is [`CorruptBytes`].

use braid_types::{CorruptBytes, GroupId, Timestamp};
use bytes::{Bytes, BytesMut};

use crate::group::Group;
use crate::limits::GROUPS_PER_PARTITION_MAX;
use crate::partition::Partition;
use crate::wire::{Field, put_count, take_count};

mod group;
mod member;
mod message;
mod publishers;

const VERSION: u8 = 1;

pub(crate) fn encode(partition: &Partition, out: &mut BytesMut) {
    VERSION.put(out);
    partition.time.put(out);
    let ids = partition.group_ids();
    put_count(ids.len(), out);
    let mut part = BytesMut::new();
    for id in ids {
        if let Some(group) = partition.groups.get(&id) {
            group::put(group, &mut part);
            id.put(out);
            part.split().freeze().put(out);
        }
    }
}

pub(crate) fn decode(input: &mut Bytes) -> Result<Partition, CorruptBytes> {
    if u8::read(input)? != VERSION {
        return Err(CorruptBytes { what: "version of a snapshot" });
    }
    let mut partition = Partition { time: Timestamp::read(input)?, ..Partition::default() };
    let count = take_count(input)?;
    let mut last: Option<GroupId> = None;
    for _ in 0..count {
        let id = GroupId::read(input)?;
        if last.is_some_and(|last| last >= id) || partition.groups.len() >= GROUPS_PER_PARTITION_MAX {
            return Err(CorruptBytes { what: "order of groups" });
        }
        last = Some(id);
        let mut part = Bytes::read(input)?;
        let group = group::read(&mut part)?;
        if !part.is_empty() {
            return Err(CorruptBytes { what: "end of a group" });
        }
        count_references(&mut partition, &group);
        partition.deadlines.set(id, group.next_deadline());
        partition.groups.insert(id, group);
    }
    Ok(partition)
}

fn count_references(partition: &mut Partition, group: &Group) {
    for message in group.messages().filter(|message| message.shared) {
        partition.references.hold(message.id);
    }
}
