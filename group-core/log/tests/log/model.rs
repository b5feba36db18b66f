//! What the log must hold, as plain maps: the state after each submitted change, so that a recovered log can be compared
//! with every state that it may be in.

use std::collections::{BTreeMap, BTreeSet};

use braid_log::Body;
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;

/// An entry: some bodies, and the messages that applying it forgets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelEntry {
    pub(crate) term: u64,
    /// Makes its bodies different from those of another entry of that name.
    pub(crate) salt: u64,
    pub(crate) positions: Vec<u32>,
    pub(crate) forgets: Vec<MessageId>,
}

/// One partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelPartition {
    pub(crate) entries: BTreeMap<u64, ModelEntry>,
    pub(crate) purged: Option<u64>,
    pub(crate) vote: Option<u64>,
}

impl ModelPartition {
    pub(crate) fn last(&self) -> Option<u64> {
        self.entries.keys().next_back().copied().or(self.purged)
    }
}

pub(crate) type Model = BTreeMap<PartitionId, ModelPartition>;

/// A submitted change.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Append(PartitionId, u64, ModelEntry),
    Truncate(PartitionId, u64),
    Purge(PartitionId, u64),
    Vote(PartitionId, u64),
    Remove(PartitionId),
}

impl Change {
    pub(crate) fn apply(&self, model: &mut Model) {
        match self {
            Self::Append(partition, index, entry) => {
                model.entry(*partition).or_default().entries.insert(*index, entry.clone());
            }
            Self::Truncate(partition, from) => {
                model.entry(*partition).or_default().entries.retain(|index, _| index < from);
            }
            Self::Purge(partition, upto) => {
                let found = model.entry(*partition).or_default();
                found.entries.retain(|index, _| index > upto);
                found.purged = Some(*upto);
            }
            Self::Vote(partition, vote) => model.entry(*partition).or_default().vote = Some(*vote),
            Self::Remove(partition) => {
                model.remove(partition);
            }
        }
    }
}

/// The bytes of a body: different for each name and salt.
pub(crate) fn body_bytes(partition: PartitionId, index: u64, position: u32, salt: u64) -> Bytes {
    let mut state = salt ^ (u64::from(partition.0) << 48) ^ (index << 20) ^ u64::from(position);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    let words = next() >> 56;
    let mut bytes = Vec::new();
    for _ in 0..words {
        bytes.extend_from_slice(&next().to_le_bytes());
    }
    bytes.into()
}

pub(crate) fn bodies(partition: PartitionId, index: u64, entry: &ModelEntry) -> Vec<Body> {
    let body = |position: &u32| {
        let bytes = body_bytes(partition, index, *position, entry.salt);
        let middle = bytes.len() / 3;
        Body { position: *position, prefix: bytes.slice(..middle), bytes: bytes.slice(middle..) }
    };
    entry.positions.iter().map(body).collect()
}

/// The payload: everything that applying needs.
pub(crate) fn payload(entry: &ModelEntry) -> Bytes {
    let mut out = Vec::new();
    out.extend_from_slice(&entry.salt.to_le_bytes());
    out.extend_from_slice(&u32::try_from(entry.positions.len()).unwrap().to_le_bytes());
    for position in &entry.positions {
        out.extend_from_slice(&position.to_le_bytes());
    }
    for message in &entry.forgets {
        out.extend_from_slice(&message.index.0.to_le_bytes());
        out.extend_from_slice(&message.position.to_le_bytes());
    }
    out.into()
}

pub(crate) fn read_payload(term: Term, mut bytes: &[u8]) -> ModelEntry {
    let mut take = |length: usize| {
        let (piece, rest) = bytes.split_at(length);
        bytes = rest;
        piece
    };
    let salt = u64::from_le_bytes(take(8).try_into().unwrap());
    let count = u32::from_le_bytes(take(4).try_into().unwrap());
    let positions = (0..count).map(|_| u32::from_le_bytes(take(4).try_into().unwrap())).collect();
    let forgets = bytes
        .chunks_exact(12)
        .map(|piece| MessageId {
            index: LogIndex(u64::from_le_bytes(piece[..8].try_into().unwrap())),
            position: u32::from_le_bytes(piece[8..].try_into().unwrap()),
        })
        .collect();
    ModelEntry { term: term.0, salt, positions, forgets }
}

/// The state machine: which bodies are live, with their entries' salts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) live: BTreeMap<MessageId, u64>,
    pub(crate) applied: Option<u64>,
}

impl Machine {
    /// Applies an entry; what it forgets.
    pub(crate) fn apply(&mut self, index: u64, entry: &ModelEntry) -> Vec<MessageId> {
        assert!(self.applied.is_none_or(|applied| index == applied + 1), "entries are applied in order");
        self.applied = Some(index);
        let message = |position: &u32| MessageId { index: LogIndex(index), position: *position };
        self.live.extend(entry.positions.iter().map(|position| (message(position), entry.salt)));
        entry.forgets.iter().filter(|message| self.live.remove(message).is_some()).copied().collect()
    }

    /// Parts by entry, so that most stay as they are between snapshots.
    pub(crate) fn parts(&self) -> BTreeMap<u64, Vec<u8>> {
        let mut parts: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for (message, salt) in &self.live {
            let part = parts.entry(message.index.0).or_default();
            part.extend_from_slice(&message.position.to_le_bytes());
            part.extend_from_slice(&salt.to_le_bytes());
        }
        parts
    }

    pub(crate) fn restore(applied: u64, parts: &BTreeMap<u64, Bytes>) -> Self {
        let mut live = BTreeMap::new();
        for (index, part) in parts {
            for piece in part.chunks_exact(12) {
                let position = u32::from_le_bytes(piece[..4].try_into().unwrap());
                let salt = u64::from_le_bytes(piece[4..].try_into().unwrap());
                live.insert(MessageId { index: LogIndex(*index), position }, salt);
            }
        }
        Self { live, applied: Some(applied) }
    }

    pub(crate) fn ids(&self) -> BTreeSet<MessageId> {
        self.live.keys().copied().collect()
    }
}
