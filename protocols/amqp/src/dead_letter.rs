//! AMQP messages as dead letters (SPEC section 3), as RabbitMQ 4.3 writes them (compared with it byte for byte):
//!
//! - header `x-death`: an array of tables, newest first, one for each pair of queue and reason;
//! - headers `x-first-death-*` (set once) and `x-last-death-*` (set every time), each with `queue`, `reason`, `exchange`;
//! - the headers are sorted by name; the property `expiration` is gone, whatever the message died of; all else stays.
//!
//! What a client sends under these names is not believed but replaced. Never fails: of a block that cannot be read (none is
//! let in) what can be read is kept.

mod record;

use alloc::vec::Vec;

use braid_types::{ConnectionId, DeadLetter, Death, DeathHistory, DeathRecord, HeaderValue, Message};
use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    field_table::{self, encode_value, split_field, with_length},
    properties::View,
    writer::write_short_string,
};

/// Property flag of `headers` (the table in [`crate::properties`]).
const HEADERS: u16 = 1 << 13;

/// Property flag of `expiration`.
const EXPIRATION: u16 = 1 << 8;

/// `message`, of AMQP origin, as it is to be published again because of `death`.
#[must_use]
pub fn dead_letter(message: &Message, death: &Death) -> DeadLetter {
    let block = Block::split(&message.header).unwrap_or_default();
    let mut history = history(message, block.table);
    history.add(death, block.expiration_ms);
    let header = block.with_history(&message.header, &history);
    DeadLetter::new(message, header, history)
}

/// The deaths that `message`, of AMQP origin, remembers, newest first. None for what a client published.
#[must_use]
pub fn deaths(message: &Message) -> Vec<DeathRecord> {
    let block = Block::split(&message.header).unwrap_or_default();
    history(message, block.table).into_records()
}

fn history(message: &Message, table: &[u8]) -> DeathHistory {
    let mut history = DeathHistory::default();
    if message.publisher != ConnectionId::BROKER {
        return history;
    }
    for (name, field) in fields(table) {
        if !DeathHistory::owns(name) {
            continue;
        }
        let value = field_table::decode(field, &message.header).ok().and_then(|mut headers| headers.pop());
        match value {
            Some((_, HeaderValue::List(values))) if name == DeathHistory::RECORDS.as_bytes() => {
                values.iter().filter_map(record::read).for_each(|record| history.push_older(record));
            }
            Some((_, HeaderValue::Text(text))) => history.set_mark(name, text),
            _ => {}
        }
    }
    history
}

/// The fields of a table, each with its name, as far as they can be read.
fn fields(mut table: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    core::iter::from_fn(move || if table.is_empty() { None } else { split_field(&mut table).ok() })
}

/// A header block in the pieces that a rewriting needs.
#[derive(Debug, Default)]
struct Block<'a> {
    flags: u16,
    before_headers: &'a [u8],
    table: &'a [u8],
    before_expiration: &'a [u8],
    expiration_ms: Option<u64>,
    after_expiration: &'a [u8],
}

impl<'a> Block<'a> {
    fn split(block: &'a [u8]) -> Option<Self> {
        let view = View::parse(block).ok()?;
        let short = |value: Option<&[u8]>| value.map_or(0, |value| value.len() + 1);
        let octet = |value: Option<u8>| usize::from(value.is_some());
        let (flags, rest) = block.split_first_chunk::<2>()?;
        let (before_headers, rest) = rest.split_at_checked(short(view.content_type) + short(view.content_encoding))?;
        let rest = rest.get(view.headers.map_or(0, |table| table.len() + 4)..)?;
        let before_expiration_bytes =
            octet(view.delivery_mode) + octet(view.priority) + short(view.correlation_id) + short(view.reply_to);
        let (before_expiration, rest) = rest.split_at_checked(before_expiration_bytes)?;
        let after_expiration = rest.get(short(view.expiration)..)?;
        Some(Self {
            flags: u16::from_be_bytes(*flags),
            before_headers,
            table: view.headers.unwrap_or_default(),
            before_expiration,
            expiration_ms: view.expiration.and_then(record::number),
            after_expiration,
        })
    }

    /// The block with the headers of `history` instead of its own of these names, and without expiration. The block lies
    /// within `source`.
    fn with_history(&self, source: &Bytes, history: &DeathHistory) -> Bytes {
        let mut all: Vec<(&[u8], Bytes)> = fields(self.table)
            .filter(|(name, _)| !DeathHistory::owns(name))
            .map(|(name, field)| (name, source.slice_ref(field)))
            .collect();
        let records = history.records().iter().map(record::write).collect();
        all.push((DeathHistory::RECORDS.as_bytes(), field(DeathHistory::RECORDS, &HeaderValue::List(records))));
        for (name, value) in history.marks() {
            all.push((name.as_bytes(), field(name, &HeaderValue::Text(value))));
        }
        all.sort_by_key(|(name, _)| *name);

        let mut out = BytesMut::with_capacity(source.len() + 512);
        out.put_u16((self.flags | HEADERS) & !EXPIRATION);
        out.extend_from_slice(self.before_headers);
        with_length(&mut out, |out| all.iter().for_each(|(_, field)| out.extend_from_slice(field)));
        out.extend_from_slice(self.before_expiration);
        out.extend_from_slice(self.after_expiration);
        out.freeze()
    }
}

fn field(name: &str, value: &HeaderValue) -> Bytes {
    let mut out = BytesMut::new();
    write_short_string(&mut out, name.as_bytes());
    encode_value(value, &mut out);
    out.freeze()
}
