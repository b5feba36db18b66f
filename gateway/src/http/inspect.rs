//! What the HTTP side wants to know from the broker.

use std::{future::Future, pin::Pin};

use braid_broker::GroupListing;

/// A broker that can be looked at.
pub(crate) trait Inspect: Send + Sync {
    /// All groups, or those of one vhost.
    fn list_groups(&self, vhost: Option<String>) -> Pin<Box<dyn Future<Output = Vec<GroupListing>> + Send + '_>>;

    /// Name, kind (`counter` or `gauge`), help text and value of each counter.
    fn samples(&self) -> Vec<(&'static str, &'static str, &'static str, u64)>;

    /// The node takes clients.
    fn is_ready(&self) -> bool;
}
