//! A group in a snapshot: settings, filters, members with what they hold, and the ready messages.

use alloc::boxed::Box;
use alloc::vec::Vec;

use braid_types::{CorruptBytes, Filter, MessageId};
use bytes::{Bytes, BytesMut};

use super::{member, publishers};
use crate::fault::Broken;
use crate::filters::FilterSlot;
use crate::group::Group;
use crate::limits::{MEMBERS_PER_GROUP_MAX, SEQUENCE_MAX};
use crate::member::{Presence, Role};
use crate::members::Members;
use crate::message::HeldMessage;
use crate::ready::Class;
use crate::wire::{Field, put_count, put_list, take_count};

const UNSOUND: CorruptBytes = CorruptBytes { what: "state of a group" };

pub(super) fn put(group: &Group, out: &mut BytesMut) {
    group.config.put(out);
    group.newest.put(out);
    group.fault.is_some().put(out);
    group.rejects_publishes.put(out);
    group.last_used.put(out);
    publishers::put(group.publishers.as_deref(), out);
    put_filters(group, out);
    put_count(group.members.iter().count(), out);
    for member in group.members.iter() {
        member::put(member, out);
    }
    group.members.service().next_ticket().put(out);
    put_messages(group.backlog.ready.classes().iter().flat_map(Class::returned).collect(), out);
    put_messages(group.backlog.ready.classes().iter().flat_map(Class::fresh).collect(), out);
    put_count(group.backlog.delayed.iter().count(), out);
    for (due, message) in group.backlog.delayed.iter() {
        due.put(out);
        message.put(out);
    }
}

pub(super) fn read(input: &mut Bytes) -> Result<Group, CorruptBytes> {
    let mut group = Group::new(Field::read(input)?);
    group.newest = Field::read(input)?;
    group.fault = bool::read(input)?.then_some(Broken("it was out of service when the snapshot was taken"));
    group.rejects_publishes = Field::read(input)?;
    group.last_used = Field::read(input)?;
    group.publishers = publishers::take(input)?.map(Box::new);
    take_filters(input, &mut group)?;
    take_members(input, &mut group)?;
    for message in take_messages(input)? {
        group.backlog.put_back(message);
    }
    for message in take_messages(input)? {
        let mask = group.backlog.mask_of(&message);
        group.backlog.ready.push_fresh(mask, message);
    }
    for _ in 0..take_count(input)? {
        group.backlog.delayed.insert(Field::read(input)?, Field::read(input)?);
    }
    check_messages(&group)?;
    group.look_at_holders();
    Ok(group)
}

fn put_filters(group: &Group, out: &mut BytesMut) {
    put_count(group.backlog.filters.iter().count(), out);
    for (slot, filter, members) in group.backlog.filters.iter() {
        slot.put(out);
        filter.put(out);
        members.put(out);
    }
}

fn take_filters(input: &mut Bytes, group: &mut Group) -> Result<(), CorruptBytes> {
    for _ in 0..take_count(input)? {
        let slot = FilterSlot::read(input)?;
        let filter = Filter::read(input)?;
        if !group.backlog.filters.place(slot, filter, Field::read(input)?) {
            return Err(UNSOUND);
        }
    }
    Ok(())
}

fn take_members(input: &mut Bytes, group: &mut Group) -> Result<(), CorruptBytes> {
    let saved: Vec<member::Saved> = (0..take_count(input)?).map(|_| member::read(input)).collect::<Result<_, _>>()?;
    let next_ticket: u64 = Field::read(input)?;
    let present = saved.iter().filter(|saved| saved.member.is_present());
    let has_exclusive = present.clone().any(|saved| saved.member.exclusive);
    let present_count = present.count();
    let is_sound = roles_agree(group.config.single_active, &saved)
        && next_ticket <= SEQUENCE_MAX
        && saved.is_sorted_by(|left, right| left.member.id < right.member.id)
        && saved.iter().all(|saved| saved.ticket.is_none_or(|ticket| ticket < next_ticket))
        && present_count <= if has_exclusive { 1 } else { MEMBERS_PER_GROUP_MAX }
        && filters_agree(group, &saved);
    if !is_sound {
        return Err(UNSOUND);
    }
    group.members = Members::new(group.config.strategy, next_ticket);
    for saved in saved {
        group.unacked += u64::try_from(saved.member.unacked.len()).unwrap_or(u64::MAX);
        group.members.restore(saved.member, saved.ticket);
    }
    Ok(())
}

/// Whether the roles are those of a group with, or without, a single active member.
fn roles_agree(single_active: bool, saved: &[member::Saved]) -> bool {
    let attached = saved.iter().filter(|saved| saved.member.presence == Presence::Attached);
    let chosen = attached.clone().filter(|saved| saved.member.role != Role::Standby).count();
    if single_active {
        let present = saved.iter().filter(|saved| saved.member.is_present());
        let all_chosen = present.filter(|saved| saved.member.role != Role::Standby).count();
        chosen == usize::from(attached.count() > 0) && all_chosen == chosen
    } else {
        saved.iter().all(|saved| saved.member.role == Role::Active || !saved.member.is_present())
    }
}

/// Whether each filter has the members that say they have it.
fn filters_agree(group: &Group, saved: &[member::Saved]) -> bool {
    let with_filter = saved.iter().filter(|saved| saved.member.filter.is_some()).count();
    let mut counted = 0;
    let each_agrees = group.backlog.filters.iter().all(|(slot, _, members)| {
        let count = saved.iter().filter(|saved| saved.member.filter == Some(slot)).count();
        counted += count;
        members > 0 && u32::try_from(count) == Ok(members)
    });
    each_agrees && counted == with_filter
}

fn put_messages(mut messages: Vec<&HeldMessage>, out: &mut BytesMut) {
    messages.sort_by_key(|message| message.id);
    put_list(messages.iter().copied(), messages.len(), out);
}

fn take_messages(input: &mut Bytes) -> Result<Vec<HeldMessage>, CorruptBytes> {
    let messages: Vec<HeldMessage> = Field::read(input)?;
    if !messages.is_sorted_by(|left, right| left.id < right.id) {
        return Err(CorruptBytes { what: "order of messages" });
    }
    Ok(messages)
}

/// No message is in two places, and none is younger than the group knows.
fn check_messages(group: &Group) -> Result<(), CorruptBytes> {
    let mut ids: Vec<MessageId> = group.messages().map(|message| message.id).collect();
    ids.sort();
    let is_sound = ids.is_sorted_by(|left, right| left < right) && ids.last().copied() <= group.newest;
    if is_sound { Ok(()) } else { Err(UNSOUND) }
}
