//! What the node counts: plain atomics, read by `/metrics`. Never reset while the node runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter or gauge.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `count`.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Takes `count` away (gauges).
    pub fn subtract(&self, count: u64) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }

    /// Its value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($name:ident, $kind:literal, $help:literal;)*) => {
        /// Everything that the node counts.
        #[derive(Debug, Default)]
        pub struct Counters {
            $(#[doc = $help] pub $name: Counter,)*
        }

        impl Counters {
            /// Name, kind (`counter` or `gauge`), help text and value of each, for `/metrics`.
            #[must_use]
            pub fn samples(&self) -> Vec<(&'static str, &'static str, &'static str, u64)> {
                vec![$((stringify!($name), $kind, $help, self.$name.get()),)*]
            }
        }
    };
}

counters! {
    connections_open, "gauge", "Client connections that are open.";
    connections_opened_total, "counter", "Client connections that were accepted.";
    connections_refused_total, "counter", "Client connections that were refused: limit, wrong credentials, unknown first bytes.";
    silence_mismatch_total, "counter", "Connections on the one port that were silent, were taken for NATS, and then spoke something else.";
    messages_published_total, "counter", "Messages that clients published.";
    messages_unroutable_total, "counter", "Published messages that matched nothing.";
    messages_refused_total, "counter", "Published messages that were not taken.";
    messages_enqueued_total, "counter", "Messages stored in groups (one per group).";
    messages_delivered_total, "counter", "Messages handed to connections.";
    messages_settled_total, "counter", "Deliveries that ended.";
    messages_dropped_rejected_total, "counter", "Messages dropped because a member rejected them.";
    messages_dropped_limit_total, "counter", "Messages dropped because of the delivery limit.";
    messages_dropped_expired_total, "counter", "Messages dropped because they expired.";
    messages_dropped_slow_total, "counter", "Messages of plain subscriptions dropped because the client does not read.";
    messages_dropped_overflow_total, "counter", "Messages dropped because a group was at its maximum length.";
    bodies_held_bytes, "gauge", "Bytes of message bodies that groups hold.";
    retained_messages, "gauge", "Retained messages.";
    sessions_kept, "gauge", "MQTT sessions that wait for their client.";
    messages_dead_lettered_total, "counter", "Messages published again because they died in a group.";
    messages_dead_letter_cycles_total, "counter", "Dead letters dropped because they went round in a circle.";
    partitions_out_of_service, "gauge", "Partitions whose log cannot be used.";
    groups_faulted_total, "counter", "Groups taken out of service by a broken invariant.";
}
