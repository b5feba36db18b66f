//! The bodies of one partition that are not forgotten, purged entries' too: 24 bytes each and a little per chunk.
//!
//! Bodies mostly come at the end and go at the front, but any may go at any time, and those of a received snapshot come
//! in between: chunks of up to 256 slots in a tree, split and merged as needed.
//!
//! A body is forgotten in two steps: [`BodyIndex::forget`] marks it in the current epoch, [`BodyIndex::sweep`] removes
//! the marked ones of an epoch when a snapshot that was captured after it is durable.

use std::collections::BTreeMap;

use braid_types::{LogIndex, MessageId};

use super::chunk::{Chunk, Epoch, Slot};
use crate::limits::SLOTS_PER_CHUNK_MAX;

/// See the file's head.
#[derive(Debug, Default)]
pub(crate) struct BodyIndex {
    /// By an id at or before their first slot.
    chunks: BTreeMap<MessageId, Chunk>,
    len: usize,
}

impl BodyIndex {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, id: MessageId) -> Option<&Slot> {
        let (_, chunk) = self.chunks.range(..=id).next_back()?;
        chunk.slots.get(chunk.find(id).ok()?)
    }

    pub(crate) fn get_mut(&mut self, id: MessageId) -> Option<&mut Slot> {
        let (_, chunk) = self.chunks.range_mut(..=id).next_back()?;
        let place = chunk.find(id).ok()?;
        chunk.slots.get_mut(place)
    }

    /// Adds a body, or puts it in the place of the one of that name, which is given back.
    pub(crate) fn insert(&mut self, id: MessageId, slot: Slot) -> Option<Slot> {
        let found = self.chunks.range_mut(..=id).next_back().filter(|(_, chunk)| chunk.can_hold(id.index));
        let Some((key, chunk)) = found else {
            self.insert_alone(id, slot);
            return None;
        };
        match chunk.find(id) {
            Ok(place) => {
                let old = chunk.slots.get(place).copied();
                chunk.slots.remove(place);
                chunk.insert(place, id.index, slot);
                chunk.recount();
                old
            }
            Err(place) if chunk.slots.len() < SLOTS_PER_CHUNK_MAX => {
                chunk.insert(place, id.index, slot);
                self.len += 1;
                None
            }
            // The usual case: a full last chunk is left as it is.
            Err(place) if place == chunk.slots.len() => {
                self.insert_alone(id, slot);
                None
            }
            Err(_) => {
                let key = *key;
                self.split(key);
                self.insert(id, slot)
            }
        }
    }

    /// Adds the bodies of an entry, by ascending position. Quick when they come after all others.
    pub(crate) fn append(&mut self, index: LogIndex, slots: impl Iterator<Item = (u32, Slot)>) {
        let mut slots = slots.peekable();
        let is_last = self.last_from(LogIndex(0)).is_none_or(|last| last.index < index);
        while is_last && let Some((position, _)) = slots.peek() {
            let first = MessageId { index, position: *position };
            let chunk = match self.chunks.last_entry() {
                Some(last) if last.get().can_hold(index) && last.get().slots.len() < SLOTS_PER_CHUNK_MAX => {
                    last.into_mut()
                }
                _ => self.chunks.entry(first).or_insert_with(|| Chunk::new(index)),
            };
            let before = chunk.slots.len();
            chunk.extend(index, slots.by_ref().take(SLOTS_PER_CHUNK_MAX - before).map(|(_, slot)| slot));
            self.len += chunk.slots.len() - before;
        }
        for (position, slot) in slots {
            self.insert(MessageId { index, position }, slot);
        }
    }

    /// The bodies of an entry, by ascending position.
    pub(crate) fn for_each_of(&mut self, index: LogIndex, mut change: impl FnMut(u32, &mut Slot)) {
        let first = MessageId { index, position: 0 };
        let start = self.chunks.range(..=first).next_back().map_or(first, |(key, _)| *key);
        for (key, chunk) in self.chunks.range_mut(start..) {
            if key.index > index {
                break;
            }
            let base = chunk.base();
            let from = chunk.find(first).unwrap_or_else(|place| place);
            for slot in chunk.slots.iter_mut().skip(from) {
                let id = slot.id(base);
                if id.index != index {
                    break;
                }
                change(id.position, slot);
            }
        }
    }

    /// Removes the body.
    pub(crate) fn remove(&mut self, id: MessageId) -> Option<Slot> {
        let (key, chunk) = self.chunks.range_mut(..=id).next_back()?;
        let (key, place) = (*key, chunk.find(id).ok()?);
        let slot = chunk.slots.remove(place);
        chunk.recount();
        if chunk.slots.is_empty() {
            self.chunks.remove(&key);
        }
        self.len -= 1;
        Some(slot)
    }

    /// The last body, if it is at or after `from`.
    pub(crate) fn last_from(&self, from: LogIndex) -> Option<MessageId> {
        let (_, chunk) = self.chunks.last_key_value()?;
        let id = chunk.id_of(chunk.slots.last()?);
        (id.index >= from).then_some(id)
    }

    /// Marks bodies as forgotten. Bytes of those for which that is new. Quick when neighbours follow each other.
    pub(crate) fn forget(&mut self, ids: &[MessageId], epoch: Epoch) -> u64 {
        let mut bytes = 0;
        let mut ids = ids.iter().peekable();
        while let Some(first) = ids.peek() {
            let Some((key, chunk)) = self.chunks.range_mut(..=**first).next_back() else {
                ids.next();
                continue;
            };
            let known = chunk.last().map(|last| *key..=last);
            // All that follow in this chunk; at least one, so that it goes on.
            let mut place = None;
            while let Some(id) =
                ids.next_if(|id| place.is_none() || known.as_ref().is_some_and(|known| known.contains(*id)))
            {
                let found = chunk.find_from(place.unwrap_or(0), *id);
                place = Some(found.map_or_else(|place| place, |place| place + 1));
                bytes += found.ok().and_then(|place| chunk.forget_at(place, epoch)).map_or(0, u64::from);
            }
        }
        bytes
    }

    /// Removes, from some chunks on from `cursor`, the slots that `is_dead` says, and hands them over. Returns where to
    /// go on; `None` at the end. Chunks that `is_concerned` denies are not looked into.
    pub(crate) fn sweep(
        &mut self,
        cursor: MessageId,
        chunks_max: usize,
        is_concerned: impl Fn(&Chunk) -> bool,
        mut is_dead: impl FnMut(MessageId, &mut Slot) -> bool,
        mut removed: impl FnMut(Slot),
    ) -> Option<MessageId> {
        let keys: Vec<MessageId> = self.chunks.range(cursor..).map(|(key, _)| *key).take(chunks_max + 1).collect();
        for key in keys.iter().take(chunks_max) {
            let Some(chunk) = self.chunks.get_mut(key).filter(|chunk| is_concerned(chunk)) else { continue };
            let before = chunk.slots.len();
            let base = chunk.base();
            chunk.slots.retain_mut(|slot| {
                let is_gone = is_dead(slot.id(base), slot);
                if is_gone {
                    removed(*slot);
                }
                !is_gone
            });
            chunk.recount();
            self.len -= before - chunk.slots.len();
            self.tidy(*key);
        }
        keys.get(chunks_max).copied()
    }

    /// Removes all, and hands them over.
    pub(crate) fn drain(&mut self, mut removed: impl FnMut(Slot)) {
        for chunk in std::mem::take(&mut self.chunks).into_values() {
            chunk.slots.into_iter().for_each(&mut removed);
        }
        self.len = 0;
    }

    fn insert_alone(&mut self, id: MessageId, slot: Slot) {
        let mut chunk = Chunk::new(id.index);
        chunk.insert(0, id.index, slot);
        self.chunks.insert(id, chunk);
        self.len += 1;
    }

    fn split(&mut self, key: MessageId) {
        let Some(chunk) = self.chunks.get_mut(&key) else { return };
        let rest = chunk.split_off(chunk.slots.len() / 2);
        if let Some(first) = rest.slots.first() {
            self.chunks.insert(rest.id_of(first), rest);
        }
    }

    /// Drops an empty chunk, and merges a small one with the one before it.
    fn tidy(&mut self, key: MessageId) {
        let Some(length) = self.chunks.get(&key).map(|chunk| chunk.slots.len()) else { return };
        let before = self.chunks.range(..key).next_back().map(|(key, chunk)| (*key, chunk.slots.len()));
        if let Some((before, before_length)) = before
            && length > 0
            && length + before_length <= SLOTS_PER_CHUNK_MAX / 2
            && let Some(mut chunk) = self.chunks.remove(&key)
        {
            let is_taken = self.chunks.get_mut(&before).is_some_and(|target| target.absorb(&mut chunk));
            if !is_taken {
                self.chunks.insert(key, chunk);
            }
        } else if length == 0 {
            self.chunks.remove(&key);
        } else if let Some(chunk) = self.chunks.get_mut(&key)
            && length * 2 < chunk.slots.capacity()
        {
            chunk.slots.shrink_to(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap as Model;

    use proptest::prelude::*;

    use super::*;

    fn id(index: u64, position: u32) -> MessageId {
        MessageId { index: LogIndex(index), position }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64, u32),
        Append(u64, u32),
        Remove(u64, u32),
        Forget(u64, u32, bool),
        Sweep(bool),
    }

    fn step() -> impl Strategy<Value = Step> {
        // Few entries with many bodies, and some far away, so that chunks fill, split and cannot be merged.
        let index = prop_oneof![0_u64..40, Just(u64::from(u32::MAX) * 3)];
        let place = (index, 0_u32..64);
        prop_oneof![
            8 => place.clone().prop_map(|(index, position)| Step::Insert(index, position)),
            1 => (0_u64..80, 0_u32..400).prop_map(|(index, count)| Step::Append(index, count)),
            1 => place.clone().prop_map(|(index, position)| Step::Remove(index, position)),
            4 => (place, any::<bool>()).prop_map(|((index, position), odd)| Step::Forget(index, position, odd)),
            1 => any::<bool>().prop_map(Step::Sweep),
        ]
    }

    fn epoch(is_odd: bool) -> Epoch {
        if is_odd { Epoch::Odd } else { Epoch::Even }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn does_what_a_map_does(steps in prop::collection::vec(step(), 1..1500)) {
            let mut index = BodyIndex::default();
            let mut model: Model<MessageId, Option<bool>> = Model::new();
            for step in steps {
                match step {
                    Step::Insert(at, position) => {
                        index.insert(id(at, position), Slot::new(position, 1, 0, position, 0));
                        model.insert(id(at, position), None);
                    }
                    Step::Append(at, count) => {
                        index.append(LogIndex(at), (0..count).map(|position| (position, Slot::new(position, 1, 0, position, 0))));
                        model.extend((0..count).map(|position| (id(at, position), None)));
                    }
                    Step::Remove(at, position) => {
                        let removed = index.remove(id(at, position)).is_some();
                        prop_assert_eq!(removed, model.remove(&id(at, position)).is_some());
                    }
                    Step::Forget(at, position, odd) => {
                        // Some neighbours, unknown ones among them, and one out of order.
                        let mut ids: Vec<MessageId> = (0..5).map(|more| id(at, position + more)).collect();
                        ids.extend([id(at + 1, 0), id(at + 1, 3), id(at, 1)]);
                        let mut expected = 0;
                        for id in &ids {
                            if model.get(id) == Some(&None) {
                                model.insert(*id, Some(odd));
                                expected += u64::from(id.position);
                            }
                        }
                        prop_assert_eq!(index.forget(&ids, epoch(odd)), expected);
                    }
                    Step::Sweep(odd) => {
                        let mut cursor = Some(id(0, 0));
                        let mut count = 0;
                        while let Some(from) = cursor {
                            cursor = index.sweep(from, 2, |_| true, |_, slot| slot.is_forgotten_in(epoch(odd)), |_| count += 1);
                        }
                        let before = model.len();
                        model.retain(|_, forgotten| *forgotten != Some(odd));
                        prop_assert_eq!(count, before - model.len());
                    }
                }
                prop_assert_eq!(index.len(), model.len());
            }
            for key in model.keys() {
                prop_assert_eq!(index.get(*key).map(Slot::length), Some(key.position));
            }
            for at in 0..80 {
                let mut found = Vec::new();
                index.for_each_of(LogIndex(at), |position, _| found.push(position));
                let expected: Vec<u32> = model.keys().filter(|key| key.index.0 == at).map(|key| key.position).collect();
                prop_assert_eq!(found, expected);
            }
            prop_assert_eq!(index.last_from(LogIndex(0)), model.keys().next_back().copied());
        }
    }
}
