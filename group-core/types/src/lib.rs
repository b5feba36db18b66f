//! The vocabulary of BraidMQ: identifiers, the message, what an endpoint asks ([`Request`]) and what it is told
//! ([`Event`]), and the two contracts that everything else is built on, [`Endpoint`] and [`Machine`].
//!
//! This crate never does anything: no clock, no socket, no file, no thread, no randomness (`no_std` + alloc makes the
//! compiler say so). Times are [`Timestamp`] (milliseconds); units stand last in names.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm, clippy::float_arithmetic)]

extern crate alloc;

mod address;
mod connection;
mod death;
mod delivery;
mod endpoint;
mod event;
mod filter;
mod identifier;
mod identity;
pub mod limits;
mod machine;
mod message;
mod outcome;
mod properties;
mod refusal;
mod request;
mod session;
mod subscription;
mod topology;
mod transmit;

pub use address::{Address, AddressError, Level, Levels};
pub use connection::{CloseReason, Credentials, Identity};
pub use death::{DeadLetter, Death, DeathHistory, DeathRecord, is_cycle, plain_text};
pub use delivery::{Delivery, DeliveryKey};
pub use endpoint::Endpoint;
pub use event::{Completion, Event, PublishResult};
pub use filter::{Filter, FilterLevel};
pub use identifier::{
    ConnectionId, DeliveryId, Epoch, GroupId, LogIndex, MemberId, MessageId, PartitionId, PartitionKind, Stamp,
    SubscriptionId, Term, Ticket, Timestamp,
};
pub use identity::{IdentityError, IdentityHeaders, IdentityValue, PublisherIdentity};
pub use machine::{CorruptBytes, Machine, Wire};
pub use message::{Message, Protocol};
pub use outcome::Outcome;
pub use properties::{HeaderValue, Headers, Properties, ReplyAddress};
pub use refusal::{Refusal, RefusalKind};
pub use request::{Authenticate, OpenSession, Publish, Request};
pub use session::{InFlight, InFlightStage, SessionState, SessionSubscription, Will};
pub use subscription::{RetainedDelivery, Settlement, Source, Subscribe, UnackedOnEnd};
pub use topology::{BindGroup, DeclareExchange, DeclareGroup, ExchangeKind};
pub use transmit::Transmit;
