//! Tests of the node's broker through its public API: real mailboxes as connections, real owner tasks. Nothing here
//! sleeps or measures time; each wait has a limit that only guards against hanging.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that does not hold should stop")]

mod confirms;
mod deliveries;
mod ended_members;
mod gets;
mod in_flight;
mod interest;
mod listings;
mod losses;
mod lost_members;
mod mailbox;
mod memory;
mod outbox;
mod retained;
mod scene;
mod sessions;

mod wake_ups;
