//! Chance from a seed that the test prints, so that a run can be repeated in what it decides. (When the processes run is
//! the machine's affair: the same seed gives the same choices, not the same moment of death.)

use std::hash::{BuildHasher, RandomState};

use braid_conformance::Failure;

/// Where the seed comes from when a run is to be repeated.
const SEED_VARIABLE: &str = "CONFORMANCE_SEED";

/// A splitmix64 generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// From `CONFORMANCE_SEED` if that is set, else from the process' own chance; returns the seed as well.
    pub(crate) fn from_environment() -> Result<(Self, u64), Failure> {
        let seed = match std::env::var(SEED_VARIABLE) {
            Ok(text) => text.parse()?,
            Err(_) => RandomState::new().hash_one(std::process::id()),
        };
        Ok((Self(seed), seed))
    }

    /// From `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to below `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }
}
