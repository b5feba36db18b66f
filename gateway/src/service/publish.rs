//! Publishing: route, store in groups, give to plain subscriptions, and tell the publisher what became of it.

use std::sync::Arc;

use braid_broker::{Answer, Task};
use braid_machine::Refused;
use braid_types::{Event, Message, Publish, PublishResult, Refusal, RefusalKind, Ticket};

use super::{Service, refused_publish};
use crate::limits::REQUEST_OVERHEAD_BYTES;
use crate::routes::{InPartition, Routes};

/// A publish that waits for several partitions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    ticket: Ticket,
    remaining: usize,
    result: PublishResult,
}

impl Service {
    pub(super) fn publish(&mut self, publish: Publish) {
        self.published += 1;
        match self.routes.find(&self.node, &self.vhost, &publish.message) {
            Ok(routes) => self.route(publish, &routes),
            Err(refusal) => self.no_exchange(publish, refusal),
        }
    }

    pub(super) fn confirmed(&mut self, ticket: Ticket, refused: Option<Refused>) {
        let result = refused.map_or(PublishResult::Accepted, refused_publish);
        self.events.push_back(Event::Published { ticket, result });
    }

    pub(super) fn confirmed_part(&mut self, join: u64, refused: Option<Refused>) {
        let Some(waiting) = self.joins.get_mut(&join) else { return };
        waiting.remaining -= 1;
        if let Some(refused) = refused {
            waiting.result = refused_publish(refused);
        }
        if waiting.remaining == 0 {
            let Join { ticket, result, .. } = *waiting;
            self.joins.remove(&join);
            self.events.push_back(Event::Published { ticket, result });
        }
    }

    fn route(&mut self, publish: Publish, routes: &Arc<Routes>) {
        let Publish { ticket, mandatory, channel, message } = publish;
        if message.retain && !self.node.retain(&self.vhost, routes, &message) {
            let refusal = Refusal::new(RefusalKind::LimitReached, "the node has no room for more retained messages");
            return self.refuse(Publish { ticket, mandatory, channel, message }, refusal);
        }
        if routes.is_empty() {
            self.unroutable(ticket, mandatory, channel, message);
            return;
        }
        if !routes.plain.is_empty() || !routes.queues.is_empty() {
            routes.deliver_directly(&message, &mut self.outbox, self.turn);
            self.turn = self.turn.wrapping_add(1);
        }
        self.store(ticket, &message, routes);
    }

    /// Stores `message` in all groups that it was routed to; the answer waits for every partition.
    fn store(&mut self, ticket: Option<Ticket>, message: &Arc<Message>, routes: &Routes) {
        let groups = routes.stored_in(message.publisher);
        self.store_in(ticket, message, routes, &groups);
    }

    fn store_in(&mut self, ticket: Option<Ticket>, message: &Arc<Message>, routes: &Routes, groups: &[InPartition]) {
        let answer = match (ticket, groups.len()) {
            (None, _) => None,
            (Some(ticket), 0) => {
                self.events.push_back(Event::Published { ticket, result: PublishResult::Accepted });
                return;
            }
            (Some(ticket), 1) => Some((ticket, None)),
            (Some(ticket), remaining) => {
                let join = self.next_join;
                self.next_join += 1;
                self.joins.insert(join, Join { ticket, remaining, result: PublishResult::Accepted });
                Some((ticket, Some(join)))
            }
        };
        for (partition, groups) in groups {
            let answer = match answer {
                None => Answer::Silent,
                Some((ticket, None)) => Answer::Confirm { ticket },
                Some((_, Some(join))) => Answer::ConfirmPart { join },
            };
            let task: Task = routes.enqueue(groups, message, answer);
            let batch = self.batch(*partition);
            batch.bytes += message.size_bytes() + REQUEST_OVERHEAD_BYTES;
            batch.tasks.push(task);
        }
    }

    fn unroutable(&mut self, ticket: Option<Ticket>, mandatory: bool, channel: u16, message: Arc<Message>) {
        self.node.broker.counters.messages_unroutable_total.add(1);
        if mandatory {
            self.events.push_back(Event::Returned { ticket, channel, message, refusal: None });
        }
        if let Some(ticket) = ticket {
            self.events.push_back(Event::Published { ticket, result: PublishResult::Unroutable });
        }
    }

    fn no_exchange(&mut self, publish: Publish, refusal: Refusal) {
        self.node.broker.counters.messages_refused_total.add(1);
        let Publish { ticket, channel, message, .. } = publish;
        self.events.push_back(Event::Returned { ticket, channel, message, refusal: Some(refusal) });
    }

    fn refuse(&mut self, publish: Publish, refusal: Refusal) {
        self.node.broker.counters.messages_refused_total.add(1);
        let Publish { ticket, channel, message, .. } = publish;
        self.events.push_back(match ticket {
            Some(ticket) => Event::Published { ticket, result: PublishResult::Refused(refusal.kind) },
            None => Event::Returned { ticket, channel, message, refusal: Some(refusal) },
        });
    }
}
