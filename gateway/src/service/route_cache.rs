//! The routes that a connection looked up, valid until the catalog or the interest changes.

use std::sync::Arc;

use braid_types::{Message, Refusal};
use bytes::Bytes;
use hashbrown::HashMap;

use crate::limits::ROUTES_CACHED_MAX;
use crate::node::Node;
use crate::routes::Routes;

/// Exchange and key, in the connection's protocol.
type RouteKey = (Bytes, Bytes);

/// What was looked up.
#[derive(Debug, Default)]
pub(super) struct RouteCache {
    generations: (u64, u64),
    last: Option<(RouteKey, Arc<Routes>)>,
    known: HashMap<RouteKey, Arc<Routes>>,
}

impl RouteCache {
    /// The routes of `message`.
    pub(super) fn find(&mut self, node: &Node, vhost: &Bytes, message: &Message) -> Result<Arc<Routes>, Refusal> {
        // Read before the look-up: a change during it makes the result stale at the next use, not for ever.
        let generations = (node.meta.generation(), node.broker.interest.generation());
        if generations != self.generations {
            self.clear();
            self.generations = generations;
        }
        if let Some(((exchange, key), routes)) = &self.last
            && *key == message.key
            && *exchange == message.exchange
        {
            return Ok(Arc::clone(routes));
        }
        // A `Bytes` of the read buffer would keep it alive; the key owns its bytes.
        let key = (message.exchange.clone(), message.key.clone());
        if let Some((key, routes)) = self.known.get_key_value(&key) {
            self.last = Some((key.clone(), Arc::clone(routes)));
            return Ok(Arc::clone(routes));
        }
        let routes = Arc::new(Routes::find(node, vhost, message)?);
        if routes.is_cacheable {
            if self.known.len() >= ROUTES_CACHED_MAX {
                self.known.clear();
            }
            let key = (owned(&message.exchange), owned(&message.key));
            self.known.insert(key.clone(), Arc::clone(&routes));
            self.last = Some((key, Arc::clone(&routes)));
        }
        Ok(routes)
    }

    /// Forgets everything (another vhost).
    pub(super) fn clear(&mut self) {
        self.last = None;
        self.known.clear();
    }
}

/// A copy in cache lines of its own: it is compared with every publish, and must not share them with what other workers
/// write.
fn owned(name: &[u8]) -> Bytes {
    const APART_BYTES: usize = 128;
    let mut own = Vec::with_capacity(name.len().next_multiple_of(APART_BYTES).max(APART_BYTES));
    own.extend_from_slice(name);
    Bytes::from_owner(own)
}
