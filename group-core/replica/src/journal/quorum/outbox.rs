//! What goes to a Raft group, without waiting for it: in order, each taken up as soon as there is room.

use std::{
    collections::VecDeque,
    fmt,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use futures_util::future::BoxFuture;

use super::{start::Group, types::Proposed};

/// Something for the group.
#[derive(Debug)]
pub(super) enum Call {
    Propose(Proposed),
    /// There is a new durable snapshot: what it holds may be purged. When the group is just looking at the one before it
    /// misses this one; then it learns of it with the next.
    Snapshot,
}

/// See the file's head.
#[derive(Default)]
pub(super) struct Outbox {
    /// The oldest call, on its way. Dropping it would lose the call.
    going: Option<BoxFuture<'static, ()>>,
    waiting: VecDeque<Call>,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { going, waiting } = self;
        f.debug_struct("Outbox").field("going", &going.is_some()).field("waiting", &waiting.len()).finish()
    }
}

impl Outbox {
    /// Takes a call on. It is usually gone when this returns.
    pub(super) fn send(&mut self, group: Option<&Arc<Group>>, call: Call) {
        self.waiting.push_back(call);
        if let Some(group) = group {
            // Who waits for it, if it has to wait, is whoever flushes.
            let _is_flushed = self.poll_flush(group, &mut Context::from_waker(Waker::noop()));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.going.is_none() && self.waiting.is_empty()
    }

    /// Ready when all calls are gone.
    pub(super) fn poll_flush(&mut self, group: &Arc<Group>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let going = match &mut self.going {
                Some(going) => going,
                None => match self.waiting.pop_front() {
                    Some(call) => self.going.insert(Box::pin(make(Arc::clone(group), call))),
                    None => return Poll::Ready(()),
                },
            };
            if going.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.going = None;
        }
    }
}

/// A group that does not take it has stopped, which its owner is told otherwise.
async fn make(group: Arc<Group>, call: Call) {
    match call {
        Call::Propose(proposed) => drop(group.client_write_ff(proposed, None).await),
        Call::Snapshot => drop(group.trigger().snapshot().await),
    }
}
