//! How a connection ends: by the client, by its fault, by the broker, by silence.

use braid_types::{CloseReason, Request, Timestamp};
use bytes::BytesMut;

use super::{Connection, Phase};
use crate::{Fault, ReasonCode, packet::disconnect::Disconnect};

impl Connection {
    /// DISCONNECT of the client. Only a normal one voids its will (MQTT-3.14.4-3).
    pub(super) fn disconnect(&mut self, disconnect: Disconnect) -> Result<(), Fault> {
        if let Some(expiry_s) = disconnect.session_expiry_s {
            if self.session.expiry_s == 0 && expiry_s > 0 {
                return Err(Fault::Protocol("a session expiry in DISCONNECT where CONNECT had none"));
            }
            self.session.expiry_s = expiry_s.min(self.options.session_expiry_max_s);
        }
        if disconnect.reason == ReasonCode::SUCCESS {
            self.requests.push_back(Request::DiscardWill);
        }
        self.close();
        Ok(())
    }

    /// A fault of the client.
    pub(super) fn fail(&mut self, fault: Fault) {
        self.fault = Some(fault);
        if let (Phase::Open, Some(reason)) = (&self.phase, fault.reason()) {
            self.wire.disconnect(reason, "");
        }
        self.close();
    }

    /// The broker ends the connection.
    pub(super) fn close_for(&mut self, reason: CloseReason, text: &str) {
        if self.is_closing {
            return;
        }
        let code = match reason {
            CloseReason::ShuttingDown => ReasonCode::SERVER_SHUTTING_DOWN,
            CloseReason::TakenOver => ReasonCode::SESSION_TAKEN_OVER,
            CloseReason::SlowConsumer => ReasonCode::QUOTA_EXCEEDED,
            CloseReason::Administrative => ReasonCode::ADMINISTRATIVE_ACTION,
            CloseReason::Internal => ReasonCode::UNSPECIFIED,
        };
        match self.phase {
            Phase::Open => {
                self.wire.disconnect(code, text);
                self.close();
            }
            // CONNACK has no code for most of these; the client is to come again.
            Phase::Authenticating(_) | Phase::Opening(_) => self.refuse(ReasonCode::SERVER_UNAVAILABLE, text),
            Phase::AwaitConnect | Phase::Ended => self.close(),
        }
    }

    /// The end: the session is given back, nothing is read any more.
    pub(super) fn close(&mut self) {
        self.end_session();
        self.is_closing = true;
        self.deadline = None;
        self.held = BytesMut::new();
    }

    /// The deadline has come: the handshake took too long, or the client was silent too long (MQTT-3.1.2-22).
    pub(super) fn timeout(&mut self, now: Timestamp) {
        if self.is_closing || self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        if !matches!(self.phase, Phase::Open) {
            self.close();
            return;
        }
        let deadline = self.last_received.plus_ms(self.client.keep_alive_ms);
        if deadline > now {
            self.deadline = Some(deadline);
        } else {
            self.wire.disconnect(ReasonCode::KEEP_ALIVE_TIMEOUT, "");
            self.close();
        }
    }
}
