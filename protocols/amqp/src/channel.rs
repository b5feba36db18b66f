//! One channel: its methods in, its requests and frames out.
//!
//! ```text
//!            open ----------------------------> Open
//!   client's channel.close |                      | an exception of ours
//!                          v                      v
//!                    ClosingByClient        ClosingByServer   (all but close and close-ok is discarded)
//!   consumers are gone |                          | close-ok
//!                      v                          v
//!                     gone                       gone
//! ```
//! Invariants: delivery tags and publish numbers count from 1 and are never reused; a content is complete before another
//! method is taken; nothing is sent for a consumer before its consume-ok.

mod assembly;
mod confirms;
mod consume;
mod deliver;
mod end;
mod get;
mod publish;
mod settle;
mod topology;
mod unacked;

use alloc::{boxed::Box, collections::BTreeMap, collections::VecDeque};

use braid_types::{Delivery, Request, SubscriptionId, Ticket, Timestamp};
use bytes::Bytes;

pub(crate) use self::consume::Consumer;
use self::{assembly::Assembly, confirms::Confirms, unacked::Unacked};
use crate::{
    Exception, Reader, ReplyCode,
    connection::{Answer, HeldFrames, Outlet, Pending},
    frame::{Frame, FrameKind},
    method::{Method, MethodId, basic, channel, confirm, exchange, queue},
};

/// Class of transactions, which come in a later step.
const TX_CLASS: u16 = 90;

/// Where a channel is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    ClosingByServer,
    ClosingByClient,
}

/// What the connection has to do after a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Continue,
    /// The client closes the channel.
    Close,
}

#[derive(Debug)]
pub(crate) struct Channel {
    number: u16,
    incarnation: u16,
    phase: Phase,
    assembly: Assembly,
    last_queue: Bytes,
    consumer_prefetch: u16,
    channel_prefetch: u16,
    consumers: BTreeMap<SubscriptionId, Consumer>,
    tags: BTreeMap<Bytes, SubscriptionId>,
    last_delivery_tag: u64,
    unacked: Unacked,
    /// Deliveries beyond the channel's prefetch: not sent yet, bounded by the windows of its consumers.
    waiting: VecDeque<Delivery>,
    confirms: Option<Box<Confirms>>,
    /// Frames behind a declaration of a queue that the server names.
    held: Option<Box<HeldFrames>>,
    /// Deliveries were settled since the last answer that waited for that.
    has_unsynced: bool,
    /// Answers that wait for what was settled before them.
    syncs: u16,
}

impl Channel {
    pub(crate) fn new(number: u16, incarnation: u16) -> Self {
        Self {
            number,
            incarnation,
            phase: Phase::Open,
            assembly: Assembly::default(),
            last_queue: Bytes::new(),
            consumer_prefetch: 0,
            channel_prefetch: 0,
            consumers: BTreeMap::new(),
            tags: BTreeMap::new(),
            last_delivery_tag: 0,
            unacked: Unacked::default(),
            waiting: VecDeque::new(),
            confirms: None,
            held: None,
            has_unsynced: false,
            syncs: 0,
        }
    }

    pub(crate) const fn number(&self) -> u16 {
        self.number
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) const fn incarnation(&self) -> u16 {
        self.incarnation
    }

    /// Frames wait for the name of a queue.
    pub(crate) const fn is_held(&self) -> bool {
        self.held.is_some()
    }

    pub(crate) fn hold(&mut self, frame: &Frame<'_>) -> Result<(), Exception> {
        self.held.get_or_insert_default().push(frame)
    }

    /// Takes one frame of this channel, which is open.
    pub(crate) fn handle_frame(
        &mut self,
        outlet: &mut Outlet,
        now: Timestamp,
        frame: &Frame<'_>,
    ) -> Result<Next, Exception> {
        match frame.kind {
            FrameKind::Method if self.assembly.is_idle() => {
                let (method, arguments) = frame.method()?;
                let mut call = Call { method, reader: Reader::new(arguments, frame.batch) };
                self.handle_method(outlet, now, &mut call).map_err(|error| error.about(method))
            }
            FrameKind::Method | FrameKind::Header | FrameKind::Body => {
                self.handle_content(outlet, now, frame).map(|()| Next::Continue)
            }
            FrameKind::Heartbeat => Err(Exception::new(ReplyCode::UnexpectedFrame, "heartbeat on a channel")),
        }
    }

    fn handle_method(&mut self, outlet: &mut Outlet, now: Timestamp, call: &mut Call<'_>) -> Result<Next, Exception> {
        match call.method {
            basic::Publish::ID => self.begin_publish(call.read()?)?,
            basic::Ack::ID => self.ack(outlet, now, &call.read()?)?,
            basic::Nack::ID => self.nack(outlet, now, &call.read()?)?,
            basic::Reject::ID => self.reject(outlet, now, &call.read()?)?,
            basic::Get::ID => self.get(outlet, &call.read()?)?,
            basic::Qos::ID => self.set_prefetch(outlet, now, &call.read()?)?,
            basic::Consume::ID => self.consume(outlet, call.read()?)?,
            basic::Cancel::ID => self.cancel(outlet, &call.read()?)?,
            basic::RecoverAsync::ID => {
                let basic::RecoverAsync { requeue } = call.read()?;
                self.recover(outlet, now, requeue)?;
            }
            basic::Recover::ID => {
                let basic::Recover { requeue } = call.read()?;
                self.recover(outlet, now, requeue)?;
                self.reply(outlet, basic::RecoverOk::ID)?;
            }
            confirm::Select::ID => self.select_confirms(outlet, &call.read()?)?,
            exchange::Declare::ID => self.declare_exchange(outlet, call.read()?)?,
            exchange::Delete::ID => self.delete_exchange(outlet, call.read()?)?,
            queue::Declare::ID => self.declare_queue(outlet, call.read()?)?,
            queue::Bind::ID => self.bind_queue(outlet, call.read()?)?,
            queue::Unbind::ID => self.unbind_queue(outlet, call.read()?)?,
            queue::Purge::ID => self.purge_queue(outlet, call.read()?)?,
            queue::Delete::ID => self.delete_queue(outlet, call.read()?)?,
            channel::Flow::ID => self.flow(outlet, &call.read()?)?,
            channel::Close::ID => {
                drop(call.read::<channel::Close>()?);
                return Ok(Next::Close);
            }
            other => return Err(refuse_method(other)),
        }
        Ok(Next::Continue)
    }

    /// RabbitMQ takes "go on" and refuses "stop"; prefetch is the way to stop.
    fn flow(&mut self, outlet: &mut Outlet, flow: &channel::Flow) -> Result<(), Exception> {
        if !flow.active {
            return Err(Exception::new(ReplyCode::NotImplemented, "active=false"));
        }
        self.reply(outlet, channel::FlowOk::ID)
    }

    /// Answers a method that needs nothing of the broker. If deliveries were settled on this channel since the last
    /// answer, only when they are gone for good: that is what a client may take the answer for (SPEC section 8, P7).
    fn reply(&mut self, outlet: &mut Outlet, method: MethodId) -> Result<(), Exception> {
        if !self.has_unsynced && self.syncs == 0 {
            outlet.reply(self.number, method);
            return Ok(());
        }
        let ticket = self.call(outlet, method, Answer::Synced(method))?;
        self.has_unsynced = false;
        self.syncs += 1;
        outlet.request(Request::Sync { ticket });
        Ok(())
    }

    /// What was settled before an answer is gone for good: the answer goes out.
    pub(crate) fn synced(&mut self, outlet: &mut Outlet, method: MethodId) {
        self.syncs = self.syncs.saturating_sub(1);
        outlet.reply(self.number, method);
    }

    /// A ticket for a call of this channel.
    fn call(&self, outlet: &mut Outlet, method: MethodId, answer: Answer) -> Result<Ticket, Exception> {
        outlet.call(Pending { channel: self.number, incarnation: self.incarnation, method, answer })
    }
}

/// A method that is being handled.
struct Call<'a> {
    method: MethodId,
    reader: Reader<'a>,
}

impl Call<'_> {
    fn read<M: Method>(&mut self) -> Result<M, Exception> {
        Ok(M::read(&mut self.reader)?)
    }
}

/// Methods that a client may not send on an open channel.
fn refuse_method(method: MethodId) -> Exception {
    let known = match method.class {
        10 | 20 | 50 | 60 | 85 => true,
        40 => !matches!(method, exchange::Bind::ID | exchange::Unbind::ID),
        TX_CLASS => false,
        _ => return Exception::new(ReplyCode::NotImplemented, "unknown class"),
    };
    match method {
        channel::Open::ID => Exception::new(ReplyCode::CommandInvalid, "second 'channel.open' seen"),
        exchange::Bind::ID | exchange::Unbind::ID => {
            Exception::new(ReplyCode::NotImplemented, "exchange to exchange bindings")
        }
        _ if known => Exception::new(ReplyCode::CommandInvalid, "unimplemented method"),
        _ => Exception::new(ReplyCode::NotImplemented, "transactions"),
    }
}
