//! Marks stand between the records and say what must be there, so that a record whose own header is gone is missed, and
//! it is known whose it was.
//!
//! ```text
//! head: own count (4) | previous count (4) | own… | previous…      own, previous: partition (4) | records (4) | chain (8)
//! ```
//!
//! `own` names the partitions of the batch that begins here, with the number of their records in it and the chain number
//! of the last; `previous` says the same of the batch before it in the segment.

use braid_types::PartitionId;
use bytes::{Buf, BufMut};

use super::{ALIGNMENT_BYTES, HEADER_BYTES, Header, Kind, Place, length_u32, round_up};
use crate::limits::PARTITIONS_PER_BATCH_MAX;

const CHAIN_END_BYTES: usize = 16;

/// Bytes of the largest mark.
pub(crate) const MARK_BYTES_MAX: usize =
    round_up(HEADER_BYTES + 8 + 2 * PARTITIONS_PER_BATCH_MAX * CHAIN_END_BYTES, ALIGNMENT_BYTES);

/// What a partition has in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainEnd {
    pub(crate) partition: PartitionId,
    pub(crate) records: u32,
    /// Of the last one.
    pub(crate) chain: u64,
}

/// See the file's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) kind: Kind,
    /// Counts the marks of the log. A seal has the number of the mark that takes its place.
    pub(crate) number: u64,
    /// For a batch: its length from the mark on, without padding. For an end: where the data ends.
    pub(crate) extent: u32,
    pub(crate) own: Vec<ChainEnd>,
    pub(crate) previous: Vec<ChainEnd>,
}

impl Mark {
    /// Bytes of a mark that names so many partitions.
    pub(crate) fn bytes_for(own: usize, previous: usize) -> usize {
        round_up(HEADER_BYTES + 8 + (own + previous) * CHAIN_END_BYTES, ALIGNMENT_BYTES)
    }

    pub(crate) fn size_bytes(&self) -> usize {
        Self::bytes_for(self.own.len(), self.previous.len())
    }

    pub(crate) fn encode(&self, place: Place, out: &mut Vec<u8>) {
        let mut head = Vec::with_capacity(self.size_bytes());
        head.put_u32_le(length_u32(self.own.len()));
        head.put_u32_le(length_u32(self.previous.len()));
        for end in self.own.iter().chain(&self.previous) {
            head.put_u32_le(end.partition.0);
            head.put_u32_le(end.records);
            head.put_u64_le(end.chain);
        }
        let header = Header {
            kind: self.kind,
            head_crc: crc32c::crc32c(&head),
            head_length: length_u32(head.len()),
            body_length: 0,
            body_count: 0,
            partition: PartitionId(0),
            index: u64::from(self.extent),
            term: 0,
            chain: self.number,
        };
        header.encode(place, out);
        out.extend_from_slice(&head);
        let padding = self.size_bytes() - HEADER_BYTES - head.len();
        out.put_bytes(0, padding);
    }

    /// The mark of `header`, with the `head` behind it.
    pub(crate) fn decode(header: &Header, mut head: &[u8]) -> Option<Self> {
        if header.kind.is_record() || crc32c::crc32c(head) != header.head_crc {
            return None;
        }
        let own_count = head.try_get_u32_le().ok()? as usize;
        let previous_count = head.try_get_u32_le().ok()? as usize;
        if own_count > PARTITIONS_PER_BATCH_MAX || previous_count > PARTITIONS_PER_BATCH_MAX {
            return None;
        }
        let mut take = |count: usize| -> Option<Vec<ChainEnd>> {
            let mut ends = Vec::with_capacity(count);
            for _ in 0..count {
                let partition = PartitionId(head.try_get_u32_le().ok()?);
                let records = head.try_get_u32_le().ok()?;
                ends.push(ChainEnd { partition, records, chain: head.try_get_u64_le().ok()? });
            }
            Some(ends)
        };
        let (own, previous) = (take(own_count)?, take(previous_count)?);
        let extent = u32::try_from(header.index).ok()?;
        Some(Self { kind: header.kind, number: header.chain, extent, own, previous })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_back() {
        let end = |partition, chain| ChainEnd { partition: PartitionId(partition), records: 2, chain };
        let mark = Mark {
            kind: Kind::Batch,
            number: 9,
            extent: 640,
            own: vec![end(1, 5)],
            previous: vec![end(1, 4), end(2, u64::MAX)],
        };
        let place = Place { segment: 1, salt: 2, offset: 8192 };
        let mut bytes = Vec::new();
        mark.encode(place, &mut bytes);
        assert_eq!(bytes.len(), mark.size_bytes());
        let header = Header::decode(&bytes, place).unwrap();
        let head = &bytes[HEADER_BYTES..HEADER_BYTES + header.head_length as usize];
        assert_eq!(Mark::decode(&header, head), Some(mark));
        assert_eq!(Mark::decode(&header, &head[1..]), None);
    }

    #[test]
    fn the_largest_end_fits_into_a_block() {
        assert!(Mark::bytes_for(0, PARTITIONS_PER_BATCH_MAX) <= super::super::BLOCK_BYTES);
    }
}
