//! Recounts what must hold of a partition (the numbered invariants of the crate). For tests and simulations: it looks
//! at everything, O(n log n).

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use braid_types::{DeliveryId, GroupId, MessageId};

use crate::attachments::Attachments;
use crate::filters::{FilterSlot, is_same};
use crate::group::Group;
use crate::in_flight::InFlight;
use crate::lane::Lane;
use crate::member::{Member, Presence, Role};
use crate::members::Turn;
use crate::partition::Partition;
use crate::{Credit, Strategy};

/// Checks all groups and what they share.
///
/// # Errors
/// What does not hold, in words.
pub fn check(partition: &Partition) -> Result<(), String> {
    let mut holders: BTreeMap<MessageId, (u32, bool)> = BTreeMap::new();
    for id in partition.group_ids() {
        let Some(group) = partition.groups.get(&id) else { continue };
        check_changed(partition, id, group)?;
        check_group(partition, group).map_err(|what| format!("group {}: {what}", id.0))?;
        for message in group.messages() {
            let (count, shared) = holders.entry(message.id).or_insert((0, message.shared));
            *count += 1;
            ensure(*shared == message.shared, "(6) groups disagree whether a message is shared")?;
        }
    }
    for message in partition.doomed.messages() {
        let (count, _) = holders.entry(message.id).or_insert((0, message.shared));
        *count += 1;
    }
    check_references(partition, &holders)?;
    check_attachments(partition)?;
    check_deadlines(partition)
}

fn check_deadlines(partition: &Partition) -> Result<(), String> {
    let mut noted = 0;
    for id in partition.group_ids() {
        let Some(group) = partition.groups.get(&id) else { continue };
        let at = partition.deadlines.of(id);
        noted += usize::from(at.is_some());
        let wanted = group.next_deadline();
        let is_covered = wanted.is_none_or(|wanted| at.is_some_and(|at| at <= wanted));
        ensure(is_covered, "(10) a group waits for a time that is not noted")?;
    }
    ensure(noted == partition.deadlines.len(), "(10) a time is noted for no group")
}

fn check_attachments(partition: &Partition) -> Result<(), String> {
    let mut attachments = Attachments::default();
    for (id, group) in &partition.groups {
        for member in group.members.iter() {
            attachments.insert(member.owner, *id, member.id);
        }
    }
    ensure(attachments == partition.attachments, "(15) members of connections differ from their recount")
}

fn check_changed(partition: &Partition, id: GroupId, group: &Group) -> Result<(), String> {
    ensure(!group.is_changed || partition.changed.contains(&id), "(16) a change is not noted")
}

fn check_references(partition: &Partition, holders: &BTreeMap<MessageId, (u32, bool)>) -> Result<(), String> {
    let shared = holders.iter().filter(|(_, (_, shared))| *shared);
    ensure(shared.clone().count() == partition.references.len(), "(6) a count without a holder")?;
    for (message, (count, _)) in shared {
        ensure(partition.references.count(*message) == Some(*count), "(6) a count differs from its recount")?;
    }
    ensure(holders.values().all(|(count, shared)| *shared || *count == 1), "(6) two groups hold an unshared message")
}

fn check_group(partition: &Partition, group: &Group) -> Result<(), String> {
    if group.fault.is_some() {
        return Ok(());
    }
    check_held(group)?;
    check_ready(group)?;
    check_dead_letters(group)?;
    ensure(group.members.service().leading() == partition.leading, "(3) a group does not know who leads")?;
    check_times(group)?;
    check_length(group)?;
    let may_go = if group.config.strategy == Strategy::Key {
        group.has_next_by_key()
    } else {
        group.backlog.ready.first_for(group.members.takers()).is_some()
    };
    let may_go = may_go && !group.backlog.has_expired(partition.time);
    ensure(!may_go, "(2) a ready message could be handed out")
}

/// What does not hold by construction of a group that was restored from a snapshot.
pub(crate) fn check_held(group: &Group) -> Result<(), String> {
    check_places(group)?;
    check_filters(group)?;
    check_members(group)?;
    check_roles(group)
}

fn check_places(group: &Group) -> Result<(), String> {
    let mut ids: Vec<MessageId> = group.messages().map(|message| message.id).collect();
    ids.sort_unstable();
    ensure(ids.is_sorted_by(|left, right| left < right), "(1) a message is in two places")?;
    ensure(ids.last().copied() <= group.newest, "a message is younger than the newest")?;
    let mut in_flight = InFlight::new(group.config.strategy);
    for member in group.members.iter() {
        for (_, handed_out) in member.unacked.iter() {
            in_flight.add(member.id, &handed_out.message);
        }
    }
    ensure(in_flight == group.in_flight, "(5) what is in flight differs from its recount")
}

fn check_roles(group: &Group) -> Result<(), String> {
    let present = group.members.iter().filter(|member| member.is_present());
    if !group.config.single_active {
        let mut roles = present.map(|member| member.role);
        return ensure(roles.all(|role| role == Role::Active), "(11) a member stands by for nobody");
    }
    let chosen: Vec<&Member> = present.filter(|member| member.role != Role::Standby).collect();
    let is_able = |member: &&Member| member.presence == Presence::Attached && member.overdue.is_empty();
    let has_able = group.members.iter().any(|member| is_able(&member));
    ensure(chosen.len() == usize::from(has_able), "(11) not one member is active")?;
    ensure(chosen.iter().all(is_able), "(11) who is away or overdue is active")
}

fn check_length(group: &Group) -> Result<(), String> {
    let ready = &group.backlog.ready;
    let is_over = group.config.messages_max.is_some_and(|limit| ready.count() > limit)
        || group.config.size_bytes_max.is_some_and(|limit| ready.size_bytes() > limit);
    ensure(!is_over || group.rejects_publishes, "(12) a group is over its limits")
}

fn check_dead_letters(group: &Group) -> Result<(), String> {
    let letters = &group.backlog.dead_letters;
    ensure(letters.keeps == group.config.keeps_dead_letters, "a group does not know whether it keeps dead letters")?;
    ensure(letters.iter().all(|letter| letter.reason.is_dead_letter()), "a dead letter that is none")
}

fn check_times(group: &Group) -> Result<(), String> {
    let ready = &group.backlog.ready;
    let is_calm = ready.classes().iter().all(|class| ready.calm_until() <= class.earliest_expiry());
    ensure(is_calm, "(10) a head expires sooner than known")?;
    let mut delayed = group.backlog.delayed.iter();
    ensure(delayed.all(|(_, message)| message.delivery_count > 0), "a delayed message never failed")?;
    let Some(timeout_ms) = group.config.member_timeout_ms else { return Ok(()) };
    let holders = group.members.iter().filter(|member| member.presence != Presence::Paused);
    let mut until = holders.filter_map(|member| member.patient_until(timeout_ms));
    ensure(until.all(|until| group.patient_until <= until), "(10) a delivery is overdue sooner than known")
}

fn check_ready(group: &Group) -> Result<(), String> {
    let ready = &group.backlog.ready;
    let (mut count, mut size_bytes, mut expiring) = (0, 0, 0);
    for message in ready.iter() {
        count += 1;
        size_bytes += u64::from(message.size_bytes);
        expiring += u64::from(message.expires());
    }
    let counts = (ready.count(), ready.size_bytes(), ready.expiring());
    ensure(counts == (count, size_bytes, expiring), "(5) counts of ready messages differ from their recount")?;
    ensure(ready.classes().is_sorted_by(|left, right| left.key() < right.key()), "(5) classes are out of order")?;
    for class in ready.classes() {
        for message in class.returned().chain(class.fresh()) {
            let mask = message.address.as_ref().map_or(0, |address| group.backlog.filters.match_all(address));
            let lane = if group.config.strategy == Strategy::Key {
                Lane::of(message.address.as_ref())
            } else {
                Lane::default()
            };
            ensure(lane == class.key().lane, "(13) a message is in the wrong lane")?;
            ensure(mask == class.key().mask, "(5) a message is in the wrong class")?;
        }
        ensure(class.returned().all(|message| message.acquired_count > 0), "(8) a fresh message among the returned")?;
        ensure(class.fresh().all(|message| message.acquired_count == 0), "(8) a returned message among the fresh")?;
        let order = |left: &&_, right: &&_| order_of(left) < order_of(right);
        ensure(class.returned().is_sorted_by(order), "(8) returned messages are out of order")?;
        ensure(class.fresh().is_sorted_by(order), "(8) fresh messages are out of order")?;
    }
    Ok(())
}

fn order_of(message: &crate::message::HeldMessage) -> (core::cmp::Reverse<u8>, MessageId) {
    (core::cmp::Reverse(message.priority), message.id)
}

fn check_filters(group: &Group) -> Result<(), String> {
    let filters = &group.backlog.filters;
    for (slot, filter, members) in filters.iter() {
        let count = group.members.iter().filter(|member| member.filter == Some(slot)).count();
        ensure(
            u32::try_from(count) == Ok(members) && members > 0,
            "(5) members of a filter differ from their recount",
        )?;
        let same = filters.iter().filter(|(_, other, _)| is_same(other, filter)).count();
        ensure(same == 1, "(5) a filter has two bits")?;
    }
    let known = |member: &Member| member.filter.is_none_or(|slot| filters.get(slot).is_some());
    ensure(group.members.iter().all(known), "(5) a member has an unknown filter")
}

fn check_members(group: &Group) -> Result<(), String> {
    let members = &group.members;
    let present: Vec<&Member> = members.iter().filter(|member| member.is_present()).collect();
    ensure(present.len() == members.present(), "(3) present members differ from their recount")?;
    ensure(
        present.len() <= 1 || !present.iter().any(|member| member.exclusive),
        "(7) an exclusive member is not alone",
    )?;
    for member in members.iter() {
        ensure(member.turn.is_some() == member.is_servable(), "(3) who stands in line is not who could be served")?;
        let own = |id: &DeliveryId| *id < member.unacked.next() && member.is_present();
        ensure(member.overdue.iter().all(own), "(4) a delivery is overdue that never was")?;
        ensure(!member.is_gone(), "(3) a member that is gone is still there")?;
        let ids: Vec<DeliveryId> = member.unacked.iter().map(|(id, _)| id).collect();
        ensure(ids.is_sorted_by(|left, right| left < right), "(4) deliveries are out of order")?;
        ensure(ids.len() == member.unacked.len(), "(4) unacked deliveries differ from their recount")?;
        ensure(ids.last().is_none_or(|last| *last < member.unacked.next()), "(4) a delivery was never made")?;
        let is_granted = matches!(member.credit, Credit::Granted { .. });
        ensure(!is_granted || member.unacked.is_empty(), "(3) a granted member holds a delivery")?;
    }
    check_line(group)
}

fn check_line(group: &Group) -> Result<(), String> {
    let in_line: Vec<(Option<FilterSlot>, Turn)> = group.members.service().iter().collect();
    let with_turn = group.members.iter().filter(|member| member.turn.is_some()).count();
    ensure(in_line.len() == with_turn, "(3) the service queue has strangers")?;
    ensure(in_line.is_sorted_by(|left, right| left < right), "(3) the service queue is out of order")?;
    for (filter, turn) in in_line {
        let stands_there =
            group.members.get(turn.member).is_some_and(|member| member.filter == filter && member.turn == Some(turn));
        ensure(stands_there, "(3) a turn is in the wrong queue")?;
    }
    Ok(())
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(String::from(otherwise)) }
}
