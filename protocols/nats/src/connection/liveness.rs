//! Time: the limit for getting in, signs of life, and the limit for ending. Milliseconds.

use braid_types::{Timestamp, limits::HANDSHAKE_TIMEOUT_MS};

use super::{Connection, Phase};
use crate::{
    error::Fault,
    info::{Occasion, info},
    limits::ENDING_TIMEOUT_MS,
};

/// The deadlines of one connection.
#[derive(Debug)]
pub(super) struct Liveness {
    /// Limit of the phases that must end.
    deadline: Timestamp,
    /// When to look next whether the client is there.
    check_at: Timestamp,
    last_activity: Timestamp,
    pings_out: u32,
}

impl Liveness {
    pub(super) fn new(now: Timestamp, ping_interval_ms: u64) -> Self {
        Self {
            deadline: now.plus_ms(HANDSHAKE_TIMEOUT_MS),
            check_at: now.plus_ms(ping_interval_ms),
            last_activity: now,
            pings_out: 0,
        }
    }

    /// The broker is asked to let the client in.
    pub(super) fn expect_admission(&mut self, now: Timestamp) {
        self.deadline = now.plus_ms(HANDSHAKE_TIMEOUT_MS);
    }

    /// The connection is ending.
    pub(super) fn expect_end(&mut self, now: Timestamp) {
        self.deadline = now.plus_ms(ENDING_TIMEOUT_MS);
    }

    /// The client sent an operation.
    pub(super) fn saw_activity(&mut self, now: Timestamp) {
        self.last_activity = now;
    }

    /// The client answered.
    pub(super) fn saw_pong(&mut self) {
        self.pings_out = 0;
    }
}

impl Connection {
    /// `PING`: answered after all before it. The first one of a connected client also gets a second `INFO`, as from
    /// nats-server.
    pub(super) fn ping(&mut self) {
        self.await_echo();
        self.answers.say(b"PONG\r\n", &mut self.transmit);
        if self.is_connected && !self.is_informed {
            self.is_informed = true;
            if self.client.protocol >= 1 {
                let line = info(&self.options, Occasion::Connected { vhost: &self.vhost });
                self.answers.say_line(line, &mut self.transmit);
            }
        }
    }

    /// When [`Self::check_time`] wants to be called.
    pub(super) fn next_check(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Opening | Phase::Admitting | Phase::Ending => Some(self.liveness.deadline),
            Phase::Open => (self.options.ping_interval_ms > 0).then_some(self.liveness.check_at),
            Phase::Closed => None,
        }
    }

    /// Acts on the deadlines that have passed.
    pub(super) fn check_time(&mut self, now: Timestamp) {
        if self.next_check().is_none_or(|deadline| now < deadline) {
            return;
        }
        match self.phase {
            Phase::Opening | Phase::Admitting => self.fail_at_once(Fault::AuthenticationTimeout),
            Phase::Ending => self.end_now(),
            Phase::Open => self.check_life(now),
            Phase::Closed => {}
        }
    }

    fn check_life(&mut self, now: Timestamp) {
        let interval_ms = self.options.ping_interval_ms;
        if now.since_ms(self.liveness.last_activity) < interval_ms {
            self.liveness.check_at = self.liveness.last_activity.plus_ms(interval_ms);
        } else if self.liveness.pings_out >= self.options.pings_out_max {
            self.fail_at_once(Fault::Stale);
        } else {
            self.liveness.pings_out += 1;
            self.liveness.check_at = now.plus_ms(interval_ms);
            self.transmit.buffer().extend_from_slice(b"PING\r\n");
        }
    }
}
