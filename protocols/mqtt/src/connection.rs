//! One client's connection.
//!
//! ```text
//! AwaitConnect ──CONNECT──▶ Authenticating ──Authenticated──▶ Opening ──SessionOpened──▶ Open ──▶ Ended
//!      │                          │                               │        CONNACK sent
//!      └──────────── refused, timed out, lost ────────────────────┘
//! ```
//!
//! While it is authenticating or opening, bytes of the client are held back (within a limit) and read after CONNACK.
//!
//! Invariants: once a session was opened, `Request::EndSession` is asked for exactly once, and nothing after it; after
//! `is_closing` no byte is read.

mod acknowledge;
mod close;
mod connect;
mod counters;
mod deliver;
mod options;
mod publish;
mod session;
mod subscribe;
mod ticket;
mod wire;

use alloc::{boxed::Box, collections::VecDeque};
use core::mem;

use braid_types::{Endpoint, Event, Request, Timestamp, Transmit, limits::HANDSHAKE_TIMEOUT_MS};
use bytes::{Buf, Bytes, BytesMut};

pub use counters::Counters;
pub use options::Options;

use crate::{
    Fault, ReasonCode, Version,
    aliases::IncomingAliases,
    codec::FixedHeader,
    limits,
    packet::{
        self, acknowledge::Acknowledge, connect::Connect, disconnect::Disconnect, kind, publish::Publish,
        subscribe::Subscribe, unsubscribe::Unsubscribe,
    },
};
use session::Session;
use subscribe::Answers;
use wire::Wire;

/// Where the connection stands.
#[derive(Debug)]
enum Phase {
    AwaitConnect,
    Authenticating(Box<Connect>),
    Opening(Box<Connect>),
    Open,
    Ended,
}

/// What the client is called, and how it wants to be treated.
#[derive(Debug, Default)]
struct Client {
    client_id: Bytes,
    /// The client id was made by us.
    is_assigned: bool,
    /// Most QoS 1 and 2 deliveries that may be open.
    window: u16,
    /// It is another broker's bridge.
    is_bridge: bool,
    /// Reason strings may be sent with every packet.
    wants_problem_information: bool,
    aliases: IncomingAliases,
    /// Allowed silence; 0: any.
    keep_alive_ms: u64,
}

/// The MQTT endpoint of one connection.
#[derive(Debug)]
pub struct Connection {
    options: Options,
    phase: Phase,
    is_closing: bool,
    deadline: Option<Timestamp>,
    last_received: Timestamp,
    requests: VecDeque<Request>,
    /// What came before CONNACK was sent.
    held: BytesMut,
    wire: Wire,
    client: Client,
    session: Session,
    answers: Answers,
    counters: Counters,
    fault: Option<Fault>,
}

impl Connection {
    /// A connection that was accepted at `now`.
    #[must_use]
    pub fn new(now: Timestamp, options: Options) -> Self {
        Self {
            options,
            phase: Phase::AwaitConnect,
            is_closing: false,
            deadline: Some(now.plus_ms(HANDSHAKE_TIMEOUT_MS)),
            last_received: now,
            requests: VecDeque::new(),
            held: BytesMut::new(),
            wire: Wire::default(),
            client: Client::default(),
            session: Session::default(),
            answers: Answers::default(),
            counters: Counters::default(),
            fault: None,
        }
    }

    /// What was dropped on this connection, and why.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The client's id; empty before CONNECT.
    #[must_use]
    pub fn client_id(&self) -> &Bytes {
        &self.client.client_id
    }

    /// The version that the client speaks; `None` before CONNECT.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        (!self.client.client_id.is_empty()).then(|| self.wire.version())
    }

    /// What the client did wrong, when that ended the connection (for the log).
    #[must_use]
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Reads all complete packets of `input`.
    fn process(&mut self, now: Timestamp, input: &mut BytesMut) {
        while !self.is_closing && matches!(self.phase, Phase::AwaitConnect | Phase::Open) {
            match self.step(now, input) {
                Ok(true) => {}
                Ok(false) => break,
                Err(fault) => self.fail(fault),
            }
        }
        if self.is_closing {
            input.clear();
        }
    }

    /// Reads what was held.
    fn process_held(&mut self, now: Timestamp) {
        let mut held = mem::take(&mut self.held);
        self.process(now, &mut held);
        if !held.is_empty() {
            self.held = held;
        }
    }

    /// Reads one packet; `false`: it is not complete.
    fn step(&mut self, now: Timestamp, input: &mut BytesMut) -> Result<bool, Fault> {
        let Some(first) = input.first().copied() else { return Ok(false) };
        let is_first_packet = matches!(self.phase, Phase::AwaitConnect);
        match first >> 4 {
            kind::CONNECT if is_first_packet => {}
            _ if is_first_packet => return Err(Fault::Unanswered("the first packet is not CONNECT")),
            0 => packet::check_first(first, self.wire.version())?,
            _ => {}
        }
        let Some(header) = FixedHeader::decode(input)? else { return Ok(false) };
        if !is_first_packet && first >> 4 != kind::PUBLISH {
            packet::check_first(first, self.wire.version())?;
        }
        let mut bytes_max = usize::try_from(self.options.packet_bytes_max).unwrap_or(usize::MAX);
        if first >> 4 != kind::PUBLISH {
            bytes_max = bytes_max.min(limits::CONTROL_BYTES_MAX);
        }
        if header.packet_bytes > bytes_max {
            return Err(Fault::Reason(ReasonCode::PACKET_TOO_LARGE));
        }
        if input.len() < header.packet_bytes {
            return Ok(false);
        }
        if header.first >> 4 == kind::PUBLISH {
            let packet = input.split_to(header.packet_bytes).freeze();
            let publish = Publish::decode(packet, header.header_bytes, self.wire.version())?;
            self.publish(now, publish)?;
        } else {
            let body = input.get(header.header_bytes..header.packet_bytes).unwrap_or_default();
            self.packet(now, header.first, body)?;
            input.advance(header.packet_bytes);
        }
        Ok(true)
    }

    /// A packet other than PUBLISH.
    fn packet(&mut self, now: Timestamp, first: u8, body: &[u8]) -> Result<(), Fault> {
        let version = self.wire.version();
        match first >> 4 {
            kind::CONNECT => {
                match Connect::decode(first, body) {
                    Ok(connect) => self.connect(connect),
                    Err(refused) => self.refuse_connect(refused),
                }
                Ok(())
            }
            kind @ (kind::PUBACK | kind::PUBREC | kind::PUBREL | kind::PUBCOMP) => {
                self.acknowledge(now, kind, Acknowledge::decode(body, kind, version)?)
            }
            kind::SUBSCRIBE => self.subscribe(Subscribe::decode(body, version)?),
            kind::UNSUBSCRIBE => self.unsubscribe(&Unsubscribe::decode(body, version)?),
            kind::PINGREQ if body.is_empty() => {
                self.wire.ping_response();
                Ok(())
            }
            kind::DISCONNECT => self.disconnect(Disconnect::decode(body, version)?),
            _ => Err(Fault::Malformed("PINGREQ with a body")),
        }
    }
}

impl Endpoint for Connection {
    fn receive(&mut self, now: Timestamp, input: &mut BytesMut) {
        if self.is_closing {
            input.clear();
            return;
        }
        if !input.is_empty() {
            self.last_received = now;
        }
        match self.phase {
            Phase::Authenticating(_) | Phase::Opening(_) => self.hold(input),
            Phase::AwaitConnect | Phase::Open | Phase::Ended if self.held.is_empty() => {
                self.process(now, input);
                // CONNECT may have more packets behind it.
                if matches!(self.phase, Phase::Authenticating(_)) {
                    self.hold(input);
                }
            }
            Phase::AwaitConnect | Phase::Open | Phase::Ended => {
                // What was held ends in the middle of a packet whose rest comes now. The driver's buffer stays its own.
                self.held.extend_from_slice(input);
                input.clear();
                self.process_held(now);
            }
        }
    }

    fn handle(&mut self, now: Timestamp, event: Event) {
        match event {
            Event::Authenticated { result, .. } => self.authenticated(now, result),
            Event::SessionOpened { result, .. } => {
                self.session_opened(now, result);
                self.process_held(now);
            }
            Event::Published { ticket, result } => self.published(ticket, result),
            Event::Completed { ticket, result } => self.completed(ticket, result),
            Event::Deliver(delivery) => self.deliver(now, delivery),
            Event::Cancelled { subscription } => self.cancelled(subscription),
            Event::Close { reason, text } => self.close_for(reason, &text),
            Event::ConnectionLost => self.close(),
            // Publishes are not mandatory, nothing is taken by get, and MQTT has no word for blocked.
            Event::Returned { .. } | Event::Got { .. } | Event::Blocked { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.timeout(now);
    }

    fn poll_request(&mut self) -> Option<Request> {
        let request = self.requests.pop_front();
        if request.is_none() && self.requests.capacity() > limits::IDLE_PLACES {
            self.requests = VecDeque::new();
        }
        request
    }

    fn transmit(&mut self) -> &mut Transmit {
        self.wire.transmit()
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.deadline
    }

    fn is_closing(&self) -> bool {
        self.is_closing
    }
}
