//! The byte form of commands: a version, the kind of the command, then its fields in the order of their declaration.
//!
//! The upgrade rule: a kind is never changed or reused, only new ones are added, and a new one is proposed only when
//! every node reads it (guide, decision 12).

use alloc::string::String;

use braid_types::{ConnectionId, CorruptBytes, Filter, GroupId, Headers, Wire};
use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    Command,
    codec::{
        get_bool, get_bytes, get_connection, get_headers, get_list, get_string, get_u8, get_u32, get_u64, put_bool,
        put_bytes, put_connection, put_count, put_headers,
    },
};

/// The version of all commands so far.
const VERSION: u8 = 1;

const CORRUPT: CorruptBytes = CorruptBytes { what: "catalog command" };

impl Wire for Command {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(VERSION);
        match self {
            Self::CreateVhost { name } => put_named(out, 1, name),
            Self::DeleteVhost { name } => put_named(out, 2, name),
            Self::PutUser { name, password_hash, tags } => {
                put_named(out, 3, name);
                put_bytes(out, password_hash.as_bytes());
                put_tags(out, tags);
            }
            Self::DeleteUser { name } => put_named(out, 4, name),
            Self::NodeStarted { node, partitions } => {
                out.put_u8(5);
                out.put_u64_le(*node);
                out.put_u32_le(*partitions);
            }
            Self::DeclareExchange { vhost, name, kind, durable, auto_delete, internal, arguments } => {
                put_named(out, 6, vhost);
                put_bytes(out, name);
                put_bytes(out, kind);
                put_bool(out, *durable);
                put_bool(out, *auto_delete);
                put_bool(out, *internal);
                put_headers(out, arguments);
            }
            Self::DeleteExchange { vhost, name, if_unused } => {
                put_named(out, 7, vhost);
                put_bytes(out, name);
                put_bool(out, *if_unused);
            }
            Self::DeclareGroup { vhost, name, durable, exclusive, auto_delete, arguments, suffix } => {
                put_named(out, 8, vhost);
                put_bytes(out, name);
                put_bool(out, *durable);
                put_connection(out, *exclusive);
                put_bool(out, *auto_delete);
                put_headers(out, arguments);
                out.put_u64_le(*suffix);
            }
            Self::DeleteGroup { group } => put_group(out, 9, *group),
            Self::Bind { vhost, group, exchange, key, arguments, connection } => {
                out.put_u8(10);
                put_binding(out, [vhost, group, exchange, key], arguments, *connection);
            }
            Self::Unbind { vhost, group, exchange, key, arguments, connection } => {
                out.put_u8(11);
                put_binding(out, [vhost, group, exchange, key], arguments, *connection);
            }
            Self::OpenShared { vhost, share, filter, filter_text, logged } => {
                put_named(out, 12, vhost);
                put_bytes(out, share);
                filter.encode(out);
                put_bytes(out, filter_text);
                put_bool(out, *logged);
            }
            Self::DropShared { group } => put_group(out, 13, *group),
        }
    }

    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        if get_u8(input)? != VERSION {
            return Err(CORRUPT);
        }
        Ok(match get_u8(input)? {
            1 => Self::CreateVhost { name: get_bytes(input)? },
            2 => Self::DeleteVhost { name: get_bytes(input)? },
            3 => Self::PutUser {
                name: get_bytes(input)?,
                password_hash: get_string(input)?,
                tags: get_list(input, get_string)?,
            },
            4 => Self::DeleteUser { name: get_bytes(input)? },
            5 => Self::NodeStarted { node: get_u64(input)?, partitions: get_u32(input)? },
            6 => get_declare_exchange(input)?,
            7 => {
                Self::DeleteExchange { vhost: get_bytes(input)?, name: get_bytes(input)?, if_unused: get_bool(input)? }
            }
            8 => get_declare_group(input)?,
            9 => Self::DeleteGroup { group: GroupId(get_u64(input)?) },
            10 => {
                let ([vhost, group, exchange, key], arguments, connection) = get_binding(input)?;
                Self::Bind { vhost, group, exchange, key, arguments, connection }
            }
            11 => {
                let ([vhost, group, exchange, key], arguments, connection) = get_binding(input)?;
                Self::Unbind { vhost, group, exchange, key, arguments, connection }
            }
            12 => Self::OpenShared {
                vhost: get_bytes(input)?,
                share: get_bytes(input)?,
                filter: Filter::decode(input)?,
                filter_text: get_bytes(input)?,
                logged: get_bool(input)?,
            },
            13 => Self::DropShared { group: GroupId(get_u64(input)?) },
            _ => return Err(CORRUPT),
        })
    }
}

fn put_named(out: &mut BytesMut, kind: u8, name: &[u8]) {
    out.put_u8(kind);
    put_bytes(out, name);
}

fn put_group(out: &mut BytesMut, kind: u8, group: GroupId) {
    out.put_u8(kind);
    out.put_u64_le(group.0);
}

fn put_tags(out: &mut BytesMut, tags: &[String]) {
    put_count(out, tags.len());
    for tag in tags {
        put_bytes(out, tag.as_bytes());
    }
}

fn put_binding(out: &mut BytesMut, names: [&Bytes; 4], arguments: &Headers, connection: ConnectionId) {
    for name in names {
        put_bytes(out, name);
    }
    put_headers(out, arguments);
    out.put_u64_le(connection.0);
}

fn get_binding(input: &mut Bytes) -> Result<([Bytes; 4], Headers, ConnectionId), CorruptBytes> {
    let names = [get_bytes(input)?, get_bytes(input)?, get_bytes(input)?, get_bytes(input)?];
    Ok((names, get_headers(input)?, ConnectionId(get_u64(input)?)))
}

fn get_declare_exchange(input: &mut Bytes) -> Result<Command, CorruptBytes> {
    Ok(Command::DeclareExchange {
        vhost: get_bytes(input)?,
        name: get_bytes(input)?,
        kind: get_bytes(input)?,
        durable: get_bool(input)?,
        auto_delete: get_bool(input)?,
        internal: get_bool(input)?,
        arguments: get_headers(input)?,
    })
}

fn get_declare_group(input: &mut Bytes) -> Result<Command, CorruptBytes> {
    Ok(Command::DeclareGroup {
        vhost: get_bytes(input)?,
        name: get_bytes(input)?,
        durable: get_bool(input)?,
        exclusive: get_connection(input)?,
        auto_delete: get_bool(input)?,
        arguments: get_headers(input)?,
        suffix: get_u64(input)?,
    })
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use braid_types::{HeaderValue, Protocol};

    use super::*;

    fn samples() -> Vec<Command> {
        let name = || Bytes::from_static(b"name");
        let arguments: Headers = vec![
            (name(), HeaderValue::Integer(-5)),
            (name(), HeaderValue::Decimal { scale: 2, value: -100 }),
            (name(), HeaderValue::List(vec![HeaderValue::Void, HeaderValue::Float(1.5)])),
            (name(), HeaderValue::Table(vec![(name(), HeaderValue::TimestampS(9))])),
            (name(), HeaderValue::Binary(name())),
        ];
        let filter = Filter::from_notation(Protocol::Mqtt, b"a/+/#").unwrap();
        vec![
            Command::CreateVhost { name: name() },
            Command::DeleteVhost { name: name() },
            Command::PutUser { name: name(), password_hash: "h".into(), tags: vec!["administrator".into()] },
            Command::DeleteUser { name: name() },
            Command::NodeStarted { node: 7, partitions: 3 },
            Command::DeclareExchange {
                vhost: name(),
                name: name(),
                kind: name(),
                durable: true,
                auto_delete: false,
                internal: true,
                arguments: arguments.clone(),
            },
            Command::DeleteExchange { vhost: name(), name: name(), if_unused: true },
            Command::DeclareGroup {
                vhost: name(),
                name: Bytes::new(),
                durable: false,
                exclusive: Some(ConnectionId(3)),
                auto_delete: true,
                arguments: arguments.clone(),
                suffix: u64::MAX,
            },
            Command::DeleteGroup { group: GroupId(4) },
            Command::Bind {
                vhost: name(),
                group: name(),
                exchange: name(),
                key: name(),
                arguments: arguments.clone(),
                connection: ConnectionId(1),
            },
            Command::Unbind {
                vhost: name(),
                group: name(),
                exchange: name(),
                key: name(),
                arguments,
                connection: ConnectionId(1),
            },
            Command::OpenShared { vhost: name(), share: name(), filter, filter_text: name(), logged: true },
            Command::DropShared { group: GroupId(5) },
        ]
    }

    #[test]
    fn each_command_comes_back_and_each_cut_is_refused() {
        for command in samples() {
            let mut bytes = BytesMut::new();
            command.encode(&mut bytes);
            let bytes = bytes.freeze();
            let mut input = bytes.clone();
            assert_eq!(Command::decode(&mut input).as_ref(), Ok(&command));
            assert!(input.is_empty(), "{command:?} left bytes behind");
            for cut in 0..bytes.len() {
                assert!(Command::decode(&mut bytes.slice(..cut)).is_err(), "{command:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn another_version_or_kind_is_refused() {
        assert!(Command::decode(&mut Bytes::from_static(&[VERSION + 1, 1, 0, 0, 0, 0])).is_err());
        assert!(Command::decode(&mut Bytes::from_static(&[VERSION, 200, 0, 0, 0, 0])).is_err());
    }

    #[test]
    fn a_hostile_count_or_depth_is_refused() {
        let mut count = BytesMut::from(&[VERSION, 1][..]);
        count.put_u32_le(u32::MAX);
        assert!(Command::decode(&mut count.freeze()).is_err());

        let mut value = HeaderValue::Void;
        for _ in 0..crate::limits::ARGUMENTS_DEPTH_MAX + 1 {
            value = HeaderValue::List(vec![value]);
        }
        let mut deep = BytesMut::new();
        let name = Bytes::from_static(b"n");
        let arguments = vec![(name.clone(), value)];
        Command::DeclareExchange {
            vhost: name.clone(),
            name: name.clone(),
            kind: name,
            durable: true,
            auto_delete: false,
            internal: false,
            arguments,
        }
        .encode(&mut deep);
        assert!(Command::decode(&mut deep.freeze()).is_err());
    }
}
