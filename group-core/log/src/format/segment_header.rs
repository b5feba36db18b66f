//! The head of a segment file, in two copies, each in a block of its own.
//!
//! ```text
//! magic "BRAIDWAL" | version (4) | segment (4) | salt (4) | size (4) | identity (16) | crc (4) | zeros
//! ```

use bytes::{Buf, BufMut};

use super::BLOCK_BYTES;

const MAGIC: &[u8; 8] = b"BRAIDWAL";
const VERSION: u32 = 1;
const CHECKED_BYTES: usize = 40;

/// See the file's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) segment: u32,
    pub(crate) salt: u32,
    pub(crate) size_bytes: u32,
    pub(crate) identity: u128,
}

impl SegmentHeader {
    /// Both copies.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut copy = Vec::with_capacity(BLOCK_BYTES);
        copy.put_slice(MAGIC);
        copy.put_u32_le(VERSION);
        copy.put_u32_le(self.segment);
        copy.put_u32_le(self.salt);
        copy.put_u32_le(self.size_bytes);
        copy.put_u128_le(self.identity);
        copy.put_u32_le(crc32c::crc32c(&copy));
        copy.resize(BLOCK_BYTES, 0);
        copy.repeat(2)
    }

    /// One of the copies that a file begins with; `None` if neither can be read.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        bytes.chunks(BLOCK_BYTES).take(2).find_map(Self::decode_copy)
    }

    fn decode_copy(bytes: &[u8]) -> Option<Self> {
        let (checked, mut crc) = bytes.split_at_checked(CHECKED_BYTES)?;
        if crc.try_get_u32_le().ok()? != crc32c::crc32c(checked) {
            return None;
        }
        let mut at = checked.strip_prefix(MAGIC)?;
        if at.try_get_u32_le().ok()? != VERSION {
            return None;
        }
        Some(Self {
            segment: at.try_get_u32_le().ok()?,
            salt: at.try_get_u32_le().ok()?,
            size_bytes: at.try_get_u32_le().ok()?,
            identity: at.try_get_u128_le().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_copy_is_enough() {
        let header = SegmentHeader { segment: 5, salt: 6, size_bytes: 65_536, identity: u128::MAX };
        let bytes = header.encode();
        assert_eq!(bytes.len(), 2 * BLOCK_BYTES);
        for bit in 0..(CHECKED_BYTES + 4) * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(SegmentHeader::decode(&damaged), Some(header));
            damaged[BLOCK_BYTES + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(SegmentHeader::decode(&damaged), None, "bit {bit}");
        }
    }
}
