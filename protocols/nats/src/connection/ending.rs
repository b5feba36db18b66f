//! The end of a connection: by a fault of the client, or from inside.

use braid_types::{CloseReason, Timestamp};
use bytes::BytesMut;

use super::{Connection, Phase};
use crate::{
    error::Fault,
    info::{Occasion, info},
};

impl Connection {
    /// The client broke a rule: after the answers to what it asked before, it is told, and the connection ends.
    pub(super) fn fail(&mut self, now: Timestamp, fault: Fault) {
        if self.is_over() {
            return;
        }
        self.await_echo();
        self.answers.say_last(fault.line());
        self.begin_ending(now);
        self.flush();
    }

    /// Nothing is carried out any more; the last word is under way.
    pub(super) fn begin_ending(&mut self, now: Timestamp) {
        self.phase = Phase::Ending;
        self.liveness.expect_end(now);
        self.held = BytesMut::new();
        self.stashed = None;
    }

    /// Ends the connection with these words, whatever still waits.
    pub(super) fn fail_at_once(&mut self, fault: Fault) {
        if self.phase != Phase::Closed {
            self.transmit.buffer().extend_from_slice(&fault.line());
            self.close();
        }
    }

    /// The last answer does not wait any longer for those before it.
    pub(super) fn end_now(&mut self) {
        self.answers.abandon(&mut self.transmit);
        self.close();
    }

    /// The broker ends the connection. Where nats-server says nothing, nothing is said: clients take a text that they
    /// do not know for a reason never to come back.
    pub(super) fn closed_by_broker(&mut self, reason: CloseReason) {
        match reason {
            CloseReason::SlowConsumer => self.fail_at_once(Fault::SlowConsumer),
            CloseReason::ShuttingDown => {
                if self.is_connected && self.client.protocol >= 1 {
                    self.transmit.buffer().extend_from_slice(&info(&self.options, Occasion::Stopping));
                }
                self.close();
            }
            CloseReason::TakenOver | CloseReason::Administrative | CloseReason::Internal => self.close(),
        }
    }

    /// Nothing goes in or out any more, except what is written already.
    pub(super) fn close(&mut self) {
        self.phase = Phase::Closed;
        self.held = BytesMut::new();
        self.stashed = None;
    }
}
