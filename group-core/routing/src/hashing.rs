//! A quick hash for tables whose order is never looked at.
//!
//! Folded multiplication over eight bytes at a time. It takes a seed, so that an owner with a source of randomness can keep
//! clients from choosing levels that collide; with the same seed it is the same everywhere. Never used for anything that is
//! stored or sent.

use core::hash::{BuildHasher, Hash, Hasher};

/// Odd constants with irregular bits (the fractional parts of the square roots of 2 and 3).
const FIRST: u64 = 0x6A09_E667_F3BC_C909;
const SECOND: u64 = 0xBB67_AE85_84CA_A73B;

/// The state of one hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoldHasher {
    state: u64,
}

/// Makes hashers of one seed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    /// The hash of one value.
    #[inline]
    pub(crate) fn hash_of(self, value: &impl Hash) -> u64 {
        self.hash_one(value)
    }
}

impl BuildHasher for Seed {
    type Hasher = FoldHasher;

    #[inline]
    fn build_hasher(&self) -> FoldHasher {
        FoldHasher { state: self.0 ^ FIRST }
    }
}

impl Hasher for FoldHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.write_u64(short_word(rest));
        }
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.state = fold(self.state ^ value, SECOND);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        fold(self.state, FIRST)
    }
}

/// Up to seven bytes as one word. The length is not in it: who hashes more than one slice writes that too.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), bytes) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        (_, _, [first, second, third]) => u64::from_le_bytes([*first, *second, *third, 0, 0, 0, 0, 0]),
        (_, _, [first, second]) => u64::from_le_bytes([*first, *second, 0, 0, 0, 0, 0, 0]),
        (_, _, [first]) => u64::from(*first),
        _ => 0,
    }
}

/// Both halves of the product, one over the other. Adding first keeps a state of zero from staying zero.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the two halves of the product are what is wanted")]
const fn fold(left: u64, right: u64) -> u64 {
    let product = (left.wrapping_add(FIRST)) as u128 * right as u128;
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeSet, format};

    use super::*;

    #[test]
    fn similar_values_spread_over_low_and_high_bits() {
        let hashes: BTreeSet<u64> = (0..4_096).map(|n| Seed(0).hash_of(&format!("device-{n}").as_bytes())).collect();
        assert_eq!(hashes.len(), 4_096);
        let low: BTreeSet<u64> = hashes.iter().map(|hash| hash & 0xFFF).collect();
        let high: BTreeSet<u64> = hashes.iter().map(|hash| hash >> 52).collect();
        // A random function fills 63 % of as many places.
        assert!(low.len() > 2_400 && high.len() > 2_400, "{} {}", low.len(), high.len());
    }

    #[test]
    fn another_seed_is_another_function() {
        assert_ne!(Seed(1).hash_of(&b"a".as_slice()), Seed(2).hash_of(&b"a".as_slice()));
        assert_ne!(Seed(0).hash_of(&b"a".as_slice()), Seed(0).hash_of(&b"a\0".as_slice()));
    }
}
