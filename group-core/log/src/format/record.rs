//! What stands behind the header of an entry or of bodies.
//!
//! ```text
//! head   row… | payload          row: position (4) | offset among the bodies (4) | length (4) | crc (4)
//! bodies each at a multiple of 8: sums are quicker there
//! zeros  up to a multiple of 64
//! ```
//!
//! Head and bodies have checksums of their own, so one body can be read, checked and rewritten alone, and every byte is
//! summed exactly once. It is made once, by who appends; the same bytes are written and kept as the recent entry.

use std::fmt;

use bytes::{Buf, BufMut, Bytes};

use super::{ALIGNMENT_BYTES, HEADER_BYTES, length_u32, round_up};
use crate::{Body, Error, limits};

pub(crate) const ROW_BYTES: usize = 16;

const BODY_ALIGNMENT_BYTES: usize = 8;

const fn aligned(length: usize) -> usize {
    round_up(length, BODY_ALIGNMENT_BYTES)
}

/// One body of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) position: u32,
    pub(crate) offset: u32,
    pub(crate) length: u32,
    pub(crate) crc: u32,
}

impl Row {
    /// Where the body is in its segment, when the record is at `record`.
    pub(crate) fn place(&self, record: u32, head_length: u32) -> u32 {
        record.saturating_add(length_u32(HEADER_BYTES)).saturating_add(head_length).saturating_add(self.offset)
    }

    fn write(&self, out: &mut &mut [u8]) {
        out.put_u32_le(self.position);
        out.put_u32_le(self.offset);
        out.put_u32_le(self.length);
        out.put_u32_le(self.crc);
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        Some(Self {
            position: bytes.try_get_u32_le().ok()?,
            offset: bytes.try_get_u32_le().ok()?,
            length: bytes.try_get_u32_le().ok()?,
            crc: bytes.try_get_u32_le().ok()?,
        })
    }
}

/// See the file's head. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Record {
    bytes: Bytes,
    pub(crate) head_length: u32,
    pub(crate) head_crc: u32,
    pub(crate) body_length: u32,
    pub(crate) body_count: u32,
}

impl fmt::Debug for Record {
    /// Its sizes: what clients sent is not for everybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({} + {} bytes, {} bodies)", self.head_length, self.body_length, self.body_count)
    }
}

impl Record {
    /// A record of `payload` and `bodies`, of at most `max_bytes`.
    ///
    /// # Errors
    /// It is too large, or the positions do not ascend.
    pub(crate) fn new(payload: &[u8], bodies: &[Body], max_bytes: usize) -> Result<Self, Error> {
        let head_length = bodies.len() * ROW_BYTES + payload.len();
        let gap = if bodies.is_empty() { 0 } else { aligned(head_length) - head_length };
        let body_length: usize = gap + bodies.iter().map(|body| aligned(body.size_bytes())).sum::<usize>();
        let size = HEADER_BYTES + head_length + body_length;
        if size > max_bytes {
            return Err(Error::TooLarge { what: "entry", size, max: max_bytes });
        }
        if bodies.len() > limits::BODIES_PER_ENTRY_MAX {
            let (size, max) = (bodies.len(), limits::BODIES_PER_ENTRY_MAX);
            return Err(Error::TooLarge { what: "number of bodies", size, max });
        }
        if bodies.windows(2).any(|pair| matches!(pair, [a, b] if a.position >= b.position)) {
            return Err(Error::PositionsUnordered);
        }
        let mut bytes = Vec::with_capacity(round_up(size, ALIGNMENT_BYTES) - HEADER_BYTES);
        bytes.put_bytes(0, bodies.len() * ROW_BYTES);
        bytes.put_slice(payload);
        bytes.put_bytes(0, gap);
        for body in bodies {
            bytes.put_slice(&body.prefix);
            bytes.put_slice(&body.bytes);
            bytes.put_bytes(0, aligned(body.size_bytes()) - body.size_bytes());
        }
        // After all copies, so that the sums, each of which waits for itself, run beside each other.
        let (mut rows, bodies_bytes) = bytes.split_at_mut(head_length);
        let mut offset = gap;
        for body in bodies {
            let length = body.size_bytes();
            let crc = crc32c::crc32c(bodies_bytes.get(offset..offset + length).unwrap_or_default());
            let (position, offset_u32, length_u32) = (body.position, length_u32(offset), length_u32(length));
            Row { position, offset: offset_u32, length: length_u32, crc }.write(&mut rows);
            offset += aligned(length);
        }
        let head_crc = crc32c::crc32c(bytes.get(..head_length).unwrap_or_default());
        let padding = round_up(size, ALIGNMENT_BYTES) - size;
        bytes.put_bytes(0, padding);
        Ok(Self {
            bytes: bytes.into(),
            head_length: length_u32(head_length),
            head_crc,
            body_length: length_u32(body_length),
            body_count: length_u32(bodies.len()),
        })
    }

    /// What is written behind the header.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Bytes on disk, with header and padding.
    pub(crate) fn size_bytes(&self) -> usize {
        HEADER_BYTES + self.bytes.len()
    }

    pub(crate) fn payload(&self) -> Bytes {
        self.bytes.slice(self.body_count as usize * ROW_BYTES..self.head_length as usize)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> + use<'_> {
        read_rows(&self.bytes, self.body_count)
    }

    /// The body of a row.
    pub(crate) fn body_of(&self, row: &Row) -> Bytes {
        let start = self.head_length as usize + row.offset as usize;
        self.bytes.slice(start..start + row.length as usize)
    }

    /// The body at `position`.
    pub(crate) fn body(&self, position: u32) -> Option<Bytes> {
        let row_at = |at: usize| self.bytes.get(at * ROW_BYTES..).and_then(Row::read);
        let (mut low, mut high) = (0, self.body_count as usize);
        while low < high {
            let middle = low.midpoint(high);
            let row = row_at(middle)?;
            match row.position.cmp(&position) {
                std::cmp::Ordering::Equal => return Some(self.body_of(&row)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

/// The rows that a head begins with. Fewer than `count` if the head is shorter.
pub(crate) fn read_rows(head: &[u8], count: u32) -> impl Iterator<Item = Row> + use<'_> {
    head.chunks_exact(ROW_BYTES).take(count as usize).filter_map(Row::read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(position: u32, prefix: &'static [u8], bytes: &'static [u8]) -> Body {
        Body { position, prefix: Bytes::from_static(prefix), bytes: Bytes::from_static(bytes) }
    }

    #[test]
    fn bodies_are_found_by_position() {
        let bodies = [body(0, b"", b"zero"), body(3, b"th", b"ree"), body(9, b"", b"")];
        let record = Record::new(b"payload", &bodies, 4096).unwrap();
        assert_eq!(record.size_bytes() % ALIGNMENT_BYTES, 0);
        assert_eq!(record.payload(), "payload");
        assert_eq!(record.body(0).unwrap(), "zero");
        assert_eq!(record.body(3).unwrap(), "three");
        assert_eq!(record.body(9).unwrap(), "");
        assert_eq!(record.body(1), None);
        assert_eq!(record.rows().count(), 3);
        assert!(record.rows().all(|row| crc32c::crc32c(&record.body_of(&row)) == row.crc));
    }

    #[test]
    fn limits_and_order_are_kept() {
        assert!(matches!(Record::new(&[0; 100], &[], 100), Err(Error::TooLarge { size: 164, .. })));
        let bodies = [body(1, b"", b"a"), body(1, b"", b"b")];
        assert_eq!(Record::new(b"", &bodies, 4096).unwrap_err(), Error::PositionsUnordered);
    }
}
