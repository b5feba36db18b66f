//! What a broken invariant is inside this crate: an error that stops the group, never a panic (guide, rule 17).
//!
//! Invariant: no command that a client can cause makes one. It means that this crate has a fault; since every replica
//! runs the same commands, every replica stops the same group, and the partition goes on.

/// Which invariant did not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) &'static str);

/// A result whose error takes the group out of service.
pub(crate) type Sound<T> = Result<T, Broken>;
