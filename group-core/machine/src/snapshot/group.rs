//! A group in a snapshot: settings, filters, members with what they hold, and the ready messages.

use alloc::boxed::Box;
use alloc::vec::Vec;

use braid_types::{CorruptBytes, Filter};
use bytes::{Bytes, BytesMut};

use super::member::{self, Saved};
use super::publishers;
use crate::dead_letters::DeadLetter;
use crate::fault::Broken;
use crate::filters::FilterSlot;
use crate::group::Group;
use crate::invariants;
use crate::limits::SEQUENCE_MAX;
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
    put_count(group.backlog.dead_letters.iter().len(), out);
    for letter in group.backlog.dead_letters.iter() {
        letter.reason.put(out);
        letter.message.put(out);
    }
}

pub(super) fn read(input: &mut Bytes, leading: Option<u64>) -> Result<Group, CorruptBytes> {
    let mut group = Group::new(Field::read(input)?, leading);
    group.newest = Field::read(input)?;
    group.fault = bool::read(input)?.then_some(Broken("it was out of service when the snapshot was taken"));
    group.rejects_publishes = Field::read(input)?;
    group.last_used = Field::read(input)?;
    group.publishers = publishers::read(input)?.map(Box::new);
    read_filters(input, &mut group)?;
    read_members(input, &mut group, leading)?;
    for message in Vec::<HeldMessage>::read(input)? {
        group.backlog.put_back(message);
    }
    let mut fresh = Vec::<HeldMessage>::read(input)?;
    fresh.sort_by_key(|message| message.id);
    for message in fresh {
        let class = group.backlog.class_of(&message);
        group.backlog.ready.push_fresh(class, message);
    }
    for _ in 0..take_count(input)? {
        group.backlog.delayed.insert(Field::read(input)?, Field::read(input)?);
    }
    for _ in 0..take_count(input)? {
        let letter = DeadLetter { reason: Field::read(input)?, message: Field::read(input)? };
        if !group.backlog.dead_letters.restore(letter) {
            return Err(UNSOUND);
        }
    }
    group.look_at_holders();
    // A group that is out of service need not be sound: it only keeps what it holds.
    if group.fault.is_none() && invariants::check_held(&group).is_err() {
        return Err(UNSOUND);
    }
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

fn read_filters(input: &mut Bytes, group: &mut Group) -> Result<(), CorruptBytes> {
    for _ in 0..take_count(input)? {
        let slot = FilterSlot::read(input)?;
        let filter = Filter::read(input)?;
        if !group.backlog.filters.place(slot, filter, Field::read(input)?) {
            return Err(UNSOUND);
        }
    }
    Ok(())
}

fn read_members(input: &mut Bytes, group: &mut Group, leading: Option<u64>) -> Result<(), CorruptBytes> {
    let members = take_count(input)?;
    let saved: Vec<Saved> = (0..members).map(|_| member::read(input)).collect::<Result<_, _>>()?;
    let next_ticket: u64 = Field::read(input)?;
    let tickets = saved.iter().filter_map(|saved| saved.ticket);
    if next_ticket > SEQUENCE_MAX || tickets.max().is_some_and(|ticket| ticket >= next_ticket) {
        return Err(UNSOUND);
    }
    group.members = Members::new(group.config.strategy, leading, next_ticket);
    for Saved { member, ticket } in saved {
        for (_, handed_out) in member.unacked.iter() {
            group.in_flight.add(member.id, &handed_out.message);
        }
        group.members.restore(member, ticket.filter(|_| group.fault.is_none()));
    }
    Ok(())
}

fn put_messages(mut messages: Vec<&HeldMessage>, out: &mut BytesMut) {
    messages.sort_by_key(|message| message.id);
    put_list(messages.iter().copied(), messages.len(), out);
}
