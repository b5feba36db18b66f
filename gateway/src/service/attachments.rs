//! Attachments: the connection's members in groups. Deliveries come by them, settles go by them.

use std::sync::Arc;

use braid_broker::limits::{HAND_OFF_CREDIT_BYTES, HAND_OFF_CREDIT_MESSAGES};
use braid_broker::{Answer, OnLoss};
use braid_machine::{Command, Refused, Taken};
use braid_types::{
    Completion, Delivery, DeliveryId, DeliveryKey, Event, GroupId, MemberId, Message, Outcome, PartitionId, Settlement,
    SubscriptionId, Ticket, UnackedOnEnd,
};
use bytes::Bytes;
use smallvec::SmallVec;

use super::second_window::{HeldDelivery, Reason, SecondWindow};
use super::{Service, refusal_of};
use crate::conversion;
use crate::sessions::SessionGroup;
use crate::shares::credit;

/// The number of the attachment to a persistent session's own group.
pub(super) const SESSION_ATTACHMENT: u32 = 0;

/// One member in a group.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) partition: PartitionId,
    pub(super) group: GroupId,
    pub(super) member: Option<MemberId>,
    pub(super) subscription: SubscriptionId,
    /// The subscribe that waits for the answer.
    pub(super) ticket: Option<Ticket>,
    /// Deliveries that the client was sent and has not settled.
    pub(super) unacked: u32,
    pub(super) second_window: SecondWindow,
    /// The client asked for another window before the member was there.
    pub(super) is_window_due: bool,
    /// What a hand-off member took since its last grant.
    pub(super) taken_messages: u32,
    pub(super) taken_bytes: u64,
    /// Detach as soon as the member is known.
    pub(super) detach: Option<(UnackedOnEnd, Option<Ticket>)>,
    /// Nothing more comes; it stays for what is unacked.
    pub(super) is_ended: bool,
    /// A get whose message is settled by the get itself.
    pub(super) is_settled_get: bool,
}

impl Attachment {
    pub(super) fn new(partition: PartitionId, group: GroupId, subscription: SubscriptionId) -> Self {
        Self {
            partition,
            group,
            member: None,
            subscription,
            ticket: None,
            unacked: 0,
            second_window: SecondWindow::default(),
            is_window_due: false,
            taken_messages: 0,
            taken_bytes: 0,
            detach: None,
            is_ended: false,
            is_settled_get: false,
        }
    }

    pub(super) fn of_session(group: &SessionGroup) -> Self {
        Self { member: group.member, ..Self::new(group.partition, group.group, SubscriptionId::SESSION) }
    }
}

impl Service {
    /// Attaches the connection to a group; the answer comes with the member.
    pub(super) fn attach(
        &mut self,
        attachment: u32,
        state: Attachment,
        member: braid_machine::MemberConfig,
        label: Bytes,
    ) {
        let (partition, group) = (state.partition, state.group);
        self.attachments.insert(attachment, state);
        let command = Command::Attach { group, member: Box::new(member) };
        self.send(partition, command, Answer::Attach { attachment, label });
    }

    pub(super) fn attached(&mut self, attachment: u32, result: Result<MemberId, Refused>) {
        let Some(state) = self.attachments.get_mut(&attachment) else { return };
        let ticket = state.ticket.take();
        match result {
            Ok(member) => {
                state.member = Some(member);
                let is_window_due = std::mem::take(&mut state.is_window_due);
                let detach = state.detach.take();
                if let Some(ticket) = ticket {
                    self.complete(ticket, Ok(Completion::Done));
                }
                if is_window_due {
                    self.tell_window(attachment);
                }
                if let Some((unacked, ticket)) = detach {
                    self.detach(attachment, unacked, ticket);
                }
            }
            Err(refused) => {
                let detach = state.detach.take();
                let subscription = state.subscription;
                self.attachments.remove(&attachment);
                self.attach_was_refused(attachment, subscription, ticket.is_none());
                if let Some(ticket) = ticket {
                    self.complete(ticket, Err(refusal_of(refused)));
                }
                if let Some((_, Some(ticket))) = detach {
                    self.complete(ticket, Ok(Completion::Unsubscribed { existed: false }));
                }
            }
        }
    }

    /// The subscription whose attach was refused is over. A client that was told that it is there (a share) is told.
    fn attach_was_refused(&mut self, attachment: u32, subscription: SubscriptionId, was_told: bool) {
        if self.subscriptions.get(&subscription).and_then(super::Subscription::attachment) != Some(attachment) {
            return;
        }
        if let Some(super::Subscription::Shared { share, filter, .. }) = self.subscriptions.remove(&subscription) {
            self.leave_share(subscription, &share, filter);
        }
        if was_told {
            self.events.push_back(Event::Cancelled { subscription });
        }
    }

    /// Ends an attachment. The answer to `ticket` comes after its last delivery.
    pub(super) fn detach(&mut self, attachment: u32, unacked: UnackedOnEnd, ticket: Option<Ticket>) {
        let Some(state) = self.attachments.get_mut(&attachment) else {
            // Its group was deleted meanwhile.
            if let Some(ticket) = ticket {
                self.complete(ticket, Ok(Completion::Unsubscribed { existed: true }));
            }
            return;
        };
        let Some(member) = state.member else {
            state.detach = Some((unacked, ticket));
            return;
        };
        self.close_second_window(attachment, Reason::Slow);
        let Some(state) = self.attachments.get_mut(&attachment) else { return };
        if unacked != UnackedOnEnd::Keep {
            // They end with the member; the client settles nothing of it any more.
            state.unacked = 0;
        }
        state.ticket = ticket;
        let (partition, group) = (state.partition, state.group);
        self.send(partition, Command::Detach { group, member, unacked }, Answer::Detach { attachment });
    }

    pub(super) fn detached(&mut self, attachment: u32) {
        let Some(state) = self.attachments.get_mut(&attachment) else { return };
        state.is_ended = true;
        let ticket = state.ticket.take();
        if state.unacked == 0 {
            self.attachments.remove(&attachment);
        }
        if let Some(ticket) = ticket {
            self.complete(ticket, Ok(Completion::Unsubscribed { existed: true }));
        }
    }

    pub(super) fn cancelled(&mut self, attachment: u32) {
        if let Some(state) = self.attachments.remove(&attachment) {
            if let Some(super::Subscription::Shared { attachment: place, .. }) =
                self.subscriptions.get_mut(&state.subscription)
                && *place == Some(attachment)
            {
                *place = None;
            }
            // A filtered subscription finds its new place by `Item::Moved`; it is not cancelled.
            let is_by_name = self
                .subscriptions
                .get(&state.subscription)
                .is_some_and(|subscription| subscription.is_by_name() && subscription.attachment() == Some(attachment));
            if is_by_name {
                self.subscriptions.remove(&state.subscription);
                self.events.push_back(Event::Cancelled { subscription: state.subscription });
            }
        }
    }

    pub(super) fn deliver(
        &mut self,
        attachment: u32,
        delivery: DeliveryId,
        settled: bool,
        redelivered: bool,
        delivery_count: u32,
        message: Arc<Message>,
    ) {
        let Some(state) = self.attachments.get_mut(&attachment) else { return };
        if !settled {
            if self.is_ending {
                return self.unsent.push((attachment, delivery));
            }
            if state.second_window.must_give_back(state.unacked) {
                return self.give_back(attachment, delivery);
            }
            if state.second_window.must_hold(state.unacked) {
                return state.second_window.hold(HeldDelivery { delivery, redelivered, delivery_count, message });
            }
        }
        let key = if settled {
            let had = state.taken_messages;
            state.taken_messages += 1;
            state.taken_bytes += message.size_bytes() as u64;
            let is_hungry = |messages: u32, bytes: u64| {
                messages >= HAND_OFF_CREDIT_MESSAGES / 2 || bytes >= HAND_OFF_CREDIT_BYTES / 2
            };
            let was_hungry = is_hungry(had, state.taken_bytes - message.size_bytes() as u64);
            if is_hungry(state.taken_messages, state.taken_bytes) && !was_hungry {
                self.hungry.push(attachment);
            }
            None
        } else {
            state.unacked += 1;
            Some(DeliveryKey { attachment, delivery: delivery.0 })
        };
        let subscription = state.subscription;
        // What a persistent session was sent before, it has itself and sends again by itself; what its group sends again
        // was on its way to a connection that was lost, and never reached the client.
        let redelivered = redelivered && attachment != SESSION_ATTACHMENT;
        let properties = conversion::for_receiver(&message, self.protocol);
        self.events.push_back(Event::Deliver(Delivery {
            subscription,
            others: None,
            key,
            message,
            properties,
            redelivered,
            retained: false,
            delivery_count,
        }));
    }

    pub(super) fn deliver_direct(
        &mut self,
        subscription: SubscriptionId,
        others: Option<Arc<[SubscriptionId]>>,
        retained: bool,
        message: Arc<Message>,
    ) {
        let properties = conversion::for_receiver(&message, self.protocol);
        self.events.push_back(Event::Deliver(Delivery {
            subscription,
            others: others.map(|others| Box::from(&others[..])),
            key: None,
            message,
            properties,
            redelivered: false,
            retained,
            delivery_count: 0,
        }));
    }

    pub(super) fn settle(&mut self, key: DeliveryKey, outcome: Outcome) {
        if matches!(outcome, Outcome::Released | Outcome::Modified) {
            // It comes again before what never came.
            self.close_second_window(key.attachment, Reason::PutBack);
        }
        let Some(state) = self.attachments.get_mut(&key.attachment) else { return };
        let Some(member) = state.member else { return };
        let (partition, group) = (state.partition, state.group);
        state.unacked = state.unacked.saturating_sub(1);
        let next = state.second_window.next(state.unacked);
        let node = &self.node;
        let is_quick = state.second_window.settled(|| node.broker.clock.now());
        if state.is_ended && state.unacked == 0 {
            self.attachments.remove(&key.attachment);
        }
        self.send_settle(partition, group, member, DeliveryId(key.delivery), outcome);
        if is_quick {
            self.open_second_window(key.attachment);
        }
        if let Some(HeldDelivery { delivery, redelivered, delivery_count, message }) = next {
            self.deliver(key.attachment, delivery, false, redelivered, delivery_count, message);
        }
    }

    /// A delivery that the client is not sent goes back.
    pub(super) fn give_back(&mut self, attachment: u32, delivery: DeliveryId) {
        let Some(state) = self.attachments.get(&attachment) else { return };
        if let Some(member) = state.member {
            self.send_settle(state.partition, state.group, member, delivery, Outcome::Released);
        }
    }

    /// Sends a settle, together with those before it.
    fn send_settle(
        &mut self,
        partition: PartitionId,
        group: GroupId,
        member: MemberId,
        delivery: DeliveryId,
        outcome: Outcome,
    ) {
        let batch = self.batch(partition);
        if let Some(task) = batch.tasks.last_mut()
            && let Command::Settle { member: last, deliveries, outcome: last_outcome, .. } = &mut task.command
            && *last == member
            && *last_outcome == outcome
            && deliveries.len() < braid_machine::limits::DELIVERIES_PER_SETTLE_MAX
        {
            deliveries.push(delivery);
            return;
        }
        self.note_unsynced(partition);
        let deliveries = SmallVec::from_slice(&[delivery]);
        self.send(partition, Command::Settle { group, member, deliveries, outcome }, Answer::Silent);
    }

    pub(super) fn get(&mut self, ticket: Ticket, group: &[u8], settlement: Settlement, on_loss: Outcome) {
        let row = match self.caller().group(group) {
            Ok(row) => row,
            Err(refusal) => return self.complete(ticket, Err(refusal)),
        };
        let attachment = self.mailbox.allocate_attachment();
        let settled = settlement == Settlement::HandOff;
        let state = Attachment::new(row.partition, row.id, SubscriptionId(u64::MAX));
        self.attachments.insert(attachment, Attachment { is_settled_get: settled, ..state });
        let owner = self.owner(attachment);
        let command = Command::Get { group: row.id, owner, settled, on_loss };
        self.send(row.partition, command, Answer::Get { ticket, attachment });
    }

    pub(super) fn got(
        &mut self,
        ticket: Ticket,
        attachment: u32,
        taken: Result<Option<(Taken, Arc<Message>)>, Refused>,
    ) {
        let Ok(Some((taken, message))) = taken else {
            self.attachments.remove(&attachment);
            match taken {
                Err(refused) => self.complete(ticket, Err(refusal_of(refused))),
                Ok(_) => self.events.push_back(Event::Got { ticket, delivery: None, remaining: 0 }),
            }
            return;
        };
        let mut key = None;
        if self.attachments.get(&attachment).is_some_and(|state| state.is_settled_get) {
            self.attachments.remove(&attachment);
        } else if let Some(state) = self.attachments.get_mut(&attachment) {
            state.member = Some(taken.member);
            state.unacked = 1;
            state.is_ended = true;
            key = Some(DeliveryKey { attachment, delivery: taken.delivery.0 });
        }
        let properties = conversion::for_receiver(&message, self.protocol);
        let delivery = Delivery {
            subscription: SubscriptionId(u64::MAX),
            others: None,
            key,
            message,
            properties,
            redelivered: taken.redelivered,
            retained: false,
            delivery_count: taken.delivery_count,
        };
        self.events.push_back(Event::Got { ticket, delivery: Some(Box::new(delivery)), remaining: taken.remaining });
    }

    /// The socket has taken what was delivered: members that settle at hand-off may be sent more.
    pub(crate) fn grant(&mut self) {
        for attachment in std::mem::take(&mut self.hungry) {
            let Some(state) = self.attachments.get_mut(&attachment) else { continue };
            let (messages, bytes) = (state.taken_messages, state.taken_bytes);
            state.taken_messages = 0;
            state.taken_bytes = 0;
            let (partition, group) = (state.partition, state.group);
            if let Some(member) = state.member {
                self.send(partition, Command::Grant { group, member, messages, bytes }, Answer::Silent);
            }
        }
    }

    pub(super) fn set_window(&mut self, subscription: SubscriptionId, messages: u32) {
        if let Some(attachment) = self.subscriptions.get(&subscription).and_then(super::Subscription::attachment) {
            self.change_window(attachment, messages);
        }
    }

    pub(super) fn member_config(
        &self,
        attachment: u32,
        settlement: Settlement,
        priority: i32,
        exclusive: bool,
        on_loss: OnLoss,
    ) -> braid_machine::MemberConfig {
        let (owner, credit) = (self.owner(attachment), credit(settlement));
        braid_machine::MemberConfig { owner, credit, priority, exclusive, filter: None, on_loss }
    }

    fn owner(&self, attachment: u32) -> braid_machine::Owner {
        let (node, connection) = (self.node.broker.node(), self.mailbox.connection());
        braid_machine::Owner { node, connection, attachment }
    }
}
