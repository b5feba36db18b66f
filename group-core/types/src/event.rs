//! What the broker tells an endpoint. Answers carry the [`Ticket`] of the request.

use alloc::{boxed::Box, string::String, sync::Arc};

use bytes::Bytes;

use crate::{CloseReason, Delivery, Identity, Message, Refusal, RefusalKind, SessionState, SubscriptionId, Ticket};

/// What became of a publish (SPEC, promise P1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishResult {
    /// Every group that it was routed to has it, as safe as its storage class says; or a subscriber got it.
    Accepted,
    /// It matched nothing. AMQP: confirmed after `basic.return`; MQTT: 0x10; NATS: no responders.
    Unroutable,
    /// It was not taken, of this kind (full group, no such exchange, a limit): nack, MQTT reason ≥ 0x80.
    Refused(RefusalKind),
}

/// The good answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Done, nothing more to say.
    Done,
    /// The group exists.
    Declared {
        /// Its name (made by the broker when the request left it empty).
        name: Bytes,
        /// Messages ready.
        message_count: u64,
        /// Attached members.
        consumer_count: u32,
    },
    /// The group is gone, or purged, with so many ready messages.
    Removed {
        /// Messages that it held ready.
        message_count: u64,
    },
    /// The subscription is gone.
    Unsubscribed {
        /// Whether there was one.
        existed: bool,
    },
}

/// Something for the endpoint to handle.
#[derive(Debug)]
pub enum Event {
    /// Answer to `Authenticate`.
    Authenticated {
        /// Of the request.
        ticket: Ticket,
        /// Who the client is, or why not.
        result: Result<Identity, Refusal>,
    },
    /// Answer to `OpenSession`.
    SessionOpened {
        /// Of the request.
        ticket: Ticket,
        /// The kept state of an earlier connection (`Some` means *session present*), or a refusal.
        result: Result<Option<Box<SessionState>>, Refusal>,
    },
    /// Answer to `Publish` with a ticket. For an unroutable mandatory message `Returned` comes first.
    Published {
        /// Of the request.
        ticket: Ticket,
        /// What became of it.
        result: PublishResult,
    },
    /// A mandatory message matched nothing (or the exchange of a publish does not exist: `refusal` is set).
    Returned {
        /// Of the publish, when it had one.
        ticket: Option<Ticket>,
        /// Endpoint's own number of the channel, from the publish.
        channel: u16,
        /// The message as it came.
        message: Arc<Message>,
        /// Why, when it is more than "no route".
        refusal: Option<Refusal>,
    },
    /// Answer to declare, delete, bind, unbind, purge, subscribe, unsubscribe, open vhost, and the bad answer to get.
    Completed {
        /// Of the request.
        ticket: Ticket,
        /// How it went.
        result: Result<Completion, Refusal>,
    },
    /// Answer to `Get`.
    Got {
        /// Of the request.
        ticket: Ticket,
        /// The message; `None` when the group had none ready.
        delivery: Option<Box<Delivery>>,
        /// Messages still ready behind it.
        remaining: u64,
    },
    /// A message for a subscription.
    Deliver(Delivery),
    /// The broker ended a subscription (its group was deleted).
    Cancelled {
        /// Which.
        subscription: SubscriptionId,
    },
    /// Publishes are held back because of a limit, or go on again.
    Blocked {
        /// Held back, or not any more.
        blocked: bool,
        /// Which limit.
        reason: String,
    },
    /// End the connection, with the protocol's words for the reason.
    Close {
        /// Why.
        reason: CloseReason,
        /// For people.
        text: String,
    },
    /// The socket is gone; say what is to become of the session. No bytes can be sent any more.
    ConnectionLost,
}
