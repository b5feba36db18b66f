//! The normal form of a filter, and its byte form. Keeps no dialect and matches nothing.

use alloc::{sync::Arc, vec::Vec};

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{Filter, FilterLevel};
use crate::{
    CorruptBytes, Protocol, Wire,
    limits::{ADDRESS_BYTES_MAX, ADDRESS_LEVELS_MAX},
};

const CORRUPT: CorruptBytes = CorruptBytes { what: "filter" };

/// Collects levels and rewrites each run of wildcards.
#[derive(Debug, Default)]
pub(super) struct NormalForm {
    levels: Vec<FilterLevel>,
    /// Levels that the run of wildcards at the end asks for at least; they are not in `levels` yet.
    at_least: usize,
    unbounded: bool,
}

impl NormalForm {
    /// Appends a level.
    pub(super) fn push(&mut self, level: FilterLevel) {
        match level {
            FilterLevel::Literal(_) => {
                self.end_run();
                self.levels.push(level);
            }
            FilterLevel::One => self.at_least += 1,
            FilterLevel::ZeroOrMore => self.unbounded = true,
            FilterLevel::OneOrMore => {
                self.at_least += 1;
                self.unbounded = true;
            }
        }
    }

    /// All levels, rewritten.
    pub(super) fn finish(mut self) -> Arc<[FilterLevel]> {
        self.end_run();
        self.levels.into()
    }

    fn end_run(&mut self) {
        let at_least = core::mem::take(&mut self.at_least);
        let unbounded = core::mem::take(&mut self.unbounded);
        let ones = if unbounded { at_least.saturating_sub(1) } else { at_least };
        self.levels.extend(core::iter::repeat_n(FilterLevel::One, ones));
        if unbounded {
            self.levels.push(if at_least > 0 { FilterLevel::OneOrMore } else { FilterLevel::ZeroOrMore });
        }
    }
}

const TAG_LITERAL: u8 = 0;
const TAG_ONE: u8 = 1;
const TAG_ZERO_OR_MORE: u8 = 2;
const TAG_ONE_OR_MORE: u8 = 3;

/// The byte form is the dialect, the number of levels, then each level: a tag, and for a literal its length (2 bytes,
/// little endian) and its bytes.
impl Wire for Filter {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(match self.dialect {
            Protocol::Amqp => 0,
            Protocol::Mqtt => 1,
            Protocol::Nats => 2,
        });
        out.put_u8(u8::try_from(self.levels.len()).unwrap_or(u8::MAX));
        for level in self.levels.iter() {
            match level {
                FilterLevel::Literal(literal) => {
                    out.put_u8(TAG_LITERAL);
                    out.put_u16_le(u16::try_from(literal.len()).unwrap_or(u16::MAX));
                    out.extend_from_slice(literal);
                }
                FilterLevel::One => out.put_u8(TAG_ONE),
                FilterLevel::ZeroOrMore => out.put_u8(TAG_ZERO_OR_MORE),
                FilterLevel::OneOrMore => out.put_u8(TAG_ONE_OR_MORE),
            }
        }
    }

    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        let dialect = match input.try_get_u8().map_err(|_| CORRUPT)? {
            0 => Protocol::Amqp,
            1 => Protocol::Mqtt,
            2 => Protocol::Nats,
            _ => return Err(CORRUPT),
        };
        let count = usize::from(input.try_get_u8().map_err(|_| CORRUPT)?);
        if count == 0 || count > ADDRESS_LEVELS_MAX {
            return Err(CORRUPT);
        }
        let mut form = NormalForm::default();
        let mut size_bytes = 0;
        for _ in 0..count {
            let level = decode_level(input)?;
            if let FilterLevel::Literal(literal) = &level {
                size_bytes += literal.len();
            }
            form.push(level);
        }
        let levels = form.finish();
        // One byte form for one value: what is not in normal form was not written by us.
        if size_bytes > ADDRESS_BYTES_MAX || levels.len() != count {
            return Err(CORRUPT);
        }
        Ok(Self { levels, dialect })
    }
}

fn decode_level(input: &mut Bytes) -> Result<FilterLevel, CorruptBytes> {
    Ok(match input.try_get_u8().map_err(|_| CORRUPT)? {
        TAG_LITERAL => {
            let length = usize::from(input.try_get_u16_le().map_err(|_| CORRUPT)?);
            if length > input.len() {
                return Err(CORRUPT);
            }
            let literal = input.split_to(length);
            if literal.contains(&b'.') {
                return Err(CORRUPT);
            }
            FilterLevel::Literal(Arc::from(&*literal))
        }
        TAG_ONE => FilterLevel::One,
        TAG_ZERO_OR_MORE => FilterLevel::ZeroOrMore,
        TAG_ONE_OR_MORE => FilterLevel::OneOrMore,
        _ => return Err(CORRUPT),
    })
}
