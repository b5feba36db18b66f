//! Drives the library's event loop in a task and sorts what comes: messages here, replies there.
//!
//! It ends at the first error and never connects again: a test decides when a client comes back.

use rumqttc::{Event as Event4, EventLoop as EventLoop4, v5::Event as Event5, v5::EventLoop as EventLoop5};
use tokio::sync::mpsc::UnboundedSender;

use super::packet::{Publish, Reply, Sorted};

/// Where the pump puts what it gets. Unbounded, since a test reads it all and has a known number of messages.
#[derive(Clone, Debug)]
pub(super) struct Sinks {
    pub(super) publishes: UnboundedSender<Publish>,
    pub(super) replies: UnboundedSender<Reply>,
}

impl Sinks {
    /// Passes `sorted` on; `false` when nobody listens any more.
    fn put(&self, sorted: Sorted) -> bool {
        match sorted {
            Sorted::Publish(publish) => self.publishes.send(*publish).is_ok(),
            Sorted::Reply(reply) => self.replies.send(reply).is_ok(),
            Sorted::Other => true,
        }
    }

    fn lost(&self, error: &dyn std::error::Error) {
        // A test that has ended already does not need to know.
        drop(self.replies.send(Reply::Lost(error.to_string())));
    }
}

/// Runs a 3.1.1 client until its connection ends.
pub(super) async fn run_v311(mut events: EventLoop4, sinks: Sinks) {
    loop {
        match events.poll().await {
            Ok(Event4::Incoming(packet)) => {
                if !sinks.put(packet.into()) {
                    return;
                }
            }
            Ok(Event4::Outgoing(_)) => {}
            Err(error) => return sinks.lost(&error),
        }
    }
}

/// Runs a version 5 client until its connection ends.
pub(super) async fn run_v5(mut events: EventLoop5, sinks: Sinks) {
    loop {
        match events.poll().await {
            Ok(Event5::Incoming(packet)) => {
                if !sinks.put(packet.into()) {
                    return;
                }
            }
            Ok(Event5::Outgoing(_)) => {}
            Err(error) => return sinks.lost(&error),
        }
    }
}
