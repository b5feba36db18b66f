//! The row of a user. Holds a hash, never a password, and hides it from `Debug`.

use alloc::{string::String, vec::Vec};

use bytes::Bytes;

/// A user as the catalog knows it.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    /// Its name.
    pub name: Bytes,
    /// The hash of its password, in PHC string form.
    pub password_hash: String,
    /// What it may do in administration.
    pub tags: Vec<String>,
}

impl core::fmt::Debug for UserRow {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("UserRow").field("name", &self.name).field("tags", &self.tags).finish_non_exhaustive()
    }
}
