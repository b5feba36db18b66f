//! Publishing: route, store in groups, give to plain subscriptions, and tell the publisher what became of it.

use std::sync::Arc;

use braid_broker::{Answer, Task};
use braid_machine::{PublishIdentity, Refused};
use braid_types::{
    Event, Message, PartitionId, Publish, PublishResult, PublisherIdentity, Refusal, RefusalKind, Ticket,
};
use bytes::Bytes;

use super::{Service, refused_publish};
use crate::conversion;
use crate::limits::REQUEST_OVERHEAD_BYTES;
use crate::node::show;
use crate::routes::Routes;

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
        let routes = match self.routes.find(&self.node, &self.vhost, &publish.message) {
            Ok(routes) => routes,
            Err(refusal) => return self.no_exchange(publish, refusal),
        };
        match conversion::publish_identity(&publish.message) {
            Ok(None) => self.route(publish, &routes, None),
            Ok(Some(identity)) => {
                let identity = self.scoped(identity);
                self.route(publish, &routes, Some(&identity));
            }
            Err(error) => {
                // Not every protocol has words for it.
                tracing::info!(%error, user = %show(&self.user), "a publish was refused");
                self.refuse(publish, Refusal::new(RefusalKind::PreconditionFailed, error.to_string()));
            }
        }
    }

    /// Exactly-once identities are a user's own (SPEC section 3); the vhost is that of the group.
    fn scoped(&self, identity: PublisherIdentity) -> PublishIdentity {
        let scoped = |name: Bytes| Bytes::from([&self.user[..], b"\0", &name[..]].concat());
        match identity {
            PublisherIdentity::Sequence { publisher, sequence } => {
                PublishIdentity::Sequence { publisher: scoped(publisher), sequence }
            }
            PublisherIdentity::Token(token) => PublishIdentity::Token { token: scoped(token) },
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

    fn route(&mut self, publish: Publish, routes: &Arc<Routes>, identity: Option<&PublishIdentity>) {
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
        self.store(ticket, message, routes, identity);
    }

    /// Stores `message` in all groups that it was routed to; the answer waits for every partition.
    fn store(
        &mut self,
        ticket: Option<Ticket>,
        message: Arc<Message>,
        routes: &Routes,
        identity: Option<&PublishIdentity>,
    ) {
        let groups = routes.stored_in(message.publisher);
        // The ticket, and the number of the join if several partitions answer.
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
        let Some(((last, last_groups), others)) = groups.split_last() else { return };
        for (partition, groups) in others {
            self.store_in(*partition, routes.enqueue(groups, Arc::clone(&message), identity, answer_of(answer)));
        }
        self.store_in(*last, routes.enqueue(last_groups, message, identity, answer_of(answer)));
    }

    fn store_in(&mut self, partition: PartitionId, task: Task) {
        let size_bytes = task.message.as_ref().map_or(0, |message| message.size_bytes());
        let batch = self.batch(partition);
        batch.bytes += size_bytes + REQUEST_OVERHEAD_BYTES;
        batch.tasks.push(task);
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

fn answer_of(answer: Option<(Ticket, Option<u64>)>) -> Answer {
    match answer {
        None => Answer::Silent,
        Some((ticket, None)) => Answer::Confirm { ticket },
        Some((_, Some(join))) => Answer::ConfirmPart { join },
    }
}
