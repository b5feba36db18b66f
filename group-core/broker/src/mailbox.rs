//! A connection's mailbox: what partitions, publishers and operations have for it, in order, taken in batches.
//!
//! Invariants: one wake-up per batch, not per item; direct deliveries are bounded by bytes and count, all else is
//! bounded by windows, grants and outstanding requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use braid_machine::{Refused, Taken};
use braid_types::{
    CloseReason, ConnectionId, DeliveryId, Event, GroupId, MemberId, Message, PartitionId, Protocol, SubscriptionId,
    Ticket,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::limits::{
    MAILBOX_CROWDED_BYTES, MAILBOX_CROWDED_COUNT, MAILBOX_DIRECT_BYTES_MAX, MAILBOX_DIRECT_COUNT_MAX,
    PUBLISHER_PAUSE_MS,
};

/// What happens to a direct delivery for which the mailbox has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The client is disconnected as a slow consumer (NATS).
    Disconnect,
    /// The message is dropped and counted (MQTT).
    Drop,
}

/// Who the connection is, for listings.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    /// Its number.
    pub id: ConnectionId,
    /// Its protocol.
    pub protocol: Protocol,
    /// The peer's address.
    pub peer: String,
}

/// Something for a connection.
#[derive(Debug)]
pub enum Item {
    /// A message from a group.
    Deliver {
        /// Which attachment.
        attachment: u32,
        /// Which delivery of it.
        delivery: DeliveryId,
        /// Settled by its dispatch.
        settled: bool,
        /// It may have been seen before.
        redelivered: bool,
        /// Failed tries so far.
        delivery_count: u32,
        /// The message.
        message: Arc<Message>,
    },
    /// A message for plain subscriptions, or a retained one.
    Direct {
        /// The subscription.
        subscription: SubscriptionId,
        /// Others of the connection that matched too.
        others: Option<Arc<[SubscriptionId]>>,
        /// It is the retained message of its topic.
        retained: bool,
        /// The message.
        message: Arc<Message>,
    },
    /// A publish with a ticket is safe in its only partition, or was refused there.
    Confirmed {
        /// Of the publish.
        ticket: Ticket,
        /// Why it was refused, if it was.
        refused: Option<Refused>,
    },
    /// The same, for one of several partitions.
    ConfirmedPart {
        /// The connection's number for the publish.
        join: u64,
        /// Why it was refused, if it was.
        refused: Option<Refused>,
    },
    /// The answer to an attach.
    Attached {
        /// Which attachment.
        attachment: u32,
        /// The member, or why not.
        result: Result<MemberId, Refused>,
    },
    /// The answer to a get.
    Got {
        /// Of the request.
        ticket: Ticket,
        /// Which attachment.
        attachment: u32,
        /// The message, if there was one.
        taken: Result<Option<(Taken, Arc<Message>)>, Refused>,
    },
    /// An attachment has the window that it asked for: what was handed out by its former one came before.
    WindowSet {
        /// Which attachment.
        attachment: u32,
    },
    /// An attachment gets nothing more.
    Detached {
        /// Which attachment.
        attachment: u32,
    },
    /// A member is gone because its group was deleted.
    Cancelled {
        /// Which attachment.
        attachment: u32,
    },
    /// A filtered subscription was moved by a change of the catalog: this is its attachment from now on.
    Moved {
        /// The subscription.
        subscription: SubscriptionId,
        /// The new attachment; `None`: to plain interest.
        attachment: Option<(u32, PartitionId, GroupId)>,
    },
    /// An operation that ran beside the connection ended.
    Done(Box<Event>),
    /// What the connection settled before it asked is gone for good.
    Synced,
    /// Anything else for the endpoint.
    Event(Box<Event>),
}

/// What became of a batch of direct deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Dropped because the client does not read.
    pub dropped: usize,
    /// So much waits that the publisher should pause ([`Mailbox::pause_for`]).
    pub pauses: bool,
}

#[derive(Debug, Default)]
struct Queue {
    items: Vec<Item>,
    direct_bytes: usize,
    direct_count: usize,
    is_closed: bool,
    /// It was crowded when a publisher pushed; nobody has taken since.
    is_crowded: bool,
    /// A publisher has paused for it in vain; the next one does not.
    is_stuck: bool,
}

/// The mailbox. Many write, the connection's task reads.
#[derive(Debug)]
pub struct Mailbox {
    info: ConnectionInfo,
    overflow: Overflow,
    queue: Mutex<Queue>,
    notify: Notify,
    taken: Notify,
    /// Apart from the queue, so that a connection which cannot write, and takes nothing, still hears it.
    close: Mutex<Option<Event>>,
    close_requested: Notify,
    in_flight_bytes: AtomicUsize,
    is_waiting_for_room: AtomicBool,
    next_attachment: std::sync::atomic::AtomicU32,
}

impl Mailbox {
    /// An empty mailbox.
    #[must_use]
    pub fn new(info: ConnectionInfo) -> Self {
        let overflow = if info.protocol == Protocol::Nats { Overflow::Disconnect } else { Overflow::Drop };
        Self {
            info,
            overflow,
            queue: Mutex::default(),
            notify: Notify::new(),
            taken: Notify::new(),
            close: Mutex::new(None),
            close_requested: Notify::new(),
            in_flight_bytes: AtomicUsize::new(0),
            is_waiting_for_room: AtomicBool::new(false),
            next_attachment: std::sync::atomic::AtomicU32::new(1),
        }
    }

    /// Whose it is.
    #[must_use]
    pub fn info(&self) -> &ConnectionInfo {
        &self.info
    }

    /// The connection's number.
    #[must_use]
    pub fn connection(&self) -> ConnectionId {
        self.info.id
    }

    /// A number for a new attachment of this connection; 0 is left for a persistent session's own group.
    pub fn allocate_attachment(&self) -> u32 {
        self.next_attachment.fetch_add(1, Ordering::Relaxed)
    }

    /// Appends one item.
    pub fn push(&self, item: Item) {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return;
        }
        queue.items.push(item);
        drop(queue);
        self.notify.notify_one();
    }

    /// Appends a batch, emptying it, with one wake-up.
    pub fn push_batch(&self, batch: &mut Vec<Item>) {
        let mut queue = self.queue.lock();
        if queue.is_closed {
            batch.clear();
            return;
        }
        if queue.items.is_empty() {
            std::mem::swap(&mut queue.items, batch);
        } else {
            queue.items.append(batch);
        }
        drop(queue);
        self.notify.notify_one();
    }

    /// Appends a batch of direct deliveries of `bytes` in all, emptying it.
    pub fn push_direct(&self, batch: &mut Vec<Item>, bytes: usize) -> Pushed {
        let count = batch.len();
        let mut queue = self.queue.lock();
        if queue.is_closed {
            batch.clear();
            return Pushed::default();
        }
        let has_room = queue.direct_bytes.saturating_add(bytes) <= MAILBOX_DIRECT_BYTES_MAX
            && queue.direct_count.saturating_add(count) <= MAILBOX_DIRECT_COUNT_MAX;
        let dropped = if has_room {
            queue.direct_bytes += bytes;
            queue.direct_count += count;
            if queue.items.is_empty() {
                std::mem::swap(&mut queue.items, batch);
            } else {
                queue.items.append(batch);
            }
            0
        } else {
            batch.clear();
            if self.overflow == Overflow::Disconnect {
                queue.is_closed = true;
                let text = String::from("the client does not read what it subscribed to");
                self.request_close(Event::Close { reason: CloseReason::SlowConsumer, text });
            }
            count
        };
        let is_crowded = queue.direct_bytes >= MAILBOX_CROWDED_BYTES || queue.direct_count >= MAILBOX_CROWDED_COUNT;
        queue.is_crowded |= is_crowded;
        let pauses = is_crowded && !queue.is_stuck && !queue.is_closed;
        drop(queue);
        self.notify.notify_one();
        Pushed { dropped, pauses }
    }

    /// Waits until the connection has taken what waits, but not for long: at most [`PUBLISHER_PAUSE_MS`].
    pub async fn pause_for(&self) {
        let taken = self.taken.notified();
        if !self.queue.lock().is_crowded {
            return;
        }
        let limit = std::time::Duration::from_millis(PUBLISHER_PAUSE_MS);
        if tokio::time::timeout(limit, taken).await.is_err() {
            self.queue.lock().is_stuck = true;
        }
    }

    /// Has room for another direct delivery.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let queue = self.queue.lock();
        !queue.is_closed
            && queue.direct_bytes < MAILBOX_DIRECT_BYTES_MAX
            && queue.direct_count < MAILBOX_DIRECT_COUNT_MAX
    }

    /// Takes all items.
    #[must_use]
    pub fn take(&self) -> Vec<Item> {
        let mut queue = self.queue.lock();
        queue.direct_bytes = 0;
        queue.direct_count = 0;
        queue.is_stuck = false;
        let was_crowded = std::mem::take(&mut queue.is_crowded);
        let items = std::mem::take(&mut queue.items);
        drop(queue);
        if was_crowded {
            self.taken.notify_waiters();
        }
        items
    }

    /// Asks the connection to end with `event`; the first one asked for stands.
    pub fn request_close(&self, event: Event) {
        self.close.lock().get_or_insert(event);
        self.close_requested.notify_one();
    }

    /// Waits until the connection is asked to end.
    pub async fn close_requested(&self) {
        self.close_requested.notified().await;
    }

    /// How the connection is asked to end, once.
    pub fn take_close(&self) -> Option<Event> {
        self.close.lock().take()
    }

    /// Waits until something was pushed or room was made.
    pub async fn notified(&self) {
        self.notify.notified().await;
    }

    /// Nothing is taken any more; what waits is dropped.
    pub fn close(&self) {
        let mut queue = self.queue.lock();
        queue.is_closed = true;
        queue.items = Vec::new();
        drop(queue);
        self.taken.notify_waiters();
    }

    /// Counts bytes of publishes that are on their way to partitions; returns the new sum.
    pub fn add_in_flight(&self, bytes: usize) -> usize {
        self.in_flight_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// Bytes of publishes that are on their way to partitions.
    #[must_use]
    pub fn in_flight_bytes(&self) -> usize {
        self.in_flight_bytes.load(Ordering::SeqCst)
    }

    /// The connection waits for room: it wants to be woken when publishes arrive.
    pub fn wait_for_room(&self) {
        self.is_waiting_for_room.store(true, Ordering::SeqCst);
    }

    /// Publishes of `bytes` have arrived at their partition.
    pub fn release_in_flight(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.in_flight_bytes.fetch_sub(bytes, Ordering::SeqCst);
        if self.is_waiting_for_room.swap(false, Ordering::SeqCst) {
            self.notify.notify_one();
        }
    }
}
