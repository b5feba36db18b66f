//! What the members of a group hold together: how much, and which lanes they hold by it.
//!
//! Invariant: in a group that dispatches by key, a lane is handed out to the member that holds messages of it and to no
//! other, so it moves only after its old holder has settled. Only if the group has dispatched otherwise before can
//! several members hold messages of a lane; then nobody is handed more of it until one of them or none is left.

use alloc::boxed::Box;

use braid_types::MemberId;
use smallvec::SmallVec;

use crate::Strategy;
use crate::lane::{LANES, Lane};
use crate::message::HeldMessage;

/// Who holds messages of a lane, in order of ids, and how many.
type Holding = SmallVec<[(MemberId, u64); 1]>;

/// Who may be handed messages of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody holds it: its owner.
    Nobody,
    /// Only who holds it.
    One(MemberId),
    /// Several hold it, from before: nobody.
    Several,
}

/// Unacked messages of a group.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    count: u64,
    /// By lane; only where the strategy is by key.
    lanes: Option<Box<[Holding; LANES as usize]>>,
}

impl InFlight {
    /// Nothing yet.
    pub(crate) fn new(strategy: Strategy) -> Self {
        let lanes = (strategy == Strategy::Key).then(|| Box::new(core::array::from_fn(|_| Holding::new())));
        Self { count: 0, lanes }
    }

    /// Messages.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Who holds messages of a lane.
    pub(crate) fn holder(&self, lane: Lane) -> Holder {
        let holding = self.lanes.as_ref().and_then(|lanes| lanes.get(lane.number()));
        match holding.map_or(&[][..], |holding| holding.as_slice()) {
            [] => Holder::Nobody,
            [(holder, _)] => Holder::One(*holder),
            _ => Holder::Several,
        }
    }

    /// A member was handed a message.
    pub(crate) fn add(&mut self, member: MemberId, message: &HeldMessage) {
        self.count += 1;
        let Some(holding) = self.holding_mut(message) else { return };
        match holding.iter_mut().find(|(holder, _)| *holder == member) {
            Some((_, held)) => *held += 1,
            None => {
                let place = holding.partition_point(|(holder, _)| *holder < member);
                holding.insert(place, (member, 1));
            }
        }
    }

    /// A member holds a message no more.
    pub(crate) fn remove(&mut self, member: MemberId, message: &HeldMessage) {
        self.count -= 1;
        let Some(holding) = self.holding_mut(message) else { return };
        if let Some((_, held)) = holding.iter_mut().find(|(holder, _)| *holder == member) {
            *held -= 1;
            if *held == 0 {
                holding.retain(|(holder, _)| *holder != member);
            }
        }
    }

    fn holding_mut(&mut self, message: &HeldMessage) -> Option<&mut Holding> {
        self.lanes.as_mut()?.get_mut(Lane::of(message.address.as_ref()).number())
    }
}
