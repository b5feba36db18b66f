//! Deadlines: the handshake, closes, and heartbeats both ways (AMQP 0-9-1, 4.2.7).
//!
//! A heartbeat goes out when nothing else went out for half an interval; the connection ends when nothing came in for two.

use braid_types::Timestamp;

use super::{Connection, Phase};
use crate::codec::write_heartbeat;

/// Intervals without a sign of life after which the client is taken for dead.
const MISSED_HEARTBEATS_MAX: u64 = 2;

impl Connection {
    pub(super) fn next_timer(&self) -> Option<Timestamp> {
        let mut next = self.deadline;
        if self.has_heartbeats() {
            let beat = self.beat_at().min(self.dead_at());
            next = Some(next.map_or(beat, |deadline| deadline.min(beat)));
        }
        next
    }

    pub(super) fn check_timers(&mut self, now: Timestamp) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            if self.phase == Phase::ClosingByClient {
                self.answer_close();
            } else {
                self.finish();
            }
            return;
        }
        if !self.has_heartbeats() {
            return;
        }
        if self.dead_at() <= now {
            self.finish();
        } else if self.beat_at() <= now {
            write_heartbeat(self.outlet.transmit.buffer());
            self.last_sent = now;
        }
    }

    fn has_heartbeats(&self) -> bool {
        self.heartbeat_ms > 0 && matches!(self.phase, Phase::Open | Phase::OpeningVhost | Phase::Running)
    }

    fn beat_at(&self) -> Timestamp {
        self.last_sent.plus_ms(self.heartbeat_ms / 2)
    }

    fn dead_at(&self) -> Timestamp {
        self.last_received.plus_ms(self.heartbeat_ms * MISSED_HEARTBEATS_MAX)
    }
}
