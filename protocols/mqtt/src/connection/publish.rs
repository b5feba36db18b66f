//! The client publishes.

use alloc::sync::Arc;

use braid_types::{
    Message, Protocol, Publish as PublishRequest, PublishResult, RefusalKind, Request, Ticket, Timestamp,
};
use bytes::Bytes;

use super::{Connection, Phase, ticket::Purpose};
use crate::{
    Fault, ReasonCode,
    incoming::Arrival,
    packet::{kind, publish::Publish},
    properties::{Carrier, publish::MessageProperties},
    topic,
    will::EXCHANGE,
};

impl Connection {
    /// A PUBLISH.
    pub(super) fn publish(&mut self, now: Timestamp, publish: Publish) -> Result<(), Fault> {
        let properties = MessageProperties::decode(&publish.properties, Carrier::Publish)?;
        let maximum = self.options.topic_alias_maximum;
        let topic = self.client.aliases.resolve(publish.topic, properties.alias, maximum)?;
        let (qos, packet_id) = (publish.qos, publish.packet_id);
        let is_repeated = qos == 2 && self.session.incoming.contains(packet_id);
        if qos > 0 && !is_repeated && self.wire.version().is_5() {
            let open = self.session.incoming.open();
            if open >= usize::from(self.options.receive_maximum.max(1)) {
                return Err(Fault::Reason(ReasonCode::RECEIVE_MAXIMUM_EXCEEDED));
            }
        }
        if topic::is_reserved(&topic) {
            self.counters.reserved_topic = self.counters.reserved_topic.saturating_add(1);
            self.answer_publish(qos, packet_id, ReasonCode::NOT_AUTHORIZED);
            return Ok(());
        }
        if properties.is_text && core::str::from_utf8(&publish.body).is_err() {
            if qos == 0 {
                return Err(Fault::Reason(ReasonCode::PAYLOAD_FORMAT_INVALID));
            }
            self.answer_publish(qos, packet_id, ReasonCode::PAYLOAD_FORMAT_INVALID);
            return Ok(());
        }
        match qos {
            0 => {}
            1 => self.session.incoming.publish_qos1(),
            _ => match self.session.incoming.publish_qos2(packet_id) {
                Arrival::New => {}
                Arrival::Owed => return Ok(()),
                Arrival::Again => {
                    self.wire.acknowledge(kind::PUBREC, packet_id, ReasonCode::SUCCESS);
                    return Ok(());
                }
            },
        }
        let (exchange, key) = match topic.strip_prefix(topic::QUEUE_PREFIX) {
            Some(name) if !name.is_empty() => (Bytes::new(), topic.slice_ref(name)),
            _ => (Bytes::from_static(EXCHANGE), topic),
        };
        let message = Message {
            origin: Protocol::Mqtt,
            // The default exchange retains nothing.
            retain: publish.retain && !exchange.is_empty(),
            exchange,
            key,
            expires_at: properties.expires_at(now),
            header: properties.kept(publish.properties),
            reply: Bytes::new(),
            body: publish.body,
            qos,
            priority: 0,
            received_at: now,
            publisher: self.options.connection,
        };
        let ticket = (qos > 0).then(|| Purpose::Publish { qos, packet_id }.ticket());
        let message = Arc::new(message);
        self.requests.push_back(Request::Publish(PublishRequest { ticket, mandatory: false, channel: 0, message }));
        Ok(())
    }

    /// The answer to `Publish`.
    pub(super) fn published(&mut self, ticket: Ticket, result: PublishResult) {
        let Some(Purpose::Publish { qos, packet_id }) = Purpose::of(ticket) else { return };
        if !matches!(self.phase, Phase::Open) {
            return;
        }
        let reason = match result {
            PublishResult::Accepted => ReasonCode::SUCCESS,
            PublishResult::Unroutable => ReasonCode::NO_MATCHING_SUBSCRIBERS,
            PublishResult::Refused(kind) => {
                if !self.wire.version().is_5() && !may_be_acknowledged(kind) {
                    // MQTT 3 cannot say no, and an acknowledgement would be a lie: the client has to send it again.
                    self.close();
                    return;
                }
                refused(kind)
            }
        };
        if qos == 1 {
            self.session.incoming.answer_qos1();
            self.answer_publish(1, packet_id, reason);
        } else {
            for _ in 0..self.session.incoming.answer_qos2(packet_id, reason.is_failure()) {
                self.answer_publish(2, packet_id, reason);
            }
        }
    }

    /// PUBACK or PUBREC. "No matching subscribers" is said in PUBACK only, as by Mosquitto.
    fn answer_publish(&mut self, qos: u8, packet_id: u16, reason: ReasonCode) {
        match qos {
            0 => {}
            1 => self.wire.acknowledge(kind::PUBACK, packet_id, reason),
            _ => {
                let reason = if reason.is_failure() { reason } else { ReasonCode::SUCCESS };
                self.wire.acknowledge(kind::PUBREC, packet_id, reason);
            }
        }
    }
}

/// Whether MQTT 3 acknowledges a publish that was refused like this: those that no repetition would make better, as
/// Mosquitto does for denied topics.
fn may_be_acknowledged(kind: RefusalKind) -> bool {
    match kind {
        RefusalKind::NotFound
        | RefusalKind::AccessRefused
        | RefusalKind::NotAllowed
        | RefusalKind::NotImplemented
        | RefusalKind::PreconditionFailed => true,
        RefusalKind::ResourceLocked
        | RefusalKind::LimitReached
        | RefusalKind::Unavailable
        | RefusalKind::BadCredentials
        | RefusalKind::Internal => false,
    }
}

fn refused(kind: RefusalKind) -> ReasonCode {
    match kind {
        RefusalKind::NotFound => ReasonCode::NO_MATCHING_SUBSCRIBERS,
        RefusalKind::AccessRefused | RefusalKind::BadCredentials => ReasonCode::NOT_AUTHORIZED,
        RefusalKind::LimitReached => ReasonCode::QUOTA_EXCEEDED,
        RefusalKind::NotAllowed | RefusalKind::NotImplemented => ReasonCode::IMPLEMENTATION_SPECIFIC,
        RefusalKind::PreconditionFailed
        | RefusalKind::ResourceLocked
        | RefusalKind::Unavailable
        | RefusalKind::Internal => ReasonCode::UNSPECIFIED,
    }
}
