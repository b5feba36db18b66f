//! What an endpoint asks of the broker on its client's behalf. Requests of one connection are carried out in order,
//! except that settles and unsubscribes are never held up behind a publish that waits for room.

use alloc::{boxed::Box, sync::Arc};

use bytes::Bytes;

use crate::{
    BindGroup, Credentials, DeclareExchange, DeclareGroup, DeliveryKey, Message, Outcome, SessionState, Settlement,
    Subscribe, SubscriptionId, Ticket, UnackedOnEnd, Will,
};

/// A client wants to be let in.
#[derive(Clone, Debug)]
pub struct Authenticate {
    /// For the answer.
    pub ticket: Ticket,
    /// What it offered.
    pub credentials: Credentials,
    /// What the client calls itself, for logs and listings.
    pub client_name: Bytes,
}

/// An MQTT client opens its session.
#[derive(Clone, Debug)]
pub struct OpenSession {
    /// For the answer.
    pub ticket: Ticket,
    /// The client id; never empty.
    pub client_id: Bytes,
    /// Throw away what an earlier connection left.
    pub clean_start: bool,
    /// Seconds that the session outlives its connection; 0: not at all; `u32::MAX`: for ever.
    pub expiry_s: u32,
    /// Receive maximum: the window of the session's own group.
    pub window: u16,
    /// To be published when the connection is lost without a normal disconnect.
    pub will: Option<Box<Will>>,
}

/// A client publishes.
#[derive(Clone, Debug)]
pub struct Publish {
    /// Set when the client waits for an answer.
    pub ticket: Option<Ticket>,
    /// Return the message when it matches nothing.
    pub mandatory: bool,
    /// AMQP channel, handed back in `Returned`; 0 elsewhere.
    pub channel: u16,
    /// The message, with exchange and key.
    pub message: Arc<Message>,
}

/// Something that the client wants from the broker.
#[derive(Debug)]
pub enum Request {
    /// Let me in. Answer: `Authenticated`.
    Authenticate(Box<Authenticate>),
    /// Work in this vhost from now on. Answer: `Completed`.
    OpenVhost {
        /// For the answer.
        ticket: Ticket,
        /// Its name.
        name: Bytes,
    },
    /// Open a session. Answer: `SessionOpened`.
    OpenSession(Box<OpenSession>),
    /// The client left properly: its will is void.
    DiscardWill,
    /// The connection is over; keep this of the session for `expiry_s` seconds (0: end it now).
    EndSession {
        /// State to keep; `None` when there is nothing to keep.
        state: Option<Box<SessionState>>,
        /// Seconds to keep it; `u32::MAX`: for ever.
        expiry_s: u32,
    },
    /// Publish. Answer: `Published` if it has a ticket, `Returned` if mandatory and unroutable.
    Publish(Publish),
    /// Declare an exchange. Answer: `Completed(Done)`.
    DeclareExchange(Box<DeclareExchange>),
    /// Delete an exchange. Answer: `Completed(Done)`.
    DeleteExchange {
        /// For the answer.
        ticket: Ticket,
        /// Its name.
        name: Bytes,
        /// Refuse when it has bindings.
        if_unused: bool,
    },
    /// Declare a group. Answer: `Completed(Declared)`.
    DeclareGroup(Box<DeclareGroup>),
    /// Delete a group. Answer: `Completed(Removed)`.
    DeleteGroup {
        /// For the answer.
        ticket: Ticket,
        /// Its name.
        name: Bytes,
        /// Refuse when it has members.
        if_unused: bool,
        /// Refuse when it has messages.
        if_empty: bool,
    },
    /// Drop the ready messages of a group. Answer: `Completed(Removed)`.
    PurgeGroup {
        /// For the answer.
        ticket: Ticket,
        /// Its name.
        name: Bytes,
    },
    /// Bind a group to an exchange. Answer: `Completed(Done)`.
    Bind(Box<BindGroup>),
    /// Undo a binding. Answer: `Completed(Done)`, also when there was none.
    Unbind(Box<BindGroup>),
    /// Subscribe, or consume. Answer: `Completed(Done)`; the deliveries come after it.
    Subscribe(Box<Subscribe>),
    /// End a subscription. Answer: `Completed(Unsubscribed)` if it has a ticket.
    Unsubscribe {
        /// For the answer.
        ticket: Option<Ticket>,
        /// Which.
        subscription: SubscriptionId,
        /// What becomes of its unacked deliveries.
        unacked: UnackedOnEnd,
    },
    /// Change the window of a subscription that acknowledges (0: unlimited).
    SetWindow {
        /// Which.
        subscription: SubscriptionId,
        /// Messages.
        messages: u32,
    },
    /// Take one message. Answer: `Got`, or `Completed(Err)`. The delivery is settled by its key like any other.
    Get {
        /// For the answer.
        ticket: Ticket,
        /// The group's name.
        group: Bytes,
        /// `HandOff`: settled at once.
        settlement: Settlement,
        /// What becomes of it when the connection is lost before it is settled.
        on_loss: Outcome,
    },
    /// Answer when what was settled before this is gone for good (SPEC section 8, P7): before a reply that says so.
    /// Answer: `Completed(Done)`.
    Sync {
        /// For the answer.
        ticket: Ticket,
    },
    /// A delivery ended.
    Settle {
        /// Which.
        key: DeliveryKey,
        /// How.
        outcome: Outcome,
    },
}
