//! Tests of the catalog from outside: by table, by scenario, and by random command logs.
#![allow(
    clippy::tests_outside_test_module,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this whole file is tests, in modules by subject"
)]

#[path = "catalog/kit.rs"]
mod kit;
#[path = "catalog/lifecycle.rs"]
mod lifecycle;
#[path = "catalog/options.rs"]
mod options;
#[path = "catalog/properties.rs"]
mod properties;
#[path = "catalog/refusals.rs"]
mod refusals;
#[path = "catalog/resolution.rs"]
mod resolution;
#[path = "catalog/routing.rs"]
mod routing;
