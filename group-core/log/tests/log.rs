//! The log over a simulated disk: what it promises, with crashes at every point, damage anywhere, and full disks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "log/basics.rs"]
mod basics;
#[path = "log/crash.rs"]
mod crash;
#[path = "log/damage.rs"]
mod damage;
#[path = "log/meddling.rs"]
mod meddling;
#[path = "log/model.rs"]
mod model;
#[path = "log/random.rs"]
mod random;
#[path = "log/retention.rs"]
mod retention;
#[path = "log/space.rs"]
mod space;
#[path = "log/threads.rs"]
mod threads;
#[path = "log/world.rs"]
mod world;
