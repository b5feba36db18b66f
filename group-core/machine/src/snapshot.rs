//! The byte form of a partition's state, for snapshots. No body is ever in it.
//!
//! ```text
//!   snapshot = head  count of groups  group…                        (in order of their ids)
//!   head     = version (1 byte)  time  node that leads (option)  count of sets  (number  list of groups)…
//!   group    = id  length  that many bytes: a part that stands for itself (guide, rule 27)
//! ```
//!
//! Only what cannot be computed is written: classes, queues, counts and references follow from it. So equal states have
//! equal bytes, however they came about, and most invariants hold of a restored state by construction; the rest are
//! checked, and what does not hold is [`CorruptBytes`].

use alloc::boxed::Box;
use alloc::vec::Vec;

use braid_types::{CorruptBytes, GroupId, Timestamp};
use bytes::{Bytes, BytesMut};

use crate::group::Group;
use crate::limits::GROUPS_PER_PARTITION_MAX;
use crate::partition::Partition;
use crate::wire::{Field, put_count, put_list, take_count};
use crate::{GroupSetId, Reply};

mod group;
mod member;
mod message;
mod publishers;

const VERSION: u8 = 1;

pub(crate) fn encode(partition: &Partition, out: &mut BytesMut) {
    put_head(partition, out);
    let ids = partition.group_ids();
    put_count(ids.len(), out);
    let mut part = BytesMut::new();
    for id in ids {
        if let Some(group) = partition.groups.get(&id) {
            put_group(group, &mut part);
            id.put(out);
            part.split().freeze().put(out);
        }
    }
}

pub(crate) fn decode(input: &mut Bytes) -> Result<Partition, CorruptBytes> {
    let partition = read_head(input)?;
    let count = take_count(input)?;
    restore_groups(partition, (0..count).map(|_| Ok((GroupId::read(input)?, Bytes::read(input)?))))
}

/// Appends what belongs to no group.
pub(crate) fn put_head(partition: &Partition, out: &mut BytesMut) {
    VERSION.put(out);
    partition.time.put(out);
    partition.leading.put(out);
    put_count(partition.group_sets.iter().len(), out);
    for (set, groups) in partition.group_sets.iter() {
        set.put(out);
        put_list(groups.iter(), groups.len(), out);
    }
}

/// A partition without groups.
pub(crate) fn read_head(input: &mut Bytes) -> Result<Partition, CorruptBytes> {
    if u8::read(input)? != VERSION {
        return Err(CorruptBytes { what: "version of a snapshot" });
    }
    let time = Timestamp::read(input)?;
    let mut partition = Partition { time, leading: Field::read(input)?, ..Partition::default() };
    for _ in 0..take_count(input)? {
        let set = GroupSetId::read(input)?;
        let groups = Vec::<GroupId>::read(input)?;
        if groups.is_empty() || partition.group_sets.define(set, groups) != Reply::Done {
            return Err(CorruptBytes { what: "set of groups" });
        }
    }
    Ok(partition)
}

/// Appends the part of a group.
pub(crate) fn put_group(group: &Group, out: &mut BytesMut) {
    group::put(group, out);
}

/// Takes in the parts of groups, which come in order of their ids.
pub(crate) fn restore_groups(
    mut partition: Partition,
    parts: impl Iterator<Item = Result<(GroupId, Bytes), CorruptBytes>>,
) -> Result<Partition, CorruptBytes> {
    let mut last: Option<GroupId> = None;
    for part in parts {
        let (id, part) = part?;
        if last.is_some_and(|last| last >= id) || partition.groups.len() >= GROUPS_PER_PARTITION_MAX {
            return Err(CorruptBytes { what: "order of groups" });
        }
        last = Some(id);
        restore_group(&mut partition, id, part)?;
    }
    Ok(partition)
}

fn restore_group(partition: &mut Partition, id: GroupId, mut part: Bytes) -> Result<(), CorruptBytes> {
    let group = group::read(&mut part, partition.leading)?;
    if !part.is_empty() {
        return Err(CorruptBytes { what: "end of a group" });
    }
    for message in group.messages().filter(|message| message.shared) {
        partition.references.hold(message.id);
    }
    for member in group.members.iter() {
        partition.attachments.insert(member.owner, id, member.id);
    }
    partition.deadlines.set(id, group.next_deadline());
    partition.groups.insert(id, Box::new(group));
    Ok(())
}
