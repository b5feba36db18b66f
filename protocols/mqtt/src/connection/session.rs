//! The session: what outlives the connection, how it is resumed and how it is given back.

use alloc::{boxed::Box, vec::Vec};

use braid_types::{InFlightStage, Outcome, Request, SessionState, Timestamp};

use super::{Connection, Phase};
use crate::{
    ReasonCode,
    incoming::Incoming,
    outgoing::{Outgoing, Ring, Waiting},
    packet::kind,
    subscriptions::Subscriptions,
};

/// The state of a session while its client is connected.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) subscriptions: Subscriptions,
    pub(super) ring: Ring,
    pub(super) waiting: Waiting,
    pub(super) incoming: Incoming,
    /// Seconds that it outlives the connection.
    pub(super) expiry_s: u32,
}

impl Session {
    /// Takes over what an earlier connection left.
    pub(super) fn restore(&mut self, state: Option<Box<SessionState>>) {
        let Some(state) = state else { return };
        self.subscriptions = Subscriptions::restore(state.subscriptions, state.next_subscription);
        self.incoming = Incoming::restore(&state.unreleased);
        for old in state.in_flight {
            let (packet_id, stage) = (old.packet_id, old.stage);
            let mut outgoing = Outgoing::restore(old);
            if packet_id == 0 {
                // It was never sent; an identifier is chosen when it is. It was let in before, so the wide limit holds.
                outgoing.is_retained = true;
                self.waiting.push(outgoing);
            } else if self.ring.restore(packet_id, stage, outgoing) && stage != InFlightStage::AwaitComplete {
                self.waiting.push_again(packet_id);
            }
        }
    }
}

impl Connection {
    /// After CONNACK: subscribes again (nothing is subscribed for the broker once a connection is gone), and sends again
    /// what the client has not finished, under the same identifiers (MQTT-4.4.0-1).
    pub(super) fn resume(&mut self, now: Timestamp) {
        self.resubscribe();
        let owed: Vec<u16> = self
            .session
            .ring
            .iter()
            .filter(|(_, entry)| entry.stage == InFlightStage::AwaitComplete)
            .map(|(packet_id, _)| packet_id)
            .collect();
        for packet_id in owed {
            self.session.ring.open_again(packet_id);
            self.wire.acknowledge(kind::PUBREL, packet_id, ReasonCode::SUCCESS);
        }
        self.flush(now);
    }

    /// Gives the session back to the broker, once.
    pub(super) fn end_session(&mut self) {
        if !matches!(self.phase, Phase::Open) {
            return;
        }
        self.phase = Phase::Ended;
        let keep = self.session.expiry_s > 0;
        let mut in_flight = Vec::new();
        let entries: Vec<_> = self.session.ring.iter().map(|(id, entry)| (id, entry.clone())).collect();
        for (packet_id, mut entry) in entries {
            let is_kept = self.settle_at_end(&mut entry.outgoing, entry.stage, keep);
            if keep && is_kept {
                in_flight.push(entry.outgoing.to_session(packet_id, entry.stage));
            }
        }
        for outgoing in self.session.waiting.extract(|_| true) {
            if let Some(key) = outgoing.key {
                self.requests.push_back(Request::Settle { key, outcome: Outcome::Released });
            } else if keep {
                in_flight.push(outgoing.to_session(0, outgoing.first_stage()));
            }
        }
        let state = keep.then(|| {
            let (subscriptions, next_subscription) = self.session.subscriptions.to_session();
            let unreleased = self.session.incoming.unreleased();
            Box::new(SessionState { subscriptions, in_flight, unreleased, next_subscription })
        });
        self.requests.push_back(Request::EndSession { state, expiry_s: self.session.expiry_s });
    }

    /// What becomes of a delivery in flight. Says whether it stays with the session.
    ///
    /// The session's own group keeps its messages itself. Of shared work, QoS 1 goes back to the group when the
    /// subscription ends (`on_loss`). QoS 2 is never given to another member (MQTT 5, 4.8.2): a session that lives on
    /// takes it over from the group; one that ends now rejects what the client has not received.
    fn settle_at_end(&mut self, outgoing: &mut Outgoing, stage: InFlightStage, keep: bool) -> bool {
        let Some(key) = outgoing.key.filter(|_| !outgoing.is_session) else { return true };
        let is_shared = self.session.subscriptions.is_shared(outgoing.subscription);
        if outgoing.qos < 2 || !is_shared {
            return false;
        }
        let outcome = if keep || stage == InFlightStage::AwaitComplete { Outcome::Accepted } else { Outcome::Rejected };
        self.requests.push_back(Request::Settle { key, outcome });
        outgoing.key = None;
        true
    }
}
