//! The replicated state machine of group partitions: enqueue, dispatch, settle.
//!
//! A *group* is messages, and the members that share them: an AMQP queue, an MQTT shared subscription or session, a
//! NATS queue group. A [`Partition`] is one log that carries many groups. Each [`Command`] of the log is applied on
//! every replica with the same result: a [`Reply`] for its proposer and [`Effect`]s for the leader to carry out.
//!
//! ```text
//!              enqueue            dispatch               settle: accepted, rejected, over the limit
//!   (nothing) ─────────▶ ready ──────────────▶ unacked ───────────────────────────────────────────▶ (gone)
//!                        ▲ ▲ │                   │ │
//!                        │ │ └▶ (gone): expired, │ │
//!                        │ │    purged, too many │ │
//!                        │ └─ released, overdue, ┘ │
//!                        │    modified             │
//!                        └── due ─── delayed ◀─────┘ modified, where tries are delayed
//! ```
//!
//! In a group that keeps dead letters, what was rejected, went over the limit, expired or was too much is a *dead letter*
//! before it is gone: out of reach of members, until [`Command::EndDeadLetters`] says that it is stored elsewhere.
//!
//! The crate is pure: no clock, file, socket, thread or randomness (`no_std` + alloc makes the compiler say so). It
//! knows message ids and small headers, never bodies. Times are partition time in milliseconds; sizes are bytes.
//!
//! # Invariants
//! Each is recounted by [`invariants::check`], which the property tests run after every command.
//!
//! 1. A message of a group is in exactly one place: ready, delayed, unacked with one member, or a dead
//!    letter.
//! 2. After each command nothing is left that could be handed out: no ready message may go to a member with credit.
//! 3. A member stands in the service queue exactly while it is attached, not overdue, the active one where only one is,
//!    and has credit; a member whose window is full or whose grants are used up is sent nothing.
//! 4. Delivery ids of a member are contiguous from 0.
//! 5. A ready message is in the class of the filters that match it, counts and sums equal a recount.
//! 6. A shared message's count is the number of groups that hold it; [`Effect::Forget`] comes once, after the last of
//!    them and after every [`Effect::Deliver`] of it.
//! 7. An exclusive member is alone.
//! 8. Messages come back ahead of those never handed out, in the order in which they were published.
//! 9. `apply` is total: it never fails and never panics; a broken invariant takes one group out of service
//!    ([`Refused::Faulted`]) and nothing else.
//! 10. What waits for a time is noted with that time or an earlier one, so that [`Partition::next_deadline`] is never
//!     late.
//! 11. A group with a single active member sends to one member at a time, and to one if any is attached and not
//!     overdue.
//! 12. After each command a group is within its length limits, or takes no publishes.
//! 13. A group that dispatches by key hands out messages of one address to one member at a time: to the one that holds
//!     unacked ones of that address, if any does; to nobody while several do, from before it dispatched by key.
//! 14. The same log gives the same state, replies and effects, from the start or from any snapshot, whole or in
//!     parts.
//! 15. Which members a connection has is known without a look at the groups, and is what a look at the groups gives.
//! 16. A group that differs from what [`Partition::take_changed`] left is among the next changed ones.
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm, clippy::float_arithmetic)]

extern crate alloc;

mod attachments;
mod backlog;
mod command;
mod config;
mod context;
mod dead_letters;
mod deadlines;
mod delayed;
mod dispatch;
mod doomed;
mod effect;
mod fault;
mod filters;
mod group;
mod group_sets;
mod hasher;
mod in_flight;
pub mod invariants;
mod lane;
pub mod limits;
mod member;
mod members;
mod message;
mod overflow;
mod partition;
mod publishers;
mod ready;
mod references;
mod reply;
mod settle;
mod single_active;
mod snapshot;
mod timekeeping;
mod unacked;
mod view;
mod wire;

pub use command::{Command, Credit, GroupSetId, Groups, MemberConfig, MessageHeader, OnLoss, Owner, PublishIdentity};
pub use config::{GroupConfig, Overflow, RetryDelay, Strategy};
pub use effect::{DropReason, Effect};
pub use partition::Partition;
pub use reply::{Refused, Reply, Taken};
pub use view::{GroupView, MemberView, Skipped};
pub use wire::decode_commands;
