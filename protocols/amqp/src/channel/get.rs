//! `basic.get`: one message at a time.

use braid_types::{Delivery, Outcome, Request, Settlement, Timestamp};
use bytes::Bytes;

use super::{Channel, unacked::Entry};
use crate::{
    Exception,
    connection::{Answer, Outlet},
    content::{Envelope, Outgoing},
    method::{Method, basic},
};

impl Channel {
    pub(super) fn get(&mut self, outlet: &mut Outlet, get: &basic::Get) -> Result<(), Exception> {
        let group = self.queue_or_last(get.queue.clone())?;
        let ticket = self.call(outlet, basic::Get::ID, Answer::Got { no_ack: get.no_ack })?;
        let settlement = if get.no_ack { Settlement::HandOff } else { Settlement::Acknowledged { messages: 1 } };
        outlet.request(Request::Get { ticket, group, settlement, on_loss: Outcome::Modified });
        Ok(())
    }

    /// The broker's answer to a get. A message that has no AMQP form is rejected, and the client sees an empty queue.
    pub(crate) fn got(
        &mut self,
        outlet: &mut Outlet,
        now: Timestamp,
        no_ack: bool,
        delivery: Option<&Delivery>,
        remaining: u64,
    ) {
        let Some(delivery) = delivery else {
            outlet.send(self.number, &basic::GetEmpty { reserved_1: Bytes::new() });
            return;
        };
        let Ok(outgoing) = Outgoing::of_delivery(delivery, now, &mut outlet.scratch) else {
            outlet.conversion_failures += 1;
            outlet.settle(delivery.key, Outcome::Rejected);
            outlet.send(self.number, &basic::GetEmpty { reserved_1: Bytes::new() });
            return;
        };
        self.last_delivery_tag += 1;
        let message_count = u32::try_from(remaining).unwrap_or(u32::MAX);
        let envelope = Envelope::GetOk { delivery_tag: self.last_delivery_tag, message_count };
        outgoing.write(&envelope, self.number, outlet.frame_bytes_max, &mut outlet.transmit);
        if no_ack {
            outlet.settle(delivery.key, Outcome::Accepted);
        } else {
            self.unacked.push(self.last_delivery_tag, Entry { key: delivery.key, subscription: None });
        }
    }
}
