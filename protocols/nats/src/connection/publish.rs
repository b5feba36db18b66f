//! `PUB` and `HPUB`, and what becomes of a publish.

use alloc::sync::Arc;

use braid_types::{Message, Protocol, Publish, PublishResult, Refusal, RefusalKind, Request, Ticket, Timestamp};
use bytes::Bytes;

use super::Connection;
use crate::{
    answers::Waiting, encoder::no_responders, error::Complaint, limits::ANSWERS_FOR_REQUESTS_MAX, op::PublishOp,
    subject::is_literal,
};

/// The exchange that NATS subjects are published to (SPEC section 4).
const TOPIC_EXCHANGE: &[u8] = b"amq.topic";

impl Connection {
    /// Publishes. A pedantic client's bad subject is answered as nats-server does, and the message goes nowhere.
    pub(super) fn publish(&mut self, now: Timestamp, publish: PublishOp) {
        let is_refused = self.client.pedantic && !is_literal(&publish.subject);
        if is_refused {
            self.answers.say_line(Complaint::PublishSubject.line(), &mut self.transmit);
        }
        if self.client.verbose {
            self.answers.say(b"+OK\r\n", &mut self.transmit);
        }
        if is_refused {
            return;
        }
        let wants_notice = !publish.reply.is_empty()
            && self.client.no_responders
            && self.client.headers
            && self.answers.len() < ANSWERS_FOR_REQUESTS_MAX;
        let message = Arc::new(Message {
            origin: Protocol::Nats,
            exchange: Bytes::from_static(TOPIC_EXCHANGE),
            key: publish.subject,
            header: publish.header,
            reply: publish.reply,
            body: publish.body,
            qos: 1,
            retain: false,
            priority: 0,
            expires_at: None,
            received_at: now,
            publisher: self.options.client_id,
        });
        let ticket = wants_notice.then(|| {
            let moment = self.subscriptions.moment();
            self.answers.wait(Waiting::Request(Arc::clone(&message), moment))
        });
        self.is_echo_due |= self.client.echo && !self.subscriptions.is_empty();
        self.requests.push_back(Request::Publish(Publish { ticket, mandatory: false, channel: 0, message }));
    }

    /// Whether a request found anybody.
    pub(super) fn published(&mut self, ticket: Ticket, result: PublishResult) {
        let Some(Waiting::Request(message, moment)) = self.answers.take(ticket) else { return };
        let line = match result {
            PublishResult::Accepted => Bytes::new(),
            PublishResult::Unroutable | PublishResult::Refused(RefusalKind::NotFound) => self
                .subscriptions
                .for_reply(&message.reply, moment)
                .map_or_else(Bytes::new, |sid| no_responders(&message.key, &message.reply, &sid)),
            PublishResult::Refused(RefusalKind::AccessRefused) => {
                Complaint::Publish { subject: message.key.clone() }.line()
            }
            // There is somebody who cannot take it now: the requester's own timeout tells it.
            PublishResult::Refused(_) => Bytes::new(),
        };
        self.answers.fill(ticket, line);
        self.flush();
    }

    /// A message was not taken, and nobody waits for the news but the client.
    pub(super) fn returned(&mut self, message: &Message, refusal: &Refusal) {
        if refusal.kind == RefusalKind::AccessRefused {
            let line = Complaint::Publish { subject: message.key.clone() }.line();
            self.answers.say_line(line, &mut self.transmit);
        }
    }
}
