//! A fixed hash for maps that are looked up and never iterated for output. Keys are numbers that the broker itself
//! hands out, so nobody can choose them to collide; the same on every replica and in every run.

use core::hash::{BuildHasherDefault, Hasher};

/// A map with the fixed hash.
pub(crate) type FixedMap<Key, Value> = hashbrown::HashMap<Key, Value, BuildHasherDefault<FixedHasher>>;

/// Folds each number into the state by one wide multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FixedHasher {
    state: u64,
}

/// Mixes two numbers into one whose bits all depend on all of theirs.
#[must_use]
pub(crate) fn mix(left: u64, right: u64) -> u64 {
    // An odd number without pattern (2^64 / golden ratio); the two halves of the product are folded into one.
    let product = u128::from(left ^ right.rotate_left(32)) * u128::from(0x9E37_79B9_7F4A_7C15_u64);
    let [low, high] =
        [product, product >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap_or_default());
    low ^ high
}

impl Hasher for FixedHasher {
    fn finish(&self) -> u64 {
        self.state
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.state = mix(self.state.wrapping_add(1), number);
    }
}

#[cfg(test)]
mod tests {
    use super::mix;

    #[test]
    fn neighbours_spread_over_both_ends_of_the_hash() {
        let mut low = [0_u32; 16];
        let mut high = [0_u32; 16];
        for number in 0..16_000_u64 {
            let hash = mix(1, number);
            low[usize::try_from(hash & 15).unwrap()] += 1;
            high[usize::try_from(hash >> 60).unwrap()] += 1;
        }
        for count in low.into_iter().chain(high) {
            assert!((800..1_200).contains(&count), "{count} of 16,000 in one of 16 buckets");
        }
    }
}
