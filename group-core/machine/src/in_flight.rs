//! What the members of a group hold together: how much, and which lanes they hold by it.
//!
//! Invariant: all unacked messages of a lane are with one member, if the group dispatches by key. So a lane moves only
//! after its old holder has settled.

use alloc::boxed::Box;

use braid_types::MemberId;

use crate::Strategy;
use crate::lane::{LANES, Lane};
use crate::message::HeldMessage;

/// A lane's holder, and how many of its messages it holds.
type Holding = Option<(MemberId, u64)>;

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
        let lanes = (strategy == Strategy::Key).then(|| Box::new([None; LANES as usize]));
        Self { count: 0, lanes }
    }

    /// Messages.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Who holds messages of a lane.
    pub(crate) fn holder(&self, lane: Lane) -> Option<MemberId> {
        let (holder, _) = (*self.lanes.as_ref()?.get(lane.number())?)?;
        Some(holder)
    }

    /// A member was handed a message. Whether nobody else holds its lane.
    pub(crate) fn add(&mut self, member: MemberId, message: &HeldMessage) -> bool {
        self.count += 1;
        let Some(holding) = self.holding_mut(message) else { return true };
        let (holder, held) = holding.unwrap_or((member, 0));
        *holding = Some((holder, held + 1));
        holder == member
    }

    /// A member holds a message no more.
    pub(crate) fn remove(&mut self, message: &HeldMessage) {
        self.count -= 1;
        if let Some(holding) = self.holding_mut(message) {
            *holding = holding.filter(|(_, held)| *held > 1).map(|(holder, held)| (holder, held - 1));
        }
    }

    fn holding_mut(&mut self, message: &HeldMessage) -> Option<&mut Holding> {
        self.lanes.as_mut()?.get_mut(Lane::of(message.address.as_ref()).number())
    }
}
