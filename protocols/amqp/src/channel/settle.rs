//! Settling: ack, nack, reject and recover. Outcomes are those of SPEC section 3: nack with requeue is Released, reject
//! with requeue is Modified (it counts as a failed try), without requeue both are Rejected; recover is Released.

use alloc::format;

use braid_types::{Outcome, Request, Timestamp};

use super::Channel;
use crate::{
    Exception, ReplyCode,
    connection::Outlet,
    method::{Method, basic},
};

impl Channel {
    pub(super) fn ack(&mut self, outlet: &mut Outlet, now: Timestamp, ack: &basic::Ack) -> Result<(), Exception> {
        self.settle(outlet, now, ack.delivery_tag, ack.multiple, Outcome::Accepted)
    }

    pub(super) fn nack(&mut self, outlet: &mut Outlet, now: Timestamp, nack: &basic::Nack) -> Result<(), Exception> {
        let outcome = if nack.requeue { Outcome::Released } else { Outcome::Rejected };
        self.settle(outlet, now, nack.delivery_tag, nack.multiple, outcome)
    }

    pub(super) fn reject(
        &mut self,
        outlet: &mut Outlet,
        now: Timestamp,
        reject: &basic::Reject,
    ) -> Result<(), Exception> {
        let outcome = if reject.requeue { Outcome::Modified } else { Outcome::Rejected };
        self.settle(outlet, now, reject.delivery_tag, false, outcome)
    }

    pub(super) fn recover(&mut self, outlet: &mut Outlet, now: Timestamp, requeue: bool) -> Result<(), Exception> {
        if !requeue {
            return Err(Exception::new(ReplyCode::NotImplemented, "requeue=false"));
        }
        self.settle(outlet, now, 0, true, Outcome::Released)
    }

    /// Tag 0 with `multiple` means all that is open, nothing included (1.8.3.13).
    fn settle(
        &mut self,
        outlet: &mut Outlet,
        now: Timestamp,
        tag: u64,
        multiple: bool,
        outcome: Outcome,
    ) -> Result<(), Exception> {
        let found = match (multiple, tag) {
            (false, _) => self.unacked.take(tag).map(|entry| outlet.settle(entry.key, outcome)).is_some(),
            (true, 0) => {
                self.unacked.take_all(|entry| outlet.settle(entry.key, outcome));
                true
            }
            (true, _) => self.unacked.take_through(tag, |entry| outlet.settle(entry.key, outcome)),
        };
        if !found {
            return Err(Exception::new(ReplyCode::PreconditionFailed, format!("unknown delivery tag {tag}")));
        }
        self.has_unsynced = true;
        self.send_waiting(outlet, now);
        Ok(())
    }

    /// `basic.qos`. For the channel as a whole it holds at once, for consumers that are there as well; otherwise for
    /// consumers made from now on, as in RabbitMQ.
    pub(super) fn set_prefetch(
        &mut self,
        outlet: &mut Outlet,
        now: Timestamp,
        qos: &basic::Qos,
    ) -> Result<(), Exception> {
        if qos.prefetch_size != 0 {
            let text = format!("prefetch_size!=0 ({})", qos.prefetch_size);
            return Err(Exception::new(ReplyCode::NotImplemented, text));
        }
        if !qos.global {
            self.consumer_prefetch = qos.prefetch_count;
        } else if qos.prefetch_count != self.channel_prefetch {
            let before = core::mem::replace(&mut self.channel_prefetch, qos.prefetch_count);
            for (subscription, consumer) in &self.consumers {
                let messages = consumer.window(self.channel_prefetch);
                if consumer.is_limited() && messages != consumer.window(before) {
                    outlet.request(Request::SetWindow { subscription: *subscription, messages });
                }
            }
            self.send_waiting(outlet, now);
        }
        self.reply(outlet, basic::QosOk::ID)
    }
}
