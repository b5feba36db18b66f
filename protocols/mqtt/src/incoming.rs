//! Publishes of the client that are not done: QoS 1 until PUBACK, QoS 2 until PUBCOMP.
//!
//! ```text
//! PUBLISH QoS 2 ──▶ Publishing ──answer, PUBREC──▶ Received ──PUBREL, PUBCOMP──▶ (free)
//! ```
//!
//! Invariant: a QoS 2 identifier is freed only by PUBREL, by a failure that the client was told, or by the end of the
//! session (CASES 29): until then the same identifier is never published again.

use alloc::{collections::BTreeMap, vec::Vec};

/// How far a QoS 2 publish has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The broker has not answered; so many PUBRECs are owed.
    Publishing { owed: u32 },
    /// PUBREC was sent.
    Received,
}

/// What to do with a QoS 2 PUBLISH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is new: publish it.
    New,
    /// It came again; PUBREC will follow with the first one's.
    Owed,
    /// It came again: PUBREC at once.
    Again,
}

/// Publishes that are not done.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    qos1: usize,
    qos2: BTreeMap<u16, Stage>,
}

impl Incoming {
    /// With the QoS 2 identifiers that an earlier connection left.
    pub(crate) fn restore(unreleased: &[u16]) -> Self {
        Self { qos1: 0, qos2: unreleased.iter().map(|packet_id| (*packet_id, Stage::Received)).collect() }
    }

    /// The QoS 2 identifiers to keep. One whose answer has not come is among them: its publish is on its way, and
    /// requests are carried out in order.
    pub(crate) fn unreleased(&self) -> Vec<u16> {
        self.qos2.keys().copied().collect()
    }

    /// Publishes that count towards our Receive Maximum.
    pub(crate) fn open(&self) -> usize {
        self.qos1.saturating_add(self.qos2.len())
    }

    /// Whether this QoS 2 identifier is in use, so that a PUBLISH with it is a repetition.
    pub(crate) fn contains(&self, packet_id: u16) -> bool {
        self.qos2.contains_key(&packet_id)
    }

    /// A QoS 1 PUBLISH came.
    pub(crate) fn publish_qos1(&mut self) {
        self.qos1 = self.qos1.saturating_add(1);
    }

    /// The answer to a QoS 1 PUBLISH came.
    pub(crate) fn answer_qos1(&mut self) {
        self.qos1 = self.qos1.saturating_sub(1);
    }

    /// A QoS 2 PUBLISH came.
    pub(crate) fn publish_qos2(&mut self, packet_id: u16) -> Arrival {
        match self.qos2.get_mut(&packet_id) {
            None => {
                self.qos2.insert(packet_id, Stage::Publishing { owed: 1 });
                Arrival::New
            }
            Some(Stage::Publishing { owed }) => {
                *owed = owed.saturating_add(1);
                Arrival::Owed
            }
            Some(Stage::Received) => Arrival::Again,
        }
    }

    /// The answer to a QoS 2 PUBLISH came: how many PUBRECs to send. A failure frees the identifier.
    pub(crate) fn answer_qos2(&mut self, packet_id: u16, is_failure: bool) -> u32 {
        let Some(stage) = self.qos2.get_mut(&packet_id) else { return 0 };
        let Stage::Publishing { owed } = core::mem::replace(stage, Stage::Received) else { return 0 };
        if is_failure {
            self.qos2.remove(&packet_id);
        }
        owed
    }

    /// PUBREL came.
    pub(crate) fn release(&mut self, packet_id: u16) {
        self.qos2.remove(&packet_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_new_once_until_it_is_released() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.publish_qos2(7), Arrival::New);
        assert_eq!(incoming.publish_qos2(7), Arrival::Owed);
        assert_eq!(incoming.answer_qos2(7, false), 2);
        assert_eq!(incoming.answer_qos2(7, false), 0);
        assert_eq!(incoming.publish_qos2(7), Arrival::Again);
        assert_eq!(incoming.unreleased(), [7]);
        incoming.release(7);
        assert_eq!(incoming.publish_qos2(7), Arrival::New);
        assert_eq!(incoming.answer_qos2(7, true), 1);
        assert_eq!(incoming.open(), 0);
        let mut restored = Incoming::restore(&[9]);
        assert_eq!(restored.publish_qos2(9), Arrival::Again);
    }
}
