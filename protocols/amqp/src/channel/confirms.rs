//! Publisher confirms: which publishes wait, and acks put together.
//!
//! Invariants: each publish is acked or nacked exactly once; an ack with `multiple` is only sent when every earlier publish
//! has been answered; what is decided is written out at the next flush.

use alloc::{collections::VecDeque, vec::Vec};

use braid_types::PublishResult;

use super::Channel;
use crate::{
    Exception, ReplyCode,
    connection::Outlet,
    limits::UNCONFIRMED_MAX,
    method::{Method, basic, confirm},
};

/// Where a publish is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Acked,
    Nacked,
    Told,
}

/// The publishes of a channel that have not been answered, and some behind them that have.
#[derive(Debug, Default)]
pub(super) struct Confirms {
    /// Number of the first publish in `stages`, less one.
    answered: u64,
    stages: VecDeque<Stage>,
    /// Numbers decided since the last flush.
    decided: Vec<u64>,
}

impl Confirms {
    /// The number of a new publish, from 1.
    pub(super) fn begin(&mut self) -> Result<u64, Exception> {
        if self.stages.len() >= UNCONFIRMED_MAX {
            return Err(Exception::new(ReplyCode::ResourceError, "too many publishes wait for their confirm"));
        }
        self.stages.push_back(Stage::Waiting);
        Ok(self.answered + self.stages.len() as u64)
    }

    /// Notes what became of the publish whose number ends in `low_bits`. True if it is the first since the last flush.
    fn decide(&mut self, low_bits: u32, stage: Stage) -> bool {
        let [.., b3, b2, b1, b0] = (self.answered + 1).to_be_bytes();
        let offset = low_bits.wrapping_sub(u32::from_be_bytes([b3, b2, b1, b0]));
        match self.stages.get_mut(offset as usize) {
            Some(current @ Stage::Waiting) => {
                *current = stage;
                self.decided.push(self.answered + 1 + u64::from(offset));
                self.decided.len() == 1
            }
            _ => false,
        }
    }

    /// Tells `ack` (number, multiple) and `nack` what was decided.
    fn flush(&mut self, mut tell: impl FnMut(Stage, u64, bool)) {
        while let Some(stage) = self.stages.front().copied().filter(|stage| *stage != Stage::Waiting) {
            let mut untold = 0_u32;
            let mut last = self.answered;
            while let Some(next) = self.stages.front().copied().filter(|next| *next == stage || *next == Stage::Told) {
                self.stages.pop_front();
                self.answered += 1;
                if next != Stage::Told {
                    untold += 1;
                    last = self.answered;
                }
            }
            if untold > 0 {
                tell(stage, last, untold > 1);
            }
        }
        let mut decided = core::mem::take(&mut self.decided);
        for number in decided.drain(..) {
            let offset = number.checked_sub(self.answered + 1).and_then(|offset| usize::try_from(offset).ok());
            if let Some(stage) = offset.and_then(|offset| self.stages.get_mut(offset)) {
                tell(*stage, number, false);
                *stage = Stage::Told;
            }
        }
        self.decided = decided;
    }
}

impl Channel {
    pub(super) fn select_confirms(&mut self, outlet: &mut Outlet, select: &confirm::Select) -> Result<(), Exception> {
        self.confirms.get_or_insert_default();
        if select.no_wait { Ok(()) } else { self.reply(outlet, confirm::SelectOk::ID) }
    }

    /// The broker's answer to a publish.
    pub(crate) fn published(&mut self, outlet: &mut Outlet, low_bits: u32, result: PublishResult) {
        let stage = match result {
            PublishResult::Accepted | PublishResult::Unroutable => Stage::Acked,
            PublishResult::Refused(_) => Stage::Nacked,
        };
        if self.confirms.as_mut().is_some_and(|confirms| confirms.decide(low_bits, stage)) {
            outlet.unflushed.push(self.number);
        }
    }

    /// Writes out the acks that are due.
    pub(crate) fn flush_confirms(&mut self, outlet: &mut Outlet) {
        let number = self.number;
        let Some(confirms) = &mut self.confirms else { return };
        confirms.flush(|stage, delivery_tag, multiple| {
            if stage == Stage::Nacked {
                outlet.send(number, &basic::Nack { delivery_tag, multiple, requeue: false });
            } else {
                outlet.send(number, &basic::Ack { delivery_tag, multiple });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn told(confirms: &mut Confirms) -> Vec<(Stage, u64, bool)> {
        let mut all = Vec::new();
        confirms.flush(|stage, number, multiple| all.push((stage, number, multiple)));
        all
    }

    #[test]
    fn contiguous_acks_are_put_together_and_others_told_alone() {
        let mut confirms = Confirms::default();
        for number in 1..=8 {
            assert_eq!(confirms.begin(), Ok(number));
        }
        for number in [5, 1, 2] {
            confirms.decide(number, Stage::Acked);
        }
        assert_eq!(told(&mut confirms), vec![(Stage::Acked, 2, true), (Stage::Acked, 5, false)]);
        for number in [4, 3, 6] {
            confirms.decide(number, Stage::Acked);
        }
        confirms.decide(7, Stage::Nacked);
        assert_eq!(told(&mut confirms), vec![(Stage::Acked, 6, true), (Stage::Nacked, 7, false)]);
        assert!(!confirms.decide(7, Stage::Acked), "already told");
        assert!(!confirms.decide(9, Stage::Acked), "never begun");
        confirms.decide(8, Stage::Acked);
        assert_eq!(told(&mut confirms), vec![(Stage::Acked, 8, false)]);
        assert!(told(&mut confirms).is_empty());
    }

    #[test]
    fn an_ack_told_alone_does_not_come_again() {
        let mut confirms = Confirms::default();
        for _ in 0..3 {
            confirms.begin().unwrap();
        }
        confirms.decide(3, Stage::Acked);
        assert_eq!(told(&mut confirms), vec![(Stage::Acked, 3, false)]);
        confirms.decide(1, Stage::Acked);
        confirms.decide(2, Stage::Acked);
        assert_eq!(told(&mut confirms), vec![(Stage::Acked, 2, true)]);
        assert!(confirms.stages.is_empty());
    }
}
