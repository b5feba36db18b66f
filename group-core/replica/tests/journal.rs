//! Journals over a simulated disk, as an owner uses them: order, restarts, snapshots, crashes and failures, for both
//! kinds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "journal/crash.rs"]
mod crash;
#[path = "journal/failure.rs"]
mod failure;
#[path = "journal/order.rs"]
mod order;
#[path = "journal/owner.rs"]
mod owner;
#[path = "journal/restart.rs"]
mod restart;
