//! Publishing: `basic.publish` and its content become one request; refusals and returns come back.

use alloc::{format, string::String, sync::Arc};

use braid_types::{Message, Protocol, Publish, Refusal, Request, Timestamp, limits::BODY_BYTES_MAX};
use bytes::Bytes;

use super::{
    Channel,
    assembly::{ContentHeader, Publishing, Stage, unexpected},
};
use crate::{
    Exception, ReplyCode,
    connection::{Outlet, publish_ticket},
    content::{Envelope, Outgoing},
    field_table,
    frame::{Frame, FrameKind},
    limits::EXPIRATION_MS_MAX,
    method::{Method, basic},
    properties::{REPLY_TOPIC_PREFIX, View},
};

impl Channel {
    pub(super) fn begin_publish(&mut self, publish: basic::Publish) -> Result<(), Exception> {
        if publish.immediate {
            return Err(Exception::new(ReplyCode::NotImplemented, "immediate=true"));
        }
        let (exchange, key) = resolve_reply_topic(publish.exchange, publish.routing_key);
        let mandatory = publish.mandatory;
        self.assembly.publishing = Publishing { exchange, key, mandatory, ..Publishing::default() };
        self.assembly.stage = Stage::Header;
        Ok(())
    }

    /// Takes a frame where a content is due, or a content frame where none is.
    pub(super) fn handle_content(
        &mut self,
        outlet: &mut Outlet,
        now: Timestamp,
        frame: &Frame<'_>,
    ) -> Result<(), Exception> {
        let taken = match core::mem::take(&mut self.assembly.stage) {
            Stage::Idle => return Err(unexpected("expected method frame, got non method frame instead")),
            Stage::Header => self.take_header(outlet, now, frame),
            Stage::Body { remaining_bytes } => self.take_body(outlet, now, frame, remaining_bytes),
        };
        taken.map_err(|error| error.about(basic::Publish::ID))
    }

    fn take_header(&mut self, outlet: &mut Outlet, now: Timestamp, frame: &Frame<'_>) -> Result<(), Exception> {
        if frame.kind != FrameKind::Header {
            return Err(unexpected("expected content header for class 60, got non content header frame instead"));
        }
        let header = ContentHeader::parse(frame.payload)?;
        if header.class != basic::Publish::ID.class || header.weight != 0 {
            return Err(Exception::new(
                ReplyCode::UnexpectedFrame,
                format!("expected content header for class 60, got one for class {} instead", header.class),
            ));
        }
        if header.body_bytes > BODY_BYTES_MAX as u64 {
            let text =
                format!("message size {} is larger than configured max size {BODY_BYTES_MAX}", header.body_bytes);
            return Err(Exception::new(ReplyCode::PreconditionFailed, text));
        }
        // A broken table would be broken for every consumer that it is passed on to: it is refused here, unread.
        let view = View::parse(header.properties)?;
        if let Some(table) = view.headers {
            field_table::validate(table)?;
        }
        let publishing = &mut self.assembly.publishing;
        publishing.priority = view.priority.unwrap_or(0);
        publishing.expires_at = view.expiration.map(expiration_ms).transpose()?.map(|ms| now.plus_ms(ms));
        publishing.header = frame.batch.slice_ref(header.properties);
        if header.body_bytes == 0 {
            return self.finish_publish(outlet, now);
        }
        self.assembly.stage = Stage::Body { remaining_bytes: header.body_bytes };
        Ok(())
    }

    fn take_body(
        &mut self,
        outlet: &mut Outlet,
        now: Timestamp,
        frame: &Frame<'_>,
        remaining_bytes: u64,
    ) -> Result<(), Exception> {
        if frame.kind != FrameKind::Body {
            return Err(unexpected("expected content body, got non content body frame instead"));
        }
        let Some(rest_bytes) = remaining_bytes.checked_sub(frame.payload.len() as u64) else {
            return Err(Exception::new(ReplyCode::FrameError, "content body frame exceeds remaining content size"));
        };
        self.assembly.publishing.body.push(frame.batch.slice_ref(frame.payload), remaining_bytes);
        if rest_bytes == 0 {
            return self.finish_publish(outlet, now);
        }
        self.assembly.stage = Stage::Body { remaining_bytes: rest_bytes };
        Ok(())
    }

    fn finish_publish(&mut self, outlet: &mut Outlet, now: Timestamp) -> Result<(), Exception> {
        let ticket = match &mut self.confirms {
            Some(confirms) => Some(publish_ticket(self.number, self.incarnation, confirms.begin()?)),
            None => None,
        };
        let publishing = core::mem::take(&mut self.assembly.publishing);
        let message = Arc::new(Message {
            origin: Protocol::Amqp,
            exchange: publishing.exchange,
            key: publishing.key,
            header: publishing.header,
            reply: Bytes::new(),
            body: publishing.body.into_bytes(),
            qos: 1,
            retain: false,
            priority: publishing.priority,
            expires_at: publishing.expires_at,
            received_at: now,
            publisher: outlet.options.connection,
        });
        let (mandatory, channel) = (publishing.mandatory, self.incarnation);
        outlet.request(Request::Publish(Publish { ticket, mandatory, channel, message }));
        Ok(())
    }

    /// A mandatory message matched nothing, or its exchange does not exist.
    pub(crate) fn returned(
        &mut self,
        outlet: &mut Outlet,
        message: &Message,
        refusal: Option<Refusal>,
    ) -> Result<(), Exception> {
        if let Some(refusal) = refusal {
            return Err(Exception::from(refusal).about(basic::Publish::ID));
        }
        let code = ReplyCode::NoRoute;
        let envelope = Envelope::Return { reply_code: code.number(), reply_text: code.name().as_bytes() };
        Outgoing::of_message(message).write(&envelope, self.number, outlet.frame_bytes_max, &mut outlet.transmit);
        Ok(())
    }
}

/// A reply to a requester of another protocol: see [`REPLY_TOPIC_PREFIX`].
fn resolve_reply_topic(exchange: Bytes, key: Bytes) -> (Bytes, Bytes) {
    if exchange.is_empty() && key.starts_with(REPLY_TOPIC_PREFIX) {
        return (Bytes::from_static(b"amq.topic"), key.slice(REPLY_TOPIC_PREFIX.len()..));
    }
    (exchange, key)
}

/// Decimal digits, as RabbitMQ takes them.
fn expiration_ms(text: &[u8]) -> Result<u64, Exception> {
    let digits = core::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).filter(|ms| *ms <= EXPIRATION_MS_MAX).ok_or_else(|| {
        let text = String::from_utf8_lossy(text);
        Exception::new(
            ReplyCode::PreconditionFailed,
            format!("invalid expiration '{text}': not a number of milliseconds up to {EXPIRATION_MS_MAX}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expirations_are_plain_numbers() {
        assert_eq!(expiration_ms(b"0"), Ok(0));
        assert_eq!(expiration_ms(b"4294967295"), Ok(4_294_967_295));
        for bad in [&b""[..], b"abc", b"-1", b"+1", b"1.5", b" 1", b"4294967296", b"99999999999999999999999", b"\xff"] {
            assert_eq!(expiration_ms(bad).unwrap_err().code, ReplyCode::PreconditionFailed, "{bad:?}");
        }
    }

    #[test]
    fn replies_to_topics_leave_the_default_exchange() {
        let (exchange, key) = resolve_reply_topic(Bytes::new(), Bytes::from_static(b"amq.topic/a.b"));
        assert_eq!((exchange.as_ref(), key.as_ref()), (&b"amq.topic"[..], &b"a.b"[..]));
        let (exchange, _) = resolve_reply_topic(Bytes::from_static(b"x"), Bytes::from_static(b"amq.topic/a.b"));
        assert_eq!(exchange.as_ref(), b"x");
    }
}
