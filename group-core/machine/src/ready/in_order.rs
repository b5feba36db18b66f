//! All ready messages in the order in which they would go out, one at a time: a merge of the classes.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::iter;

use braid_types::MessageId;

use super::{Class, Place, Ready};

impl Ready {
    /// The messages in order. O(classes) to begin with, then O(log classes) each.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = MessageId> {
        let occupied = self.classes().iter().filter(|class| !class.is_empty());
        let mut lines: Vec<_> = occupied.map(Class::places).collect();
        let heads = lines.iter_mut().enumerate().filter_map(|(line, places)| Some(Reverse((places.next()?, line))));
        let mut heads: BinaryHeap<Reverse<(Place, usize)>> = heads.collect();
        iter::from_fn(move || {
            let Reverse((place, line)) = heads.pop()?;
            let next = lines.get_mut(line).and_then(Iterator::next);
            heads.extend(next.map(|next| Reverse((next, line))));
            Some(place.message())
        })
    }
}
