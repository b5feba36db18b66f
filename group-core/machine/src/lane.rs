//! The lanes of a group that dispatches by key: which lane a message is in, and who has the lane.
//!
//! A lane is the messages of all addresses with one of [`LANES`] hashes (those without address share one). A lane
//! belongs to one member at a time, so one address's messages do. Its owner is the member with the highest score for
//! the lane: when members come and go, only the lanes that they win or leave change owners.

use braid_types::{Address, MemberId};

use crate::hasher::mix;

/// Lanes of a group: more than members that share work by key can use evenly, few enough to look at all.
pub(crate) const LANES: u8 = 64;

/// A lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane(u8);

impl Lane {
    /// The lane of an address: its levels, each as its length and its bytes by eight (little endian, filled up with
    /// zeros), mixed one after the other.
    pub(crate) fn of(address: Option<&Address>) -> Self {
        let levels = address.into_iter().flat_map(Address::levels);
        let hash = levels.fold(0, |hash, level| {
            let length = u64::try_from(level.len()).unwrap_or(u64::MAX);
            level.chunks(8).fold(mix(hash, length), |hash, chunk| {
                let mut word = [0; 8];
                word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
                mix(hash, u64::from_le_bytes(word))
            })
        });
        let [low, ..] = hash.to_le_bytes();
        Self(low % LANES)
    }

    /// How much a member should have the lane.
    pub(crate) fn score(self, member: MemberId) -> u64 {
        mix(mix(u64::from(self.0), member.index.0), u64::from(member.position))
    }

    /// Its number, below [`LANES`].
    pub(crate) fn number(self) -> usize {
        usize::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::vec::Vec;

    use braid_types::{LogIndex, Protocol};

    use super::*;

    #[test]
    fn addresses_spread_over_all_lanes() {
        let addresses = (0..2_000)
            .map(|number| Address::from_notation(Protocol::Mqtt, format!("plant/{number}").as_bytes()).unwrap());
        let lanes: BTreeSet<Lane> = addresses.map(|address| Lane::of(Some(&address))).collect();
        assert_eq!(lanes.len(), usize::from(LANES));
    }

    #[test]
    fn a_member_that_leaves_moves_its_own_lanes_only() {
        let member = |index| MemberId { index: LogIndex(index), position: 0 };
        let owners = |members: &[u64]| -> Vec<u64> {
            let owner = |lane| *members.iter().max_by_key(|index| Lane(lane).score(member(**index))).unwrap();
            (0..LANES).map(owner).collect()
        };
        let (before, after) = (owners(&[10, 11, 12, 13]), owners(&[10, 11, 13]));
        for (old, new) in before.iter().zip(&after) {
            assert!(old == new || *old == 12);
        }
        assert!([10, 11, 12, 13].iter().all(|member| before.contains(member)), "each has some");
    }
}
