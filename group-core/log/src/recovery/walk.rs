//! Going through the records of a piece of a segment, and checking each.

use crate::format::{ALIGNMENT_BYTES, HEADER_BYTES, Header, Place, Row, length_u32, read_rows};

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Sound,
    /// Payload and table cannot be trusted, so nothing behind the header can.
    HeadDamaged,
    /// These bodies.
    BodiesDamaged(Vec<Row>),
}

/// A record whose header is sound.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) header: Header,
    /// In its segment.
    pub(crate) offset: u32,
    pub(crate) head: &'a [u8],
    pub(crate) verdict: Verdict,
}

/// The records of a piece, in order.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) found: Vec<Found<'a>>,
    /// There was something between them that is no record.
    pub(crate) has_gap: bool,
}

impl Walk<'_> {
    pub(crate) fn is_sound(&self) -> bool {
        !self.has_gap && self.found.iter().all(|found| found.verdict == Verdict::Sound)
    }
}

/// Goes through `bytes`, which are at `place`, from record to record; over what is no record, step by step.
pub(crate) fn walk(bytes: &[u8], place: Place) -> Walk<'_> {
    let mut walk = Walk { found: Vec::new(), has_gap: false };
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let offset = place.offset.saturating_add(length_u32(at));
        match read_record(rest, Place { offset, ..place }) {
            Some(found) => {
                at += found.header.record_bytes();
                walk.found.push(found);
            }
            None => {
                walk.has_gap = true;
                at += ALIGNMENT_BYTES;
            }
        }
    }
    walk
}

fn read_record(bytes: &[u8], place: Place) -> Option<Found<'_>> {
    let header = Header::decode(bytes, place).filter(|header| header.kind.is_record())?;
    let head_end = HEADER_BYTES.checked_add(header.head_length as usize)?;
    let head = bytes.get(HEADER_BYTES..head_end)?;
    let bodies = bytes.get(head_end..head_end.checked_add(header.body_length as usize)?)?;
    let verdict = if crc32c::crc32c(head) == header.head_crc {
        check_bodies(&header, head, bodies)
    } else {
        Verdict::HeadDamaged
    };
    Some(Found { header, offset: place.offset, head, verdict })
}

fn check_bodies(header: &Header, head: &[u8], bodies: &[u8]) -> Verdict {
    let is_sound = |row: &Row| {
        let start = row.offset as usize;
        bodies.get(start..start.saturating_add(row.length as usize)).is_some_and(|body| crc32c::crc32c(body) == row.crc)
    };
    let damaged: Vec<Row> = read_rows(head, header.body_count).filter(|row| !is_sound(row)).collect();
    if damaged.is_empty() { Verdict::Sound } else { Verdict::BodiesDamaged(damaged) }
}
