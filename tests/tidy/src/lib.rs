//! The house rules that no compiler checks, as one function per rule over the tree.
//!
//! A rule looks at a [`Tree`] and returns what it found; it changes nothing and knows nothing of other rules. Each
//! rule carries a small tree that breaks it, so a rule that cannot fail does not pass its own test.
//!
//! Invariants: findings come in the order of the paths; the same tree gives the same findings.
#![forbid(unsafe_code)]

mod finding;
mod functions;
mod manifest;
mod rules;
mod source;
mod tree;

pub use finding::Finding;
pub use rules::{RULES, Rule};
pub use tree::Tree;
