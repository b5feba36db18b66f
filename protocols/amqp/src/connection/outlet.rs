//! What the channels of a connection share: the way out for requests and bytes, and the calls that wait for an answer.
//!
//! Invariant: every ticket that left is either a publish's (high bit set, see [`publish_ticket`]) or in `pending`.

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};

use braid_types::{DeliveryKey, Outcome, Request, SubscriptionId, Ticket, Transmit};
use bytes::{Bytes, BytesMut};

use crate::{
    Exception, Options, ReplyCode,
    codec::{write_empty_method, write_method},
    limits::{FRAME_BYTES_DEFAULT, PENDING_CALLS_MAX},
    method::{Method, MethodId, channel},
};

/// What the client said that it can do (`client_properties.capabilities`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peer {
    pub(crate) cancel_notify: bool,
    pub(crate) blocked: bool,
    pub(crate) authentication_failure_close: bool,
}

/// What to do when the answer to a call comes.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Nothing: the client does not wait.
    Silent,
    /// Send this method, which has no arguments.
    Reply(MethodId),
    /// Remember the queue as the last declared one; send declare-ok unless the client does not wait.
    Declared { no_wait: bool, is_server_named: bool },
    /// Send this method, which was held back until what was settled before is gone for good.
    Synced(MethodId),
    /// Send this method with the number of messages.
    Removed(MethodId),
    /// Send consume-ok unless the client does not wait.
    Consuming { subscription: SubscriptionId, tag: Bytes, no_wait: bool },
    /// Forget the consumer and send cancel-ok.
    Cancelled { subscription: SubscriptionId, tag: Bytes },
    /// Send get-ok or get-empty.
    Got { no_ack: bool },
    /// Send channel.close-ok.
    ChannelClosed,
    /// Send connection.close-ok.
    ConnectionClosed,
    /// Send tune.
    Authenticated,
    /// Send connection.open-ok.
    VhostOpened,
}

/// A call that waits for its answer. Channel 0 is the connection.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) channel: u16,
    /// The channel's incarnation: an answer to a closed one is not given to its successor.
    pub(crate) incarnation: u16,
    pub(crate) method: MethodId,
    pub(crate) answer: Answer,
}

#[derive(Debug)]
pub(crate) struct Outlet {
    pub(crate) options: Options,
    pub(crate) peer: Peer,
    pub(crate) vhost: Bytes,
    pub(crate) frame_bytes_max: u32,
    pub(crate) transmit: Transmit,
    pub(crate) requests: VecDeque<Request>,
    /// Channels by subscription.
    pub(crate) subscriptions: BTreeMap<SubscriptionId, u16>,
    /// Channels with confirms to be written out.
    pub(crate) unflushed: Vec<u16>,
    /// For header blocks in the making.
    pub(crate) scratch: BytesMut,
    /// Messages that had no AMQP form.
    pub(crate) conversion_failures: u64,
    pending: BTreeMap<Ticket, Pending>,
    last_ticket: u64,
    last_subscription: u64,
    last_tag: u64,
}

impl Outlet {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            peer: Peer::default(),
            vhost: Bytes::new(),
            frame_bytes_max: FRAME_BYTES_DEFAULT,
            transmit: Transmit::new(),
            requests: VecDeque::new(),
            subscriptions: BTreeMap::new(),
            unflushed: Vec::new(),
            scratch: BytesMut::new(),
            conversion_failures: 0,
            pending: BTreeMap::new(),
            last_ticket: 0,
            last_subscription: 0,
            last_tag: 0,
        }
    }

    /// A ticket for a call.
    pub(crate) fn call(&mut self, pending: Pending) -> Result<Ticket, Exception> {
        if self.pending.len() >= PENDING_CALLS_MAX {
            return Err(Exception::new(ReplyCode::ResourceError, "too many calls wait for an answer"));
        }
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.pending.insert(ticket, pending);
        Ok(ticket)
    }

    pub(crate) fn take_pending(&mut self, ticket: Ticket) -> Option<Pending> {
        self.pending.remove(&ticket)
    }

    pub(crate) fn forget_pending(&mut self) {
        self.pending.clear();
    }

    pub(crate) fn next_subscription(&mut self, channel: u16) -> SubscriptionId {
        self.last_subscription += 1;
        let subscription = SubscriptionId(self.last_subscription);
        self.subscriptions.insert(subscription, channel);
        subscription
    }

    /// A consumer tag that no other consumer of the connection has had.
    pub(crate) fn next_consumer_tag(&mut self) -> Bytes {
        self.last_tag += 1;
        let seed = mix(self.options.seed);
        Bytes::from(alloc::format!("amq.ctag-{seed:016x}-{}", self.last_tag))
    }

    pub(crate) fn request(&mut self, request: Request) {
        self.requests.push_back(request);
    }

    /// Ends a delivery, unless it was settled when it was handed off.
    pub(crate) fn settle(&mut self, key: Option<DeliveryKey>, outcome: Outcome) {
        if let Some(key) = key {
            self.request(Request::Settle { key, outcome });
        }
    }

    pub(crate) fn send<M: Method>(&mut self, channel: u16, method: &M) {
        write_method(self.transmit.buffer(), channel, method);
    }

    /// Sends an answer that says nothing but that it is done.
    pub(crate) fn reply(&mut self, channel: u16, method: MethodId) {
        if method == channel::FlowOk::ID {
            self.send(channel, &channel::FlowOk { active: true });
        } else {
            self.send_empty(channel, method);
        }
    }

    pub(crate) fn send_empty(&mut self, channel: u16, method: MethodId) {
        write_empty_method(self.transmit.buffer(), channel, method);
    }
}

const PUBLISH_BIT: u64 = 1 << 63;
const INCARNATION_SHIFT: u32 = 48;
const CHANNEL_SHIFT: u32 = 32;

/// A ticket that says which publish it belongs to, so that confirms need no table:
/// bit 63 set, 15 bits of the channel's incarnation, 16 bits channel, 32 low bits of the publish's number.
pub(crate) fn publish_ticket(channel: u16, incarnation: u16, number: u64) -> Ticket {
    let incarnation = u64::from(incarnation & 0x7fff) << INCARNATION_SHIFT;
    Ticket(PUBLISH_BIT | incarnation | u64::from(channel) << CHANNEL_SHIFT | number & u64::from(u32::MAX))
}

/// Channel, low bits of the incarnation, and low bits of the number of a publish's ticket.
pub(crate) fn publish_of_ticket(ticket: Ticket) -> Option<(u16, u16, u32)> {
    let [i1, i0, c1, c0, n3, n2, n1, n0] = ticket.0.to_be_bytes();
    (ticket.0 & PUBLISH_BIT != 0).then(|| {
        let incarnation = u16::from_be_bytes([i1, i0]) & 0x7fff;
        (u16::from_be_bytes([c1, c0]), incarnation, u32::from_be_bytes([n3, n2, n1, n0]))
    })
}

/// Spreads the bits of a seed (the finishing steps of splitmix64).
const fn mix(seed: u64) -> u64 {
    let mut value = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publish_tickets_say_what_they_are_for() {
        let ticket = publish_ticket(2047, 0xffff, (7 << 32) | 5);
        assert_eq!(publish_of_ticket(ticket), Some((2047, 0x7fff, 5)));
        assert_eq!(publish_of_ticket(Ticket(5)), None);
    }
}
