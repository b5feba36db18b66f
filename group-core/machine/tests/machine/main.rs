//! Tests of the group state machine against its invariants, against a naive model, and against its own byte forms.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test that does not hold should stop"
)]

mod actions;
mod bytes_forms;
mod model;
mod properties;
mod scenarios;
mod scene;
mod world;
