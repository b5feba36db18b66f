//! Dispatch by key: each lane is served in order, to the member that holds messages of it, or else to its owner.
//!
//! The owner of a lane is, among the attached members of the highest priority that may take its first message, the one
//! with the highest score for the lane. A lane whose member has no credit waits, and holds up no other lane. Messages
//! that no attached member may take hold up nothing.

use alloc::collections::BTreeMap;

use braid_types::MemberId;

use crate::group::Group;
use crate::in_flight::Holder;
use crate::ready::{Class, ClassIndex, ClassKey, Place};

/// The owners of lanes, for each mask of their messages, as long as the members stay as they are.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    by_class: BTreeMap<ClassKey, Option<MemberId>>,
    generation: u64,
}

impl Group {
    /// The first message that its lane's member can be handed now, by its class, and that member.
    pub(super) fn next_by_key(&mut self) -> Option<(ClassIndex, MemberId)> {
        self.know_owners();
        self.first_lane()
    }

    /// As `next_by_key`, for who only looks: true if it would find something.
    pub(crate) fn has_next_by_key(&self) -> bool {
        self.first_lane().is_some()
    }

    fn first_lane(&self) -> Option<(ClassIndex, MemberId)> {
        let mut first: Option<(Place, ClassIndex, MemberId)> = None;
        for (start, classes) in self.backlog.ready.lanes() {
            if let Some((place, offset, member)) = self.head_of_lane(classes)
                && first.is_none_or(|(other, _, _)| place < other)
            {
                first = Some((place, start.plus(offset), member));
            }
        }
        first.map(|(_, class, member)| (class, member))
    }

    fn head_of_lane(&self, classes: &[Class]) -> Option<(Place, usize, MemberId)> {
        let owners = self.owners.as_ref()?;
        let owned = classes.iter().enumerate().filter_map(|(offset, class)| {
            let owner = (*owners.by_class.get(&class.key())?)?;
            Some((class.head()?, offset, class.key(), owner))
        });
        let (place, offset, key, owner) = owned.min_by_key(|(place, ..)| *place)?;
        let id = match self.in_flight.holder(key.lane) {
            Holder::Nobody => owner,
            Holder::One(holder) => holder,
            Holder::Several => return None,
        };
        let member = self.members.get(id)?;
        let may_take = member.filter.is_none_or(|slot| slot.bit() & key.mask != 0);
        (member.turn.is_some() && may_take).then_some((place, offset, id))
    }

    fn know_owners(&mut self) {
        let mut owners = self.owners.take().unwrap_or_default();
        if owners.generation != self.members.generation() {
            *owners = Owners { by_class: BTreeMap::new(), generation: self.members.generation() };
        }
        for class in self.backlog.ready.classes().iter().filter(|class| !class.is_empty()) {
            let key = class.key();
            owners.by_class.entry(key).or_insert_with(|| self.owner_of(key));
        }
        self.owners = Some(owners);
    }

    fn owner_of(&self, key: ClassKey) -> Option<MemberId> {
        let candidates = self
            .members
            .iter()
            .filter(|member| member.may_own() && member.filter.is_none_or(|slot| slot.bit() & key.mask != 0));
        candidates.max_by_key(|member| (member.priority, key.lane.score(member.id))).map(|member| member.id)
    }
}
