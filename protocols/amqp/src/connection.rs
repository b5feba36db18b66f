//! The connection: the [`Endpoint`] that a driver talks to.
//!
//! ```text
//! ProtocolHeader -> Start -> Authenticating -> Tune -> Open -> OpeningVhost -> Running
//!       |  bad header                                                            |  |
//!       v                        an exception of ours, from any of them          |  | client's connection.close
//!     Closed <--- ClosingByServer <----------------------------------------------+  v
//!       ^   close-ok or time                                                 ClosingByClient
//!       |                                                                       |  consumers are gone, or time
//!       +--- Unreadable (input is no AMQP any more; lingers a second)           v
//!       ^                                                                    Closed
//!       +--- time
//! ```
//! Invariants: the handshake ends within [`HANDSHAKE_TIMEOUT_MS`]; what a client sends ahead of an answer of the broker is
//! held back, bounded; after `Closed` nothing is read or written.

mod answers;
mod closing;
mod frames;
mod handshake;
mod held;
mod outlet;
mod sasl;
mod timers;

use alloc::{collections::BTreeMap, string::String};

use braid_types::{Endpoint, Event, Request, Timestamp, Transmit, limits::HANDSHAKE_TIMEOUT_MS};
use bytes::BytesMut;

pub(crate) use self::{
    held::HeldFrames,
    outlet::{Answer, Outlet, Pending, publish_ticket},
};
use crate::{Options, channel::Channel, codec::Decoder, limits::HANDSHAKE_FRAME_BYTES_MAX};

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    ProtocolHeader,
    Start,
    Authenticating,
    Tune,
    Open,
    OpeningVhost,
    Running,
    ClosingByServer,
    ClosingByClient,
    Unreadable,
    Closed,
}

impl Phase {
    /// RabbitMQ's name for it, as reply texts have it.
    const fn name(self) -> &'static str {
        match self {
            Self::ProtocolHeader | Self::Start | Self::Authenticating => "starting",
            Self::Tune => "tuning",
            Self::Open | Self::OpeningVhost => "opening",
            Self::Running => "running",
            Self::ClosingByServer | Self::ClosingByClient => "closing",
            Self::Unreadable | Self::Closed => "closed",
        }
    }
}

/// One AMQP 0-9-1 connection, server side.
#[derive(Debug)]
pub struct Connection {
    phase: Phase,
    outlet: Outlet,
    decoder: Decoder,
    channels: BTreeMap<u16, Channel>,
    last_incarnation: u16,
    channel_max: u16,
    held: HeldFrames,
    mechanism: &'static str,
    /// Consumers whose end the client's `connection.close` waits for.
    ends_awaited: usize,
    /// Why publishes are held back, if they are.
    blocked: Option<String>,
    /// End of the handshake or of a close.
    deadline: Option<Timestamp>,
    heartbeat_ms: u64,
    last_received: Timestamp,
    last_sent: Timestamp,
}

impl Connection {
    /// A connection that was accepted at `now` and has not said anything.
    #[must_use]
    pub fn new(now: Timestamp, options: Options) -> Self {
        Self {
            phase: Phase::ProtocolHeader,
            channel_max: options.channel_max,
            outlet: Outlet::new(options),
            decoder: Decoder::new(HANDSHAKE_FRAME_BYTES_MAX),
            channels: BTreeMap::new(),
            last_incarnation: 0,
            held: HeldFrames::default(),
            mechanism: "",
            ends_awaited: 0,
            blocked: None,
            deadline: Some(now.plus_ms(HANDSHAKE_TIMEOUT_MS)),
            heartbeat_ms: 0,
            last_received: now,
            last_sent: now,
        }
    }

    /// Messages that could not be written in AMQP and went back as rejected, so far.
    #[must_use]
    pub const fn conversion_failures(&self) -> u64 {
        self.outlet.conversion_failures
    }

    /// Channels that are open or closing.
    #[must_use]
    pub fn channel_count(&self) -> usize {
        self.channels.len()
    }

    fn note_sent(&mut self, now: Timestamp) {
        if !self.outlet.transmit.is_empty() || !self.outlet.unflushed.is_empty() {
            self.last_sent = now;
        }
    }
}

impl Endpoint for Connection {
    fn receive(&mut self, now: Timestamp, input: &mut BytesMut) {
        if matches!(self.phase, Phase::Closed | Phase::Unreadable) {
            input.clear();
            return;
        }
        self.last_received = now;
        if self.phase != Phase::ProtocolHeader || self.take_protocol_header(input) {
            self.take_frames(now, input);
        }
        self.note_sent(now);
    }

    fn handle(&mut self, now: Timestamp, event: Event) {
        self.take_event(now, event);
        self.note_sent(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.check_timers(now);
        self.note_sent(now);
    }

    fn poll_request(&mut self) -> Option<Request> {
        self.outlet.requests.pop_front()
    }

    fn transmit(&mut self) -> &mut Transmit {
        while let Some(number) = self.outlet.unflushed.pop() {
            if let Some(channel) = self.channels.get_mut(&number) {
                channel.flush_confirms(&mut self.outlet);
            }
        }
        &mut self.outlet.transmit
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.next_timer()
    }

    fn is_closing(&self) -> bool {
        self.phase == Phase::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_is_small() {
        assert!(size_of::<Connection>() <= 768, "{}", size_of::<Connection>());
        assert!(size_of::<Channel>() <= 512, "{}", size_of::<Channel>());
    }
}
