//! A member in a snapshot, with what it holds and its place in line.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use braid_types::{CorruptBytes, DeliveryId, MemberId};
use bytes::{Bytes, BytesMut};

use crate::filters::FilterSlot;
use crate::limits::{FILTERS_PER_GROUP_MAX, SEQUENCE_MAX};
use crate::member::{Member, Presence, Role};
use crate::unacked::{HandedOut, Unacked};
use crate::wire::{Field, put_count, put_list, take_count};

/// A member, and its ticket if it stood in line.
pub(super) struct Saved {
    pub(super) member: Member,
    pub(super) ticket: Option<u64>,
}

pub(super) fn put(member: &Member, out: &mut BytesMut) {
    member.id.put(out);
    member.owner.put(out);
    member.on_loss.put(out);
    member.credit.put(out);
    member.priority.put(out);
    member.exclusive.put(out);
    member.filter.put(out);
    member.presence.put(out);
    member.role.put(out);
    member.turn.map(|turn| turn.ticket).put(out);
    put_list(member.overdue.iter(), member.overdue.len(), out);
    member.unacked.next().put(out);
    put_count(member.unacked.len(), out);
    for (id, handed_out) in member.unacked.iter() {
        id.put(out);
        handed_out.put(out);
    }
}

pub(super) fn read(input: &mut Bytes) -> Result<Saved, CorruptBytes> {
    let id = MemberId::read(input)?;
    let mut member = Member {
        id,
        owner: Field::read(input)?,
        on_loss: Field::read(input)?,
        credit: Field::read(input)?,
        priority: Field::read(input)?,
        exclusive: Field::read(input)?,
        filter: Field::read(input)?,
        presence: Field::read(input)?,
        role: Field::read(input)?,
        unacked: Unacked::default(),
        overdue: BTreeSet::new(),
        turn: None,
        owns: false,
    };
    let ticket: Option<u64> = Field::read(input)?;
    member.overdue = Vec::<DeliveryId>::read(input)?.into_iter().collect();
    member.unacked = read_unacked(input)?;
    Ok(Saved { member, ticket })
}

fn read_unacked(input: &mut Bytes) -> Result<Unacked, CorruptBytes> {
    let next = DeliveryId::read(input)?;
    if next.0 > SEQUENCE_MAX {
        return Err(CorruptBytes { what: "delivery id" });
    }
    let mut unacked = Unacked::starting_at(next);
    for _ in 0..take_count(input)? {
        unacked.restore(DeliveryId::read(input)?, HandedOut::read(input)?);
    }
    Ok(unacked)
}

impl Field for FilterSlot {
    fn put(&self, out: &mut BytesMut) {
        self.0.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        let slot = u8::read(input)?;
        if usize::from(slot) >= FILTERS_PER_GROUP_MAX {
            return Err(CorruptBytes { what: "filter slot" });
        }
        Ok(Self(slot))
    }
}

impl Field for Presence {
    fn put(&self, out: &mut BytesMut) {
        let byte: u8 = match self {
            Self::Attached => 0,
            Self::Paused => 1,
            Self::Leaving => 2,
        };
        byte.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u8::read(input)? {
            0 => Ok(Self::Attached),
            1 => Ok(Self::Paused),
            2 => Ok(Self::Leaving),
            _ => Err(CorruptBytes { what: "presence of a member" }),
        }
    }
}

impl Field for Role {
    fn put(&self, out: &mut BytesMut) {
        let byte: u8 = match self {
            Self::Active => 0,
            Self::Quiescing => 1,
            Self::Standby => 2,
        };
        byte.put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u8::read(input)? {
            0 => Ok(Self::Active),
            1 => Ok(Self::Quiescing),
            2 => Ok(Self::Standby),
            _ => Err(CorruptBytes { what: "role of a member" }),
        }
    }
}
