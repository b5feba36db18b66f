//! The index of an exchange's bindings that its kind needs. Holds numbers of targets only.

use alloc::{collections::BTreeMap, vec::Vec};

use braid_types::{ExchangeKind, HeaderValue, Headers};
use bytes::Bytes;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::{Matches, headers::HeaderMatch};
use crate::{Trie, hashing::Seed};

/// Targets by key; one that is bound with several arguments stands there as often.
pub(super) type DirectTable = HashMap<Bytes, SmallVec<[u32; 4]>, Seed>;

/// Conditions and targets, by number of the binding.
pub(super) type HeadersTable = BTreeMap<u32, (HeaderMatch, u32)>;

/// By kind. Fanout needs none.
#[derive(Clone, Debug)]
pub(super) enum Router {
    /// By equal key.
    Direct(DirectTable),
    /// All targets.
    Fanout,
    /// By pattern.
    Topic(Trie<u32>),
    /// By header values.
    Headers(HeadersTable),
}

impl Router {
    /// An empty index.
    pub(super) fn new(kind: ExchangeKind) -> Self {
        match kind {
            ExchangeKind::Direct => Self::Direct(HashMap::default()),
            ExchangeKind::Fanout => Self::Fanout,
            ExchangeKind::Topic => Self::Topic(Trie::new()),
            ExchangeKind::Headers => Self::Headers(BTreeMap::new()),
        }
    }
}

/// Takes `target` out of the targets of `key`, once.
pub(super) fn remove_direct(table: &mut DirectTable, key: &[u8], target: u32) {
    let Some(targets) = table.get_mut(key) else { return };
    if let Some(position) = targets.iter().position(|known| *known == target) {
        targets.swap_remove(position);
    }
    if targets.is_empty() {
        table.remove(key);
    }
}

/// Appends the targets whose condition holds for `headers`.
pub(super) fn match_headers(table: &HeadersTable, headers: &Headers, matches: &mut Matches) {
    let mut sorted: Vec<(&Bytes, &HeaderValue)> = headers.iter().map(|(name, value)| (name, value)).collect();
    sorted.sort_by(|one, other| one.0.cmp(other.0));
    matches.extend(table.values().filter(|(condition, _)| condition.holds(&sorted)).map(|(_, target)| *target));
}
