//! PUBACK, PUBREC, PUBREL and PUBCOMP of the client.

use braid_types::{InFlightStage, Outcome, Request, Timestamp};

use super::Connection;
use crate::{
    Fault, ReasonCode,
    packet::{acknowledge::Acknowledge, kind},
};

const WRONG_KIND: Fault = Fault::Protocol("an acknowledgement of another QoS, or out of order");

impl Connection {
    /// One of the four.
    pub(super) fn acknowledge(
        &mut self,
        now: Timestamp,
        packet_kind: u8,
        acknowledge: Acknowledge,
    ) -> Result<(), Fault> {
        let packet_id = acknowledge.packet_id;
        if packet_kind == kind::PUBREL {
            self.session.incoming.release(packet_id);
            // Also for an identifier that is not known: PUBCOMP may have been lost with an earlier connection.
            self.wire.acknowledge(kind::PUBCOMP, packet_id, ReasonCode::SUCCESS);
            return Ok(());
        }
        let stage = self.session.ring.get(packet_id).map(|entry| entry.stage);
        match (packet_kind, stage) {
            (kind::PUBACK, Some(InFlightStage::AwaitAck)) => {
                let outcome = if acknowledge.reason.is_failure() { Outcome::Rejected } else { Outcome::Accepted };
                self.finish(now, packet_id, outcome);
            }
            (kind::PUBREC, Some(InFlightStage::AwaitReceived)) if acknowledge.reason.is_failure() => {
                self.finish(now, packet_id, Outcome::Rejected);
            }
            (kind::PUBREC, Some(InFlightStage::AwaitReceived | InFlightStage::AwaitComplete)) => {
                self.session.ring.set_stage(packet_id, InFlightStage::AwaitComplete);
                self.wire.acknowledge(kind::PUBREL, packet_id, ReasonCode::SUCCESS);
            }
            (kind::PUBREC, None) if !acknowledge.reason.is_failure() => {
                // Its PUBLISH is forgotten, but the client holds the identifier until PUBREL.
                self.wire.acknowledge(kind::PUBREL, packet_id, ReasonCode::SUCCESS);
            }
            (kind::PUBCOMP, Some(InFlightStage::AwaitComplete)) => self.finish(now, packet_id, Outcome::Accepted),
            (_, None) => {}
            (_, Some(_)) => return Err(WRONG_KIND),
        }
        Ok(())
    }

    /// A delivery is done: it is settled, and its place in the window goes to what waits.
    fn finish(&mut self, now: Timestamp, packet_id: u16, outcome: Outcome) {
        if let Some(entry) = self.session.ring.remove(packet_id)
            && let Some(key) = entry.outgoing.key
        {
            self.requests.push_back(Request::Settle { key, outcome });
        }
        self.flush(now);
    }
}
