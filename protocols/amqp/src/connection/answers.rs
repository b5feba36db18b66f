//! What the broker says, on its way to the connection or a channel. Answers to channels that are gone are dropped;
//! deliveries to them go back.

use braid_types::{Completion, Delivery, Event, Outcome, PublishResult, Refusal, Ticket, Timestamp};
use bytes::Bytes;

use super::{
    Connection,
    outlet::{Answer, Pending, publish_of_ticket},
};
use crate::{
    Exception,
    channel::{Channel, Phase as ChannelPhase},
    method::{Method, queue},
};

impl Connection {
    pub(super) fn take_event(&mut self, now: Timestamp, event: Event) {
        match event {
            Event::Deliver(delivery) => self.deliver(now, delivery),
            Event::Published { ticket, result } => self.published(ticket, result),
            Event::Completed { ticket, result } => self.completed(now, ticket, result),
            Event::Got { ticket, delivery, remaining } => self.got(now, ticket, delivery.as_deref(), remaining),
            Event::Returned { channel, message, refusal, .. } => {
                let open = |one: &&mut Channel| one.incarnation() == channel && one.phase() == ChannelPhase::Open;
                let Some(channel) = self.channels.values_mut().find(open) else { return };
                if let Err(exception) = channel.returned(&mut self.outlet, &message, refusal) {
                    let number = channel.number();
                    self.raise(now, number, &exception);
                }
            }
            Event::Cancelled { subscription } => {
                let number = self.outlet.subscriptions.get(&subscription);
                if let Some(channel) = number.and_then(|number| self.channels.get_mut(number)) {
                    channel.consumer_ended(&mut self.outlet, subscription);
                }
            }
            Event::Authenticated { ticket, result } => {
                if self.outlet.take_pending(ticket).is_some() {
                    self.authenticated(now, result);
                }
            }
            Event::Blocked { blocked, reason } => self.set_blocked(blocked.then_some(reason)),
            Event::Close { reason, text } => self.close_from_inside(now, reason, &text),
            Event::ConnectionLost => self.finish(),
            // MQTT's.
            Event::SessionOpened { .. } => {}
        }
    }

    fn deliver(&mut self, now: Timestamp, delivery: Delivery) {
        let number = self.outlet.subscriptions.get(&delivery.subscription);
        match number.and_then(|number| self.channels.get_mut(number)) {
            Some(channel) => channel.deliver(&mut self.outlet, now, delivery),
            None => self.outlet.settle(delivery.key, Outcome::Released),
        }
    }

    fn published(&mut self, ticket: Ticket, result: PublishResult) {
        let Some((number, incarnation, low_bits)) = publish_of_ticket(ticket) else { return };
        if let Some(channel) = self.channels.get_mut(&number)
            && channel.incarnation() & 0x7fff == incarnation
        {
            channel.published(&mut self.outlet, low_bits, result);
        }
    }

    fn got(&mut self, now: Timestamp, ticket: Ticket, delivery: Option<&Delivery>, remaining: u64) {
        let Some(pending) = self.outlet.take_pending(ticket) else { return };
        let channel = open_channel(&mut self.channels, &pending);
        match (channel, &pending.answer) {
            (Some(channel), Answer::Got { no_ack }) => {
                channel.got(&mut self.outlet, now, *no_ack, delivery, remaining);
            }
            _ => {
                if let Some(delivery) = delivery {
                    self.outlet.settle(delivery.key, Outcome::Released);
                }
            }
        }
    }

    fn completed(&mut self, now: Timestamp, ticket: Ticket, result: Result<Completion, Refusal>) {
        let Some(pending) = self.outlet.take_pending(ticket) else { return };
        match pending.answer {
            Answer::VhostOpened => self.vhost_opened(now, result.err()),
            Answer::ConnectionClosed => self.consumer_gone(),
            Answer::ChannelClosed => {
                if self.channels.get(&pending.channel).is_some_and(|one| one.incarnation() == pending.incarnation) {
                    self.answer_channel_close(pending.channel);
                }
            }
            Answer::Silent
            | Answer::Reply(_)
            | Answer::Synced(_)
            | Answer::Declared { .. }
            | Answer::Removed(_)
            | Answer::Consuming { .. }
            | Answer::Cancelled { .. }
            | Answer::Got { .. }
            | Answer::Authenticated => self.completed_on_channel(now, pending, result),
        }
    }

    fn completed_on_channel(&mut self, now: Timestamp, pending: Pending, result: Result<Completion, Refusal>) {
        let Some(channel) = open_channel(&mut self.channels, &pending) else { return };
        let outlet = &mut self.outlet;
        let number = pending.channel;
        match (pending.answer, result) {
            // A consumer that cannot be ended is gone already.
            (Answer::Cancelled { subscription, tag }, _) => channel.cancelled(outlet, subscription, tag),
            (Answer::Synced(method), Ok(_)) => channel.synced(outlet, method),
            (answer, Err(refusal)) => {
                if let Answer::Consuming { subscription, .. } = answer {
                    channel.forget_consumer(outlet, subscription);
                }
                self.raise(now, number, &Exception::from(refusal).about(pending.method));
            }
            (Answer::Reply(method), Ok(_)) => outlet.send_empty(number, method),
            (Answer::Consuming { tag, no_wait, .. }, Ok(_)) => channel.consuming(outlet, tag, no_wait),
            (Answer::Removed(method), Ok(completion)) => {
                let message_count = match completion {
                    Completion::Removed { message_count } => message_count_u32(message_count),
                    Completion::Done | Completion::Declared { .. } | Completion::Unsubscribed { .. } => 0,
                };
                if method == queue::PurgeOk::ID {
                    outlet.send(number, &queue::PurgeOk { message_count });
                } else {
                    outlet.send(number, &queue::DeleteOk { message_count });
                }
            }
            (Answer::Declared { no_wait, is_server_named }, Ok(completion)) => {
                let declared = declare_ok(completion);
                channel.declared(outlet, &declared, no_wait);
                if is_server_named {
                    self.name_queue(now, number, declared.queue);
                }
            }
            (
                Answer::Silent
                | Answer::Got { .. }
                | Answer::Authenticated
                | Answer::VhostOpened
                | Answer::ChannelClosed
                | Answer::ConnectionClosed,
                Ok(_),
            ) => {}
        }
    }

    /// A queue has its name: what waited for it goes on.
    fn name_queue(&mut self, now: Timestamp, number: u16, name: Bytes) {
        let held = self.channels.get_mut(&number).and_then(|channel| channel.name_last_queue(name));
        let Some(mut held) = held else { return };
        while let Some(frame) = held.pop() {
            self.take_frame(now, &frame.frame());
        }
    }
}

/// The channel that a call came from, if it is still the same and open.
fn open_channel<'a>(
    channels: &'a mut alloc::collections::BTreeMap<u16, Channel>,
    pending: &Pending,
) -> Option<&'a mut Channel> {
    channels
        .get_mut(&pending.channel)
        .filter(|channel| channel.incarnation() == pending.incarnation && channel.phase() == ChannelPhase::Open)
}

fn declare_ok(completion: Completion) -> queue::DeclareOk {
    match completion {
        Completion::Declared { name, message_count, consumer_count } => {
            queue::DeclareOk { queue: name, message_count: message_count_u32(message_count), consumer_count }
        }
        Completion::Done | Completion::Removed { .. } | Completion::Unsubscribed { .. } => queue::DeclareOk::default(),
    }
}

fn message_count_u32(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
