//! Consumers: making them, ending them, and hearing that the broker ended them.

use alloc::{boxed::Box, format, string::String};

use braid_types::{
    HeaderValue, Headers, Outcome, Request, RetainedDelivery, Settlement, Source, Subscribe, SubscriptionId,
    UnackedOnEnd,
};
use bytes::Bytes;

use super::Channel;
use crate::{
    Exception, ReplyCode,
    connection::{Answer, Outlet},
    limits::{CONSUMERS_PER_CHANNEL_MAX, UNLIMITED_PREFETCH_MESSAGES},
    method::{Method, basic},
};

/// A consumer of a channel.
#[derive(Debug)]
pub(crate) struct Consumer {
    pub(super) tag: Bytes,
    pub(super) no_ack: bool,
    prefetch: u16,
    /// The client cancelled it; what is unacked stays with the channel.
    pub(super) is_cancelling: bool,
}

impl Consumer {
    /// Whether its window is anything to the broker.
    pub(super) const fn is_limited(&self) -> bool {
        !self.no_ack && !self.is_cancelling
    }

    /// The window to ask for: no more than the channel may have open, so that what waits here is bounded.
    pub(super) fn window(&self, channel_prefetch: u16) -> u32 {
        match (self.prefetch, channel_prefetch) {
            (0, 0) => UNLIMITED_PREFETCH_MESSAGES,
            (0, limit) | (limit, 0) => limit.into(),
            (own, all) => own.min(all).into(),
        }
    }
}

impl Channel {
    pub(super) fn consume(&mut self, outlet: &mut Outlet, consume: basic::Consume) -> Result<(), Exception> {
        if self.tags.contains_key(&consume.consumer_tag) {
            let tag = String::from_utf8_lossy(&consume.consumer_tag);
            return Err(Exception::new(ReplyCode::NotAllowed, format!("attempt to reuse consumer tag '{tag}'")));
        }
        if self.consumers.len() >= CONSUMERS_PER_CHANNEL_MAX {
            let text = format!("reached maximum ({CONSUMERS_PER_CHANNEL_MAX}) of consumers per channel");
            return Err(Exception::new(ReplyCode::NotAllowed, text));
        }
        let name = self.queue_or_last(consume.queue)?;
        let priority = consumer_priority(&consume.arguments)?;
        let subscription = outlet.next_subscription(self.number);
        let tag = if consume.consumer_tag.is_empty() { outlet.next_consumer_tag() } else { consume.consumer_tag };
        let answer = Answer::Consuming { subscription, tag: tag.clone(), no_wait: consume.no_wait };
        let ticket = self.call(outlet, basic::Consume::ID, answer)?;
        let (no_ack, prefetch) = (consume.no_ack, self.consumer_prefetch);
        let consumer = Consumer { tag: tag.clone(), no_ack, prefetch, is_cancelling: false };
        let settlement = if no_ack {
            Settlement::HandOff
        } else {
            Settlement::Acknowledged { messages: consumer.window(self.channel_prefetch) }
        };
        self.tags.insert(tag.clone(), subscription);
        self.consumers.insert(subscription, consumer);
        outlet.request(Request::Subscribe(Box::new(Subscribe {
            ticket,
            subscription,
            source: Source::Group { name },
            settlement,
            qos: 1,
            exclusive: consume.exclusive,
            priority,
            no_local: consume.no_local,
            retained: RetainedDelivery::Skip,
            on_loss: Outcome::Modified,
            label: tag,
        })));
        Ok(())
    }

    /// The broker's good answer to a subscribe. The client hears of it even if it has cancelled the consumer meanwhile.
    pub(crate) fn consuming(&self, outlet: &mut Outlet, tag: Bytes, no_wait: bool) {
        if !no_wait {
            outlet.send(self.number, &basic::ConsumeOk { consumer_tag: tag });
        }
    }

    pub(super) fn cancel(&mut self, outlet: &mut Outlet, cancel: &basic::Cancel) -> Result<(), Exception> {
        let Some(subscription) = self.tags.remove(&cancel.consumer_tag) else {
            // Known to nobody, or ended by the broker a moment ago: not an error (1.8.3.5).
            if !cancel.no_wait {
                outlet.send(self.number, &basic::CancelOk { consumer_tag: cancel.consumer_tag.clone() });
            }
            return Ok(());
        };
        self.release_waiting_of(outlet, subscription);
        let ticket = if cancel.no_wait {
            self.forget_consumer(outlet, subscription);
            None
        } else {
            if let Some(consumer) = self.consumers.get_mut(&subscription) {
                consumer.is_cancelling = true;
            }
            let answer = Answer::Cancelled { subscription, tag: cancel.consumer_tag.clone() };
            Some(self.call(outlet, basic::Cancel::ID, answer)?)
        };
        outlet.request(Request::Unsubscribe { ticket, subscription, unacked: UnackedOnEnd::Keep });
        Ok(())
    }

    /// The broker has ended a consumer that the client cancelled.
    pub(crate) fn cancelled(&mut self, outlet: &mut Outlet, subscription: SubscriptionId, tag: Bytes) {
        self.forget_consumer(outlet, subscription);
        outlet.send(self.number, &basic::CancelOk { consumer_tag: tag });
    }

    /// The broker has ended a consumer by itself: its queue was deleted. Clients that can hear of it do.
    pub(crate) fn consumer_ended(&mut self, outlet: &mut Outlet, subscription: SubscriptionId) {
        self.release_waiting_of(outlet, subscription);
        let Some(consumer) = self.consumers.get(&subscription) else { return };
        if consumer.is_cancelling {
            return;
        }
        if outlet.peer.cancel_notify {
            outlet.send(self.number, &basic::Cancel { consumer_tag: consumer.tag.clone(), no_wait: true });
        }
        self.forget_consumer(outlet, subscription);
    }

    /// Takes a consumer out of all tables.
    pub(crate) fn forget_consumer(&mut self, outlet: &mut Outlet, subscription: SubscriptionId) {
        outlet.subscriptions.remove(&subscription);
        if let Some(consumer) = self.consumers.remove(&subscription)
            && self.tags.get(&consumer.tag) == Some(&subscription)
        {
            self.tags.remove(&consumer.tag);
        }
    }

    fn release_waiting_of(&mut self, outlet: &mut Outlet, subscription: SubscriptionId) {
        self.waiting.retain(|delivery| {
            let stays = delivery.subscription != subscription;
            if !stays {
                outlet.settle(delivery.key, Outcome::Released);
            }
            stays
        });
    }
}

/// The `x-priority` argument; 0 without.
fn consumer_priority(arguments: &Headers) -> Result<i32, Exception> {
    match arguments.iter().find(|(name, _)| name.as_ref() == b"x-priority") {
        None => Ok(0),
        Some((_, HeaderValue::Integer(priority))) => {
            Ok(i32::try_from(*priority).unwrap_or(if *priority < 0 { i32::MIN } else { i32::MAX }))
        }
        Some(_) => {
            Err(Exception::new(ReplyCode::PreconditionFailed, "invalid arg 'x-priority': an integer is expected"))
        }
    }
}
