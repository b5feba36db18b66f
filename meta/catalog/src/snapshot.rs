//! The byte form of the whole catalog: a version, counters, nodes, users, then each vhost with its exchanges, groups and
//! bindings. Only rows are written; every index is made again from them.
//!
//! Predeclared exchanges are not written. Groups are written in the order of their names.

use alloc::{sync::Arc, vec::Vec};

use braid_types::{CorruptBytes, Epoch, ExchangeKind, Filter, GroupId, PartitionId, Wire};
use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    Binding, Catalog, ExchangeRow, GroupKind, GroupOptions, GroupRow, Node, StorageClass, UserRow,
    changes::Changes,
    codec::{
        get_bool, get_bytes, get_connection, get_count, get_headers, get_list, get_string, get_u8, get_u32, get_u64,
        put_bool, put_bytes, put_connection, put_count, put_headers,
    },
    limits::PARTITIONS_PER_KIND_MAX,
    vhost::Vhost,
};

/// The version of this form.
const VERSION: u8 = 2;

const CORRUPT: CorruptBytes = CorruptBytes { what: "catalog snapshot" };

pub(crate) fn write(catalog: &Catalog, out: &mut BytesMut) {
    out.put_u8(VERSION);
    out.put_u64_le(catalog.last_group);
    put_count(out, catalog.placement.nodes.len());
    for (id, node) in &catalog.placement.nodes {
        out.put_u64_le(*id);
        out.put_u32_le(node.slot);
        out.put_u32_le(node.per_kind);
    }
    put_count(out, catalog.users.len());
    for user in catalog.users.values() {
        put_bytes(out, &user.name);
        put_bytes(out, user.password_hash.as_bytes());
        put_count(out, user.tags.len());
        for tag in &user.tags {
            put_bytes(out, tag.as_bytes());
        }
    }
    put_count(out, catalog.vhosts.len());
    for vhost in catalog.vhosts.values() {
        write_vhost(vhost, out);
    }
}

pub(crate) fn read(input: &mut Bytes) -> Result<Catalog, CorruptBytes> {
    if get_u8(input)? != VERSION {
        return Err(CORRUPT);
    }
    let mut catalog = Catalog { last_group: get_u64(input)?, ..Catalog::default() };
    for (id, node) in get_list(input, read_node)? {
        catalog.placement.nodes.insert(id, node);
    }
    for user in get_list(input, read_user)? {
        catalog.users.insert(user.name.clone(), Arc::new(user));
    }
    for _ in 0..get_count(input)? {
        read_vhost(&mut catalog, input)?;
    }
    catalog.check_invariants().map_err(|_| CORRUPT)?;
    Ok(catalog)
}

fn write_vhost(vhost: &Vhost, out: &mut BytesMut) {
    put_bytes(out, &vhost.name);
    let exchanges: Vec<&Arc<ExchangeRow>> =
        vhost.exchanges.values().map(|state| &state.row).filter(|row| !row.is_predeclared()).collect();
    put_count(out, exchanges.len());
    for row in exchanges {
        write_exchange(row, out);
    }
    put_count(out, vhost.groups.len());
    for row in vhost.groups.values() {
        write_group(row, out);
    }
    put_count(out, vhost.bindings.len());
    for binding in vhost.bindings.iter() {
        put_bytes(out, &binding.exchange);
        put_bytes(out, &binding.group_name);
        put_bytes(out, &binding.key);
        put_headers(out, &binding.arguments);
    }
}

fn read_vhost(catalog: &mut Catalog, input: &mut Bytes) -> Result<(), CorruptBytes> {
    // What changes here was told when it happened.
    let mut untold = Vec::new();
    let mut changes = Changes::new(&mut untold);
    let mut vhost = Vhost::new(get_bytes(input)?);
    for _ in 0..get_count(input)? {
        let row = read_exchange(&vhost.name, input)?;
        vhost.insert_exchange(row);
    }
    for _ in 0..get_count(input)? {
        let row = Arc::new(read_group(&vhost.name, input)?);
        catalog.placement.add(row.leader, row.partition);
        catalog.by_id.insert(row.id, Arc::clone(&row));
        vhost.put_group(&row, &mut changes).map_err(|_| CORRUPT)?;
    }
    for _ in 0..get_count(input)? {
        let (exchange, group_name, key) = (get_bytes(input)?, get_bytes(input)?, get_bytes(input)?);
        let arguments = get_headers(input)?;
        let group = vhost.groups.get(&group_name).ok_or(CORRUPT)?.id;
        let binding = Binding { exchange, group, group_name, key, arguments };
        vhost.add_binding(binding, &mut changes).map_err(|_| CORRUPT)?;
    }
    catalog.vhosts.insert(vhost.name.clone(), vhost);
    Ok(())
}

fn read_node(input: &mut Bytes) -> Result<(u64, Node), CorruptBytes> {
    let (id, slot, partitions) = (get_u64(input)?, get_u32(input)?, get_u32(input)?);
    if partitions > PARTITIONS_PER_KIND_MAX {
        return Err(CORRUPT);
    }
    Ok((id, Node::new(slot, partitions)))
}

fn read_user(input: &mut Bytes) -> Result<UserRow, CorruptBytes> {
    Ok(UserRow { name: get_bytes(input)?, password_hash: get_string(input)?, tags: get_list(input, get_string)? })
}

fn write_exchange(row: &ExchangeRow, out: &mut BytesMut) {
    put_bytes(out, &row.name);
    put_bytes(out, row.kind.name().as_bytes());
    put_bool(out, row.durable);
    put_bool(out, row.auto_delete);
    put_bool(out, row.internal);
    put_headers(out, &row.arguments);
}

fn read_exchange(vhost: &Bytes, input: &mut Bytes) -> Result<ExchangeRow, CorruptBytes> {
    Ok(ExchangeRow {
        vhost: vhost.clone(),
        name: get_bytes(input)?,
        kind: ExchangeKind::from_name(&get_bytes(input)?).ok_or(CORRUPT)?,
        durable: get_bool(input)?,
        auto_delete: get_bool(input)?,
        internal: get_bool(input)?,
        arguments: get_headers(input)?,
    })
}

fn write_group(row: &GroupRow, out: &mut BytesMut) {
    out.put_u64_le(row.id.0);
    put_bytes(out, &row.name);
    match &row.kind {
        GroupKind::Declared => out.put_u8(0),
        GroupKind::Shared { share, filter } => {
            out.put_u8(1);
            put_bytes(out, share);
            filter.encode(out);
        }
    }
    out.put_u8(match row.class {
        StorageClass::Direct => 0,
        StorageClass::Memory => 1,
        StorageClass::Disk => 2,
        StorageClass::Quorum => 3,
    });
    put_bool(out, row.durable);
    put_bool(out, row.auto_delete);
    put_connection(out, row.exclusive);
    put_headers(out, &row.arguments);
    out.put_u32_le(row.partition.0);
    out.put_u64_le(row.leader);
    out.put_u64_le(row.epoch.0);
}

fn read_group(vhost: &Bytes, input: &mut Bytes) -> Result<GroupRow, CorruptBytes> {
    let (id, name) = (GroupId(get_u64(input)?), get_bytes(input)?);
    let kind = match get_u8(input)? {
        0 => GroupKind::Declared,
        1 => GroupKind::Shared { share: get_bytes(input)?, filter: Filter::decode(input)? },
        _ => return Err(CORRUPT),
    };
    let class = match get_u8(input)? {
        0 => StorageClass::Direct,
        1 => StorageClass::Memory,
        2 => StorageClass::Disk,
        3 => StorageClass::Quorum,
        _ => return Err(CORRUPT),
    };
    let (durable, auto_delete, exclusive) = (get_bool(input)?, get_bool(input)?, get_connection(input)?);
    let arguments = get_headers(input)?;
    let options = match kind {
        GroupKind::Declared => GroupOptions::from_arguments(&arguments, class),
        GroupKind::Shared { .. } => GroupOptions::default(),
    };
    Ok(GroupRow {
        id,
        vhost: vhost.clone(),
        name,
        kind,
        class,
        durable,
        auto_delete,
        exclusive,
        arguments,
        options,
        partition: PartitionId(get_u32(input)?),
        leader: get_u64(input)?,
        epoch: Epoch(get_u64(input)?),
    })
}
