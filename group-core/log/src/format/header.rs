//! The header of a record or mark: 64 bytes with a checksum of their own.
//!
//! ```text
//!  0 magic "BW" | 2 kind | 3 version | 4 header crc | 8 head crc | 12 head length | 16 body length | 20 body count
//! 24 segment | 28 offset | 32 partition | 36 zero | 40 index | 48 term | 56 chain
//! ```
//!
//! The checksum begins with the segment's salt and covers the header's own place. So a header is only taken for one
//! where it was written, in the life of the segment that it was written in: not what a file held before it was
//! recycled, not a copy elsewhere, and not a body in which a client wrote what looks like a header.

use braid_types::PartitionId;
use bytes::{Buf, BufMut};

use super::{ALIGNMENT_BYTES, round_up};

pub(crate) const HEADER_BYTES: usize = 64;

const MAGIC: u16 = u16::from_le_bytes(*b"BW");
const VERSION: u8 = 1;

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A batch of records begins.
    Batch,
    /// Nothing follows yet; all before it was synced.
    Seal,
    /// Nothing follows in this segment.
    End,
    /// An entry of a partition's log.
    Entry,
    /// Bodies of an entry that may be purged: rewritten, or received with a snapshot.
    Bodies,
    /// A partition's marks.
    State,
}

impl Kind {
    fn number(self) -> u8 {
        match self {
            Self::Batch => 1,
            Self::Seal => 2,
            Self::End => 3,
            Self::Entry => 4,
            Self::Bodies => 5,
            Self::State => 6,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Batch,
            2 => Self::Seal,
            3 => Self::End,
            4 => Self::Entry,
            5 => Self::Bodies,
            6 => Self::State,
            _ => return None,
        })
    }

    /// Whether it belongs to a partition.
    pub(crate) fn is_record(self) -> bool {
        matches!(self, Self::Entry | Self::Bodies | Self::State)
    }
}

/// Where a header stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) salt: u32,
    pub(crate) offset: u32,
}

/// See the file's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) head_crc: u32,
    pub(crate) head_length: u32,
    pub(crate) body_length: u32,
    pub(crate) body_count: u32,
    pub(crate) partition: PartitionId,
    /// Of the entry; for a batch its length without padding, for an end the offset where the data ends.
    pub(crate) index: u64,
    pub(crate) term: u64,
    /// Counts the partition's records, from 1; for a mark, counts the marks of the log.
    pub(crate) chain: u64,
}

impl Header {
    /// Bytes of the whole record, with padding.
    pub(crate) fn record_bytes(&self) -> usize {
        round_up(HEADER_BYTES + self.head_length as usize + self.body_length as usize, ALIGNMENT_BYTES)
    }

    pub(crate) fn encode(&self, place: Place, out: &mut Vec<u8>) {
        let mut bytes = [0_u8; HEADER_BYTES];
        let mut at = bytes.as_mut_slice();
        at.put_u16_le(MAGIC);
        at.put_u8(self.kind.number());
        at.put_u8(VERSION);
        at.put_u32_le(0);
        at.put_u32_le(self.head_crc);
        at.put_u32_le(self.head_length);
        at.put_u32_le(self.body_length);
        at.put_u32_le(self.body_count);
        at.put_u32_le(place.segment);
        at.put_u32_le(place.offset);
        at.put_u32_le(self.partition.0);
        at.put_u32_le(0);
        at.put_u64_le(self.index);
        at.put_u64_le(self.term);
        at.put_u64_le(self.chain);
        let crc = checksum(&bytes, place.salt);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&bytes);
    }

    /// The header at `place`, which `bytes` begin with; `None` if there is none.
    pub(crate) fn decode(bytes: &[u8], place: Place) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let mut at = bytes.as_slice();
        if at.get_u16_le() != MAGIC {
            return None;
        }
        let (kind, version, crc) = (at.get_u8(), at.get_u8(), at.get_u32_le());
        if version != VERSION || crc != checksum(bytes, place.salt) {
            return None;
        }
        let (head_crc, head_length, body_length) = (at.get_u32_le(), at.get_u32_le(), at.get_u32_le());
        let (body_count, segment, offset) = (at.get_u32_le(), at.get_u32_le(), at.get_u32_le());
        if segment != place.segment || offset != place.offset {
            return None;
        }
        let (partition, zero) = (PartitionId(at.get_u32_le()), at.get_u32_le());
        let (index, term, chain) = (at.get_u64_le(), at.get_u64_le(), at.get_u64_le());
        let kind = Kind::from_number(kind).filter(|_| zero == 0)?;
        Some(Self { kind, head_crc, head_length, body_length, body_count, partition, index, term, chain })
    }
}

fn checksum(bytes: &[u8; HEADER_BYTES], salt: u32) -> u32 {
    let (before, rest) = bytes.split_at(4);
    let (_, after) = rest.split_at(4);
    crc32c::crc32c_append(crc32c::crc32c_append(salt, before), after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { segment: 7, salt: 99, offset: 8192 };

    fn header() -> Header {
        Header {
            kind: Kind::Entry,
            head_crc: 1,
            head_length: 40,
            body_length: 100,
            body_count: 2,
            partition: PartitionId(3),
            index: 11,
            term: 5,
            chain: 42,
        }
    }

    fn bytes() -> Vec<u8> {
        let mut out = Vec::new();
        header().encode(PLACE, &mut out);
        out
    }

    #[test]
    fn is_read_back_only_in_its_place_and_life() {
        let bytes = bytes();
        assert_eq!(Header::decode(&bytes, PLACE), Some(header()));
        assert_eq!(header().record_bytes(), 256);
        assert_eq!(Header::decode(&bytes, Place { offset: 8256, ..PLACE }), None);
        assert_eq!(Header::decode(&bytes, Place { segment: 8, ..PLACE }), None);
        assert_eq!(Header::decode(&bytes, Place { salt: 98, ..PLACE }), None);
        assert_eq!(Header::decode(&bytes[..63], PLACE), None);
    }

    #[test]
    fn every_flipped_bit_shows() {
        for bit in 0..HEADER_BYTES * 8 {
            let mut bytes = bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&bytes, PLACE), None, "bit {bit}");
        }
    }
}
