//! One handing-out of a message to a subscription of a connection.

use alloc::{boxed::Box, sync::Arc};

use crate::{Message, Properties, SubscriptionId};

/// Names an unsettled delivery within its connection, for [`crate::Request::Settle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryKey {
    /// The connection's attachment to a group; opaque to endpoints.
    pub attachment: u32,
    /// The delivery within that attachment; contiguous from 0.
    pub delivery: u64,
}

/// A message for the client.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The subscription that it is for.
    pub subscription: SubscriptionId,
    /// Further subscriptions of the same connection that matched (MQTT plain subscriptions: one copy, all identifiers).
    pub others: Option<Box<[SubscriptionId]>>,
    /// How to settle it; `None` when it was settled at hand-off.
    pub key: Option<DeliveryKey>,
    /// The message, in its origin's form.
    pub message: Arc<Message>,
    /// The neutral view of its properties; present exactly when the origin is another protocol than the endpoint's.
    pub properties: Option<Arc<Properties>>,
    /// It may have been seen by a member before.
    pub redelivered: bool,
    /// It is the retained message of its topic, sent because of a new subscription.
    pub retained: bool,
    /// Failed tries so far.
    pub delivery_count: u32,
}
