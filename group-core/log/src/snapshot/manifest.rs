//! The list of a snapshot's parts.
//!
//! ```text
//! magic "BRAIDSNP" | version (4) | identity (16) | partition (4) | birth (8) | last (8) | term (8) | note length (4) note
//! part count (4) | part…  | crc (4)           part: key (8) | offset (8) | length (4) | crc (4) | pack (4)
//! ```
//!
//! Invariant: keys ascend.

use std::collections::BTreeMap;

use braid_types::{LogIndex, PartitionId, Term};
use bytes::{Buf, BufMut, Bytes};

use super::SnapshotMeta;
use crate::{
    format::length_u32,
    limits::{NOTE_BYTES_MAX, PARTS_PER_SNAPSHOT_MAX},
    names::Life,
};

const MAGIC: &[u8; 8] = b"BRAIDSNP";
const VERSION: u32 = 1;
const PART_ROW_BYTES: usize = 28;

/// Where a part's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) key: u64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    pub(crate) crc: u32,
    /// The number of its parts file.
    pub(crate) pack: u32,
}

/// See the file's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) life: Life,
    pub(crate) meta: SnapshotMeta,
    pub(crate) parts: Vec<Part>,
}

impl Manifest {
    pub(crate) fn part(&self, key: u64) -> Option<Part> {
        let place = self.parts.binary_search_by_key(&key, |part| part.key).ok()?;
        self.parts.get(place).copied()
    }

    /// Bytes that are referred to in each parts file, and where the last of them ends.
    pub(crate) fn packs(&self) -> BTreeMap<u32, (u64, u64)> {
        let mut packs = BTreeMap::new();
        for part in &self.parts {
            let (live, end) = packs.entry(part.pack).or_insert((0_u64, 0_u64));
            *live += u64::from(part.length);
            *end = (part.offset + u64::from(part.length)).max(*end);
        }
        packs
    }

    pub(crate) fn encode(&self, identity: u128) -> Vec<u8> {
        let mut out = Vec::with_capacity(128 + self.meta.note.len() + self.parts.len() * PART_ROW_BYTES);
        out.put_slice(MAGIC);
        out.put_u32_le(VERSION);
        out.put_u128_le(identity);
        out.put_u32_le(self.life.partition.0);
        out.put_u64_le(self.life.birth);
        out.put_u64_le(self.meta.last.0);
        out.put_u64_le(self.meta.term.0);
        out.put_u32_le(length_u32(self.meta.note.len()));
        out.put_slice(&self.meta.note);
        out.put_u32_le(length_u32(self.parts.len()));
        for part in &self.parts {
            out.put_u64_le(part.key);
            out.put_u64_le(part.offset);
            out.put_u32_le(part.length);
            out.put_u32_le(part.crc);
            out.put_u32_le(part.pack);
        }
        out.put_u32_le(crc32c::crc32c(&out));
        out
    }

    /// Reads it back; `None`: it is damaged, or another disk's.
    pub(crate) fn decode(bytes: &[u8], identity: u128) -> Option<Self> {
        let (body, mut crc) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
        if crc.try_get_u32_le().ok()? != crc32c::crc32c(body) {
            return None;
        }
        let mut at = body.strip_prefix(MAGIC)?;
        if at.try_get_u32_le().ok()? != VERSION || at.try_get_u128_le().ok()? != identity {
            return None;
        }
        let partition = PartitionId(at.try_get_u32_le().ok()?);
        let life = Life { partition, birth: at.try_get_u64_le().ok()? };
        let (last, term) = (LogIndex(at.try_get_u64_le().ok()?), Term(at.try_get_u64_le().ok()?));
        let note_length = at.try_get_u32_le().ok()? as usize;
        let (note, mut at) = at.split_at_checked(note_length).filter(|_| note_length <= NOTE_BYTES_MAX)?;
        let count = at.try_get_u32_le().ok()? as usize;
        if count > PARTS_PER_SNAPSHOT_MAX || at.len() != count * PART_ROW_BYTES {
            return None;
        }
        let mut parts = Vec::with_capacity(count);
        for _ in 0..count {
            parts.push(Part {
                key: at.try_get_u64_le().ok()?,
                offset: at.try_get_u64_le().ok()?,
                length: at.try_get_u32_le().ok()?,
                crc: at.try_get_u32_le().ok()?,
                pack: at.try_get_u32_le().ok()?,
            });
        }
        let meta = SnapshotMeta { last, term, note: Bytes::copy_from_slice(note) };
        Some(Self { life, meta, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_shows() {
        let part = |key, offset, pack| Part { key, offset, length: 10, crc: 7, pack };
        let meta = SnapshotMeta { last: LogIndex(9), term: Term(3), note: Bytes::from_static(b"members") };
        let manifest = Manifest {
            life: Life { partition: PartitionId(2), birth: 4 },
            meta,
            parts: vec![part(1, 0, 1), part(5, 30, 1), part(9, 0, 2)],
        };
        let bytes = manifest.encode(77);
        assert_eq!(Manifest::decode(&bytes, 77), Some(manifest.clone()));
        assert_eq!(Manifest::decode(&bytes, 78), None);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Manifest::decode(&damaged, 77), None, "bit {bit}");
        }
        assert_eq!(manifest.packs(), BTreeMap::from([(1, (20, 40)), (2, (10, 10))]));
        assert_eq!(manifest.part(5), Some(part(5, 30, 1)));
        assert_eq!(manifest.part(6), None);
    }
}
