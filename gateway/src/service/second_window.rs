//! The second window: a member that settles quickly is handed another window by its group, which is held
//! here and goes to the client as it settles the first. So the client does not wait until its settles are on disk.
//!
//! ```text
//!            settles 4 windows in 20 ms
//!   Closed ------------------------------> Open    deliveries beyond the window are held
//!      ^                                     |     slow, put something back, ends, asks for another window:
//!      |      the group has stopped          v     what is held goes back, the group is to stop
//!      +--------------------------------- Closing  what is on its way follows it
//! ```
//!
//! Invariants: no client has more than its window; what goes back is flagged as all that goes back is, and in front, so that
//! first deliveries keep their order (SPEC section 8, P6); what is settled and not on disk is at most the two windows.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_broker::Answer;
use braid_machine::Command;
use braid_machine::limits::DELIVERIES_PER_SETTLE_MAX;
use braid_types::{DeliveryId, Message, Outcome, Timestamp};
use smallvec::SmallVec;

use super::Service;
use crate::limits::{QUICK_WINDOWS, QUICK_WINDOWS_MS, SECOND_WINDOW_LOOK_MS};

/// A delivery that the client has no room for yet.
#[derive(Debug)]
pub(super) struct HeldDelivery {
    pub(super) delivery: DeliveryId,
    pub(super) redelivered: bool,
    pub(super) delivery_count: u32,
    pub(super) message: Arc<Message>,
}

/// See the file's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Closed,
    Open,
    Closing {
        /// Something has gone back: what comes goes back too, or it would come before.
        gives_back: bool,
    },
}

/// Why a second window ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The client is not as quick any more, or goes.
    Slow,
    /// The client puts something back, which is to come again before what it was not sent.
    PutBack,
}

/// The second window of one member.
#[derive(Debug, Default)]
pub(super) struct SecondWindow {
    /// The member's window, in messages; 0: it has none.
    window: u32,
    /// With a smaller one there is no second.
    window_min: u32,
    phase: Phase,
    /// What its group hands out beyond the window.
    extra: u32,
    /// Settles, all told; wraps.
    settled: u32,
    /// `settled`, when the present measurement of the client's pace began, and that time.
    measured_from: (u32, Timestamp),
    /// `settled` at the last look; `None`: it was opened since.
    looked_at: Option<u32>,
    held: VecDeque<HeldDelivery>,
}

impl SecondWindow {
    pub(super) fn new(window: u32, window_min: u32) -> Self {
        Self { window, window_min, ..Self::default() }
    }

    /// The client has a full window: a delivery must be held.
    pub(super) fn must_hold(&self, unacked: u32) -> bool {
        self.phase == Phase::Open && unacked >= self.window
    }

    pub(super) fn hold(&mut self, delivery: HeldDelivery) {
        self.held.push_back(delivery);
    }

    /// Whether a delivery that comes now goes back.
    pub(super) fn must_give_back(&mut self, unacked: u32) -> bool {
        let Phase::Closing { gives_back } = &mut self.phase else { return false };
        *gives_back |= unacked >= self.window;
        *gives_back
    }

    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// The next delivery for a client that has so many.
    pub(super) fn next(&mut self, unacked: u32) -> Option<HeldDelivery> {
        if self.must_hold(unacked) { None } else { self.held.pop_front() }
    }

    /// Counts a settle. Whether the client has just proved to be quick enough to be handed a second window.
    pub(super) fn settled(&mut self, now: impl FnOnce() -> Timestamp) -> bool {
        self.settled = self.settled.wrapping_add(1);
        if self.window < self.window_min.max(1)
            || self.settled.wrapping_sub(self.measured_from.0) / self.window < QUICK_WINDOWS
        {
            return false;
        }
        let now = now();
        let took_ms = now.since_ms(self.measured_from.1);
        self.measured_from = (self.settled, now);
        self.phase == Phase::Closed && took_ms <= QUICK_WINDOWS_MS
    }

    /// What the group is to hand out from now on, in messages.
    fn open(&mut self, extra_max: u32) -> u32 {
        self.phase = Phase::Open;
        self.extra = self.window.min(extra_max);
        self.looked_at = None;
        self.window.saturating_add(self.extra)
    }

    /// What the client was not sent when its connection ended.
    pub(super) fn take_held(&mut self) -> impl Iterator<Item = DeliveryId> {
        self.held.drain(..).map(|held| held.delivery)
    }

    /// What goes back.
    fn close(&mut self, reason: Reason) -> Vec<DeliveryId> {
        self.phase = Phase::Closing { gives_back: reason == Reason::PutBack || !self.held.is_empty() };
        self.held.drain(..).map(|held| held.delivery).collect()
    }

    /// Whether the client was too slow since the last look: what is held would wait for too long.
    fn is_slow(&mut self) -> bool {
        let since = self.looked_at.replace(self.settled);
        since.is_some_and(|since| self.settled.wrapping_sub(since) < self.extra)
    }
}

impl Service {
    /// The client was quick: its group hands out a second window.
    pub(super) fn open_second_window(&mut self, attachment: u32) {
        let extra_max = self.node.config.limits.second_window_messages_max;
        if extra_max == 0 || self.is_ending {
            return;
        }
        let Some(state) = self.attachments.get_mut(&attachment).filter(|state| !state.is_ended) else { return };
        let Some(member) = state.member else { return };
        let messages = state.second_window.open(extra_max);
        let (partition, group) = (state.partition, state.group);
        self.send(partition, Command::SetWindow { group, member, messages }, Answer::Silent);
        self.opened.push(attachment);
        let node = &self.node;
        self.look_at.get_or_insert_with(|| node.broker.clock.now().plus_ms(SECOND_WINDOW_LOOK_MS));
    }

    /// What is held goes back to the group, which hands out nothing until that is through: what it would hand out now
    /// would overtake it.
    pub(super) fn close_second_window(&mut self, attachment: u32, reason: Reason) {
        let Some(state) = self.attachments.get_mut(&attachment).filter(|state| state.second_window.is_open()) else {
            return;
        };
        let Some(member) = state.member else { return };
        let (partition, group) = (state.partition, state.group);
        let held = state.second_window.close(reason);
        self.opened.retain(|opened| *opened != attachment);
        self.closing += 1;
        let stop = Command::SetWindow { group, member, messages: 1 };
        self.send(partition, stop, Answer::SetWindow { attachment });
        for deliveries in held.chunks(DELIVERIES_PER_SETTLE_MAX) {
            let deliveries = SmallVec::from_slice(deliveries);
            let settle = Command::Settle { group, member, deliveries, outcome: Outcome::Released };
            self.send(partition, settle, Answer::Silent);
        }
    }

    /// Nothing of the second window is on its way any more, and what went back is before this.
    pub(super) fn second_window_closed(&mut self, attachment: u32) {
        self.closing = self.closing.saturating_sub(1);
        if let Some(state) = self.attachments.get_mut(&attachment) {
            state.second_window.phase = Phase::Closed;
            self.tell_window(attachment);
        }
    }

    /// The client asks for another window.
    pub(super) fn change_window(&mut self, attachment: u32, messages: u32) {
        let Some(state) = self.attachments.get_mut(&attachment) else { return };
        state.second_window.window = messages;
        match state.second_window.phase {
            Phase::Closed => self.tell_window(attachment),
            Phase::Open => self.close_second_window(attachment, Reason::Slow),
            // It is told when that is through.
            Phase::Closing { .. } => {}
        }
    }

    /// Tells the group the client's window, now or when the member is there.
    pub(super) fn tell_window(&mut self, attachment: u32) {
        let Some(state) = self.attachments.get_mut(&attachment) else { return };
        let (partition, group, messages) = (state.partition, state.group, state.second_window.window);
        match state.member {
            None => state.is_window_due = true,
            Some(member) => self.send(partition, Command::SetWindow { group, member, messages }, Answer::Silent),
        }
    }

    /// Something of a second window is on its way back: items are taken although the client does not read.
    pub(crate) fn is_closing_second_window(&self) -> bool {
        self.closing > 0
    }

    /// When [`Service::handle_timeout`] is to be called.
    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        self.look_at
    }

    /// Looks whether those who have a second window still settle it.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        if self.look_at.is_none_or(|look_at| look_at > now) {
            return;
        }
        let attachments = &mut self.attachments;
        let slow: Vec<u32> = self
            .opened
            .extract_if(.., |attachment| {
                attachments.get_mut(attachment).is_none_or(|state| state.second_window.is_slow())
            })
            .collect();
        for attachment in slow {
            self.close_second_window(attachment, Reason::Slow);
        }
        self.look_at = (!self.opened.is_empty()).then(|| now.plus_ms(SECOND_WINDOW_LOOK_MS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u32 = 256;

    /// Settles `windows` windows, one each `window_ms`; whether a second window is due.
    fn settle(second: &mut SecondWindow, windows: u32, from_ms: u64, window_ms: u64) -> bool {
        let mut is_due = false;
        for settled in 1..=windows * WINDOW {
            let now_ms = from_ms + u64::from(settled) * window_ms / u64::from(WINDOW);
            is_due |= second.settled(|| Timestamp(now_ms));
        }
        is_due
    }

    #[test]
    fn only_a_quick_member_gets_a_second_window() {
        let mut second = SecondWindow::new(WINDOW, WINDOW);
        assert!(!settle(&mut second, QUICK_WINDOWS, 1_000_000, 5), "nothing is known of the time before");
        assert!(!settle(&mut second, QUICK_WINDOWS, 1_000_020, 6));
        assert!(settle(&mut second, QUICK_WINDOWS, 1_000_044, 5));
        assert_eq!(second.open(4_096), 2 * WINDOW);
        assert!(!settle(&mut second, QUICK_WINDOWS, 1_000_064, 1), "it has one");
        second.close(Reason::Slow);
        assert!(!settle(&mut second, QUICK_WINDOWS, 1_000_068, 1), "one is still on its way back");
    }

    #[test]
    fn small_windows_and_none_are_what_they_are() {
        for window in [0, 1, WINDOW - 1] {
            assert!(!settle(&mut SecondWindow::new(window, WINDOW), 10 * QUICK_WINDOWS, 0, 0), "{window}");
        }
    }

    #[test]
    fn the_second_window_is_not_larger_than_the_first_and_bounded() {
        assert_eq!(SecondWindow::new(1_000, WINDOW).open(4_096), 2_000);
        assert_eq!(SecondWindow::new(65_535, WINDOW).open(4_096), 65_535 + 4_096);
    }

    #[test]
    fn whoever_does_not_settle_the_second_window_between_two_looks_is_slow() {
        let mut second = SecondWindow::new(WINDOW, WINDOW);
        second.open(100);
        assert!(!second.is_slow(), "it has just been opened");
        assert!((0..100).all(|_| !second.settled(Timestamp::default)));
        assert!(!second.is_slow());
        assert!((0..99).all(|_| !second.settled(Timestamp::default)));
        assert!(second.is_slow());
    }

    #[test]
    fn what_is_held_goes_out_in_order_as_the_window_opens() {
        let mut second = SecondWindow::new(2, 1);
        assert!(!second.must_hold(2), "it is not open");
        second.open(2);
        let message = Arc::new(Message::empty(braid_types::Protocol::Amqp));
        for delivery in [7, 8] {
            let (delivery, message) = (DeliveryId(delivery), Arc::clone(&message));
            second.hold(HeldDelivery { delivery, redelivered: false, delivery_count: 0, message });
        }
        assert!(second.must_hold(2) && second.next(2).is_none());
        assert_eq!(second.next(1).map(|held| held.delivery), Some(DeliveryId(7)));
        assert_eq!(second.close(Reason::Slow), [DeliveryId(8)]);
        assert!(second.must_give_back(0) && second.next(0).is_none());
    }

    #[test]
    fn what_is_on_its_way_goes_back_behind_what_went_back() {
        let open = || {
            let mut second = SecondWindow::new(2, 1);
            assert!(!second.must_give_back(2), "it is closed");
            second.open(2);
            second
        };
        let mut second = open();
        second.close(Reason::PutBack);
        assert!(second.must_give_back(0));
        let mut second = open();
        second.close(Reason::Slow);
        assert!(!second.must_give_back(1), "there is room, and nothing before it");
        assert!(second.must_give_back(2));
        assert!(second.must_give_back(1), "one before it went back");
    }
}
