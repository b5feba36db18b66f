//! Tests of a replica from outside: what outlives a crash, what is refused, what is told and in which order.
#![allow(
    clippy::tests_outside_test_module,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this whole file is tests, in modules by subject"
)]

#[path = "replica/crash.rs"]
mod crash;
#[path = "replica/damage.rs"]
mod damage;
#[path = "replica/kit.rs"]
mod kit;
#[path = "replica/propose.rs"]
mod propose;
