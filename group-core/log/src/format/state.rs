//! A partition's marks: vote, committed, purged, and where its log ends. Every change writes all of them, so that only
//! the newest record of a partition counts, and an older one never has to be kept.
//!
//! ```text
//! version (1) | flags (1) | birth (8) | last (8) | purged: index (8) term (8) note | vote | committed
//! note, vote, committed: length (4) bytes            flags: 1 last, 2 purged, 4 vote, 8 committed, 16 removed
//! ```

use braid_types::{LogIndex, Term};
use bytes::{Buf, BufMut, Bytes};

use crate::{PurgeMark, limits::NOTE_BYTES_MAX};

const VERSION: u8 = 1;

/// See the file's head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The number of the record that removed the partition before it began anew; 0: it never was.
    pub(crate) birth: u64,
    /// The last entry when this was written: what came before it with a higher index is truncated.
    pub(crate) last: Option<LogIndex>,
    pub(crate) purged: Option<PurgeMark>,
    pub(crate) vote: Option<Bytes>,
    pub(crate) committed: Option<Bytes>,
    /// The partition is removed; all before this is void.
    pub(crate) is_removed: bool,
}

impl State {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let mut out = Vec::with_capacity(64);
        out.put_u8(VERSION);
        out.put_u8(
            flag(self.last.is_some(), 1)
                | flag(self.purged.is_some(), 2)
                | flag(self.vote.is_some(), 4)
                | flag(self.committed.is_some(), 8)
                | flag(self.is_removed, 16),
        );
        out.put_u64_le(self.birth);
        if let Some(last) = self.last {
            out.put_u64_le(last.0);
        }
        if let Some(purged) = &self.purged {
            out.put_u64_le(purged.index.0);
            out.put_u64_le(purged.term.0);
            put_note(&purged.note, &mut out);
        }
        for note in [&self.vote, &self.committed].into_iter().flatten() {
            put_note(note, &mut out);
        }
        out
    }

    pub(crate) fn decode(mut input: &[u8]) -> Option<Self> {
        if input.try_get_u8().ok()? != VERSION {
            return None;
        }
        let flags = input.try_get_u8().ok()?;
        let has = |bit: u8| flags & bit != 0;
        let birth = input.try_get_u64_le().ok()?;
        let mut state = Self { birth, is_removed: has(16), ..Self::default() };
        if has(1) {
            state.last = Some(LogIndex(input.try_get_u64_le().ok()?));
        }
        if has(2) {
            let index = LogIndex(input.try_get_u64_le().ok()?);
            let term = Term(input.try_get_u64_le().ok()?);
            state.purged = Some(PurgeMark { index, term, note: take_note(&mut input)? });
        }
        if has(4) {
            state.vote = Some(take_note(&mut input)?);
        }
        if has(8) {
            state.committed = Some(take_note(&mut input)?);
        }
        input.is_empty().then_some(state)
    }
}

fn put_note(note: &[u8], out: &mut Vec<u8>) {
    out.put_u32_le(super::length_u32(note.len()));
    out.put_slice(note);
}

fn take_note(input: &mut &[u8]) -> Option<Bytes> {
    let length = input.try_get_u32_le().ok()? as usize;
    let (note, rest) = input.split_at_checked(length).filter(|_| length <= NOTE_BYTES_MAX)?;
    *input = rest;
    Some(Bytes::copy_from_slice(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_back_whatever_is_set() {
        let full = State {
            birth: 7,
            last: Some(LogIndex(9)),
            purged: Some(PurgeMark { index: LogIndex(7), term: Term(2), note: Bytes::from_static(b"note") }),
            vote: Some(Bytes::from_static(b"vote")),
            committed: Some(Bytes::new()),
            is_removed: true,
        };
        for state in
            [State { last: None, ..full.clone() }, State { vote: None, ..full.clone() }, State::default(), full]
        {
            let bytes = state.encode();
            assert_eq!(State::decode(&bytes), Some(state));
            assert_eq!(State::decode(&bytes[..bytes.len() - 1]), None);
        }
    }
}
