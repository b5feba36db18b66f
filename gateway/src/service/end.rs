//! The end of a connection: what waits is still carried out, then everything that it held is given back.

use std::sync::Arc;
use std::time::Duration;

use braid_broker::{InterestKey, Item};
use braid_types::{Delivery, DeliveryId, Event, Protocol};

use super::{Service, Subscription};
use crate::limits::LAST_OPERATION_TIMEOUT_MS;
use crate::operations;
use crate::sessions::session_delivery;

impl Service {
    /// Ends the service. Publishes that were read before the connection was lost are still stored.
    /// `items` were taken from the mailbox and not looked at yet.
    pub(crate) async fn end(mut self, items: impl Iterator<Item = Item>) {
        self.stop_delivering();
        for item in items.chain(self.mailbox.take()) {
            self.item(item);
        }
        let deadline = Duration::from_millis(LAST_OPERATION_TIMEOUT_MS);
        if tokio::time::timeout(deadline, self.finish_waiting()).await.is_err() {
            tracing::warn!(connection = self.mailbox.connection().0, "a lost connection's last requests did not end");
        }
        self.flush();
        self.mailbox.close();
        self.give_back_subscriptions();
        let (state, expiry_s) = self.session_end.take().unwrap_or((None, 0));
        // What a session really holds; the rest of what was handed out for it never reached its client.
        let kept: Vec<DeliveryId> =
            state.iter().flat_map(|state| state.in_flight.iter()).filter_map(session_delivery).collect();
        // To all partitions: a move of a share may have attached the connection anywhere, without its knowing.
        for partition in self.node.broker.partitions() {
            partition.connection_closed(self.mailbox.connection(), kept.clone(), self.unsent.clone());
        }
        match (&self.session, &self.session_name) {
            (Some(link), _) => self.node.sessions.end(&self.node, link, &self.mailbox, state, expiry_s),
            (None, Some(name)) => self.node.sessions.abandon(&self.node, name, &self.mailbox),
            (None, None) => {}
        }
        self.delete_exclusive_groups().await;
    }

    /// From now on the client is sent nothing; what it was not sent will go back, not counted as tried.
    pub(crate) fn stop_delivering(&mut self) {
        if std::mem::replace(&mut self.is_ending, true) {
            return;
        }
        for event in std::mem::take(&mut self.events) {
            if let Event::Deliver(Delivery { key: Some(key), .. }) = event {
                self.unsent.push((key.attachment, DeliveryId(key.delivery)));
            }
        }
        for (attachment, state) in &mut self.attachments {
            self.unsent.extend(state.second_window.take_held().map(|delivery| (*attachment, delivery)));
        }
    }

    /// Deletes the groups that belong to this connection alone.
    pub(crate) async fn delete_exclusive_groups(&mut self) {
        let groups = std::mem::take(&mut *self.exclusive_groups.lock());
        for group in groups {
            if let Err(refusal) = self.node.delete_group(group, false, false).await {
                tracing::warn!(%refusal, ?group, "an exclusive group could not be deleted");
            }
        }
    }

    /// Waits for the running operation and room for parked publishes, and carries out what waits.
    async fn finish_waiting(&mut self) {
        let mut memory = self.node.broker.memory.watch();
        self.resume();
        self.flush();
        while self.is_waiting() {
            self.mailbox.wait_for_room();
            self.resume();
            self.flush();
            if !self.is_waiting() {
                break;
            }
            tokio::select! {
                biased;
                () = self.mailbox.notified() => {}
                _ = memory.changed() => {}
            }
            for item in self.mailbox.take() {
                self.item(item);
            }
            self.events.clear();
            self.resume();
            self.flush();
        }
    }

    fn give_back_subscriptions(&mut self) {
        let connection = self.mailbox.connection();
        for (id, subscription) in self.subscriptions.drain() {
            match subscription {
                Subscription::Plain { filter } => {
                    let key = InterestKey::Connection(connection, id);
                    self.node.broker.interest.remove(&self.vhost, &filter, key);
                }
                Subscription::Shared { share, filter, .. } => {
                    let key = (Arc::clone(&self.mailbox), id);
                    self.node.shares.leave(&self.node, &self.vhost, &share, key);
                    // A session that stays holds its shared groups; one that ends lets go of them by itself.
                    let is_held_by_session =
                        self.session.as_ref().is_some_and(|session| self.node.sessions.holds(&session.name, id));
                    if self.protocol == Protocol::Mqtt && !is_held_by_session {
                        let (node, vhost) = (Arc::clone(&self.node), self.vhost.clone());
                        tokio::spawn(async move { operations::release_shared(&node, vhost, share, filter).await });
                    }
                }
                Subscription::ByName { .. } | Subscription::OfSession => {}
            }
        }
    }
}
