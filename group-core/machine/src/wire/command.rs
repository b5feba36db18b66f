//! Commands: a kind, the version of that kind, and its fields in order.

use alloc::boxed::Box;
use alloc::vec::Vec;

use braid_types::CorruptBytes;
use bytes::{Bytes, BytesMut};

use super::address::Addresses;
use super::{Field, member};
use crate::Command;

/// The byte of each kind, and its version. A number is never used again for something else. 32 to 39 are kept for
/// moving a group to another partition (seal, adopt; guide, rule 16).
mod kind {
    pub(super) type Kind = [u8; 2];

    pub(super) const CREATE_GROUP: Kind = [1, 1];
    pub(super) const DELETE_GROUP: Kind = [2, 1];
    pub(super) const PURGE_GROUP: Kind = [3, 1];
    pub(super) const ENQUEUE: Kind = [4, 1];
    pub(super) const ATTACH: Kind = [5, 1];
    pub(super) const DETACH: Kind = [6, 1];
    pub(super) const PAUSE: Kind = [7, 1];
    pub(super) const RESUME: Kind = [8, 1];
    pub(super) const SET_WINDOW: Kind = [9, 1];
    pub(super) const GRANT: Kind = [10, 1];
    pub(super) const SETTLE: Kind = [11, 1];
    pub(super) const GET: Kind = [12, 1];
    pub(super) const TICK: Kind = [13, 1];
    pub(super) const ENQUEUE_ONCE: Kind = [14, 1];
    pub(super) const CONFIGURE: Kind = [15, 1];
    pub(super) const DEFINE_GROUP_SET: Kind = [16, 1];
    /// Without what was never sent.
    pub(super) const CONNECTION_LOST_1: Kind = [17, 1];
    pub(super) const CONNECTION_LOST: Kind = [17, 2];
    pub(super) const NODE_LOST: Kind = [18, 1];
    pub(super) const LEAD: Kind = [19, 1];
    pub(super) const END_DEAD_LETTERS: Kind = [20, 1];
}

pub(super) fn put(command: &Command, out: &mut BytesMut) {
    match command {
        Command::CreateGroup { group, config } => put_fields(kind::CREATE_GROUP, &[group, &**config], out),
        Command::DeleteGroup { group, if_unused, if_empty } => {
            put_fields(kind::DELETE_GROUP, &[group, if_unused, if_empty], out);
        }
        Command::PurgeGroup { group } => put_fields(kind::PURGE_GROUP, &[group], out),
        Command::Enqueue { groups, message } => put_fields(kind::ENQUEUE, &[groups, message], out),
        Command::EnqueueOnce { groups, message, identity } => {
            put_fields(kind::ENQUEUE_ONCE, &[groups, message, identity], out);
        }
        Command::Attach { group, member } => put_fields(kind::ATTACH, &[group, &**member], out),
        Command::Detach { group, member, unacked } => put_fields(kind::DETACH, &[group, member, unacked], out),
        Command::Pause { group, member } => put_fields(kind::PAUSE, &[group, member], out),
        Command::Resume { group, member, owner, messages } => {
            put_fields(kind::RESUME, &[group, member, owner, messages], out);
        }
        Command::SetWindow { group, member, messages } => {
            put_fields(kind::SET_WINDOW, &[group, member, messages], out);
        }
        Command::Grant { group, member, messages, bytes } => {
            put_fields(kind::GRANT, &[group, member, messages, bytes], out);
        }
        Command::Settle { group, member, deliveries, outcome } => {
            put_fields(kind::SETTLE, &[group, member, deliveries, outcome], out);
        }
        Command::Get { group, owner, settled, on_loss } => {
            put_fields(kind::GET, &[group, owner, settled, on_loss], out);
        }
        Command::Configure { group, config } => put_fields(kind::CONFIGURE, &[group, &**config], out),
        Command::DefineGroupSet { set, groups } => put_fields(kind::DEFINE_GROUP_SET, &[set, groups], out),
        Command::ConnectionLost { node, connection, kept, unsent } => {
            put_fields(kind::CONNECTION_LOST, &[node, connection, kept, unsent], out);
        }
        Command::NodeLost { node } => put_fields(kind::NODE_LOST, &[node], out),
        Command::Lead { node } => put_fields(kind::LEAD, &[node], out),
        Command::EndDeadLetters { group, messages } => put_fields(kind::END_DEAD_LETTERS, &[group, messages], out),
        Command::Tick => put_fields(kind::TICK, &[], out),
    }
}

pub(super) fn read(input: &mut Bytes, addresses: &mut Addresses) -> Result<Command, CorruptBytes> {
    let kind = [u8::read(input)?, u8::read(input)?];
    let group = |input: &mut Bytes| Field::read(input);
    Ok(match kind {
        kind::CREATE_GROUP => Command::CreateGroup { group: group(input)?, config: Box::new(Field::read(input)?) },
        kind::DELETE_GROUP => {
            Command::DeleteGroup { group: group(input)?, if_unused: Field::read(input)?, if_empty: Field::read(input)? }
        }
        kind::PURGE_GROUP => Command::PurgeGroup { group: group(input)? },
        kind::ENQUEUE => {
            Command::Enqueue { groups: Field::read(input)?, message: member::read_header(input, addresses)? }
        }
        kind::ATTACH => Command::Attach { group: group(input)?, member: Box::new(Field::read(input)?) },
        kind::DETACH => {
            Command::Detach { group: group(input)?, member: Field::read(input)?, unacked: Field::read(input)? }
        }
        kind::PAUSE => Command::Pause { group: group(input)?, member: Field::read(input)? },
        kind::RESUME => Command::Resume {
            group: group(input)?,
            member: Field::read(input)?,
            owner: Field::read(input)?,
            messages: Field::read(input)?,
        },
        kind::SET_WINDOW => {
            Command::SetWindow { group: group(input)?, member: Field::read(input)?, messages: Field::read(input)? }
        }
        kind::GRANT => Command::Grant {
            group: group(input)?,
            member: Field::read(input)?,
            messages: Field::read(input)?,
            bytes: Field::read(input)?,
        },
        kind::SETTLE => Command::Settle {
            group: group(input)?,
            member: Field::read(input)?,
            deliveries: Field::read(input)?,
            outcome: Field::read(input)?,
        },
        kind::GET => Command::Get {
            group: group(input)?,
            owner: Field::read(input)?,
            settled: Field::read(input)?,
            on_loss: Field::read(input)?,
        },
        _ => return read_further(kind, input, addresses),
    })
}

fn read_further(kind: kind::Kind, input: &mut Bytes, addresses: &mut Addresses) -> Result<Command, CorruptBytes> {
    Ok(match kind {
        kind::TICK => Command::Tick,
        kind::ENQUEUE_ONCE => Command::EnqueueOnce {
            groups: Field::read(input)?,
            message: member::read_header(input, addresses)?,
            identity: Field::read(input)?,
        },
        kind::CONFIGURE => Command::Configure { group: Field::read(input)?, config: Box::new(Field::read(input)?) },
        kind::DEFINE_GROUP_SET => Command::DefineGroupSet { set: Field::read(input)?, groups: Field::read(input)? },
        kind::CONNECTION_LOST | kind::CONNECTION_LOST_1 => Command::ConnectionLost {
            node: Field::read(input)?,
            connection: Field::read(input)?,
            kept: Field::read(input)?,
            unsent: if kind == kind::CONNECTION_LOST { Field::read(input)? } else { Vec::new() },
        },
        kind::NODE_LOST => Command::NodeLost { node: Field::read(input)? },
        kind::LEAD => Command::Lead { node: Field::read(input)? },
        kind::END_DEAD_LETTERS => Command::EndDeadLetters { group: Field::read(input)?, messages: Field::read(input)? },
        _ => return Err(CorruptBytes { what: "kind or version of a command" }),
    })
}

fn put_fields(kind: kind::Kind, fields: &[&dyn PutField], out: &mut BytesMut) {
    out.extend_from_slice(&kind);
    for field in fields {
        field.put_field(out);
    }
}

/// The half of [`Field`] that a list of different fields needs.
trait PutField {
    fn put_field(&self, out: &mut BytesMut);
}

impl<T: Field> PutField for T {
    fn put_field(&self, out: &mut BytesMut) {
        self.put(out);
    }
}
