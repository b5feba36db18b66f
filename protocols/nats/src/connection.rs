//! One client's connection: the protocol's rules, between bytes and the broker's requests and events.
//!
//! ```text
//! Opening --CONNECT, or any operation where no credentials are needed--> Admitting --Authenticated--> Open
//! Open --CONNECT again--> Admitting
//! any --fault--> Ending --answers before it are given, or 5 s--> Closed
//! ```
//!
//! Invariants:
//! 1. While `Admitting`, nothing is parsed: what comes is held (bounded), and goes on in order afterwards.
//! 2. Answers leave in the order of the operations (see `answers`); `MSG` never waits for an answer.
//!    An operation that changes what becomes of earlier ones (`must_wait`) waits until all of those are answered.
//! 3. After `Ending` began no operation is carried out; in `Closed` no byte is written any more.
//! 4. No secret is kept: credentials go into one request.

mod admission;
mod deliver;
mod ending;
mod liveness;
mod publish;
mod subscribe;

use alloc::{boxed::Box, collections::VecDeque};
use core::fmt;

use braid_types::{Endpoint, Event, Request, Timestamp, Transmit};
use bytes::{Bytes, BytesMut};

use self::{deliver::Foreign, liveness::Liveness};
use crate::{
    Options,
    answers::{Answers, Waiting},
    connect::ClientOptions,
    error::Fault,
    info::{Occasion, info},
    limits::{ANSWERS_MAX, HELD_BYTES_MAX},
    op::Op,
    parser::{Parser, Rules},
    subscriptions::Subscriptions,
};

/// Where the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nobody is let in yet.
    Opening,
    /// The broker is asked.
    Admitting,
    /// Operations are carried out.
    Open,
    /// A fault's `-ERR` waits for the answers before it.
    Ending,
    /// Over.
    Closed,
}

/// The server side of one NATS client connection, without IO.
pub struct Connection {
    options: Options,
    client: ClientOptions,
    phase: Phase,
    parser: Parser,
    /// What came while nothing could be parsed.
    held: BytesMut,
    /// The operation that waits: for the client to be let in, or for the answers before it.
    stashed: Option<Box<Op>>,
    answers: Answers,
    requests: VecDeque<Request>,
    transmit: Transmit,
    subscriptions: Subscriptions,
    liveness: Liveness,
    foreign: Foreign,
    /// The vhost that the client works in.
    vhost: Bytes,
    /// `CONNECT` was received.
    is_connected: bool,
    /// The `INFO` for a connected client was sent.
    is_informed: bool,
    /// A message was published that may come back to this client and that no later answer waits for.
    is_echo_due: bool,
    dropped_count: u64,
}

impl Connection {
    /// A connection that was just accepted. Its `INFO` is ready to be sent.
    #[must_use]
    pub fn new(now: Timestamp, options: Options) -> Self {
        let mut transmit = Transmit::new();
        transmit.buffer().extend_from_slice(&info(&options, Occasion::Greeting));
        Self {
            liveness: Liveness::new(now, options.ping_interval_ms),
            options,
            client: ClientOptions::default(),
            phase: Phase::Opening,
            parser: Parser::default(),
            held: BytesMut::new(),
            stashed: None,
            answers: Answers::default(),
            requests: VecDeque::new(),
            transmit,
            subscriptions: Subscriptions::default(),
            foreign: Foreign::default(),
            vhost: Bytes::new(),
            is_connected: false,
            is_informed: false,
            is_echo_due: false,
            dropped_count: 0,
        }
    }

    /// Messages that were for this client and could not be sent: no such subscription any more, or no NATS form.
    #[must_use]
    pub fn dropped_count(&self) -> u64 {
        self.dropped_count
    }

    /// The client's name, language and version, as its `CONNECT` gave them (for listings).
    #[must_use]
    pub fn client_name(&self) -> (&str, &str, &str) {
        (&self.client.name, &self.client.lang, &self.client.version)
    }

    /// Whether operations are carried out as they come.
    fn takes_operations(&self) -> bool {
        matches!(self.phase, Phase::Opening | Phase::Open) && self.stashed.is_none() && self.answers.len() < ANSWERS_MAX
    }

    /// Carries out all complete operations in `input`.
    fn process(&mut self, now: Timestamp, input: &mut BytesMut) {
        while self.takes_operations() {
            if self.phase == Phase::Opening && self.options.auth_required && !self.begins_with_connect(input) {
                self.fail(now, Fault::Authorization);
                return;
            }
            let rules = Rules { payload_bytes_max: self.options.max_payload_bytes, headers: self.client.headers };
            match self.parser.next(input, rules) {
                Ok(Some(op)) => {
                    self.liveness.saw_activity(now);
                    self.accept(now, op);
                }
                Ok(None) => return,
                Err(fault) => self.fail(now, fault),
            }
        }
    }

    /// Where credentials are needed, nothing but `CONNECT` is even read.
    fn begins_with_connect(&self, input: &[u8]) -> bool {
        !self.parser.is_between_operations() || matches!(input.first(), None | Some(b'C' | b'c'))
    }

    fn accept(&mut self, now: Timestamp, op: Op) {
        if self.phase == Phase::Opening && !matches!(op, Op::Connect(_)) {
            self.admit_without_connect(now, op);
            return;
        }
        if self.must_wait(&op) {
            self.await_echo();
            self.stashed = Some(Box::new(op));
            return;
        }
        match op {
            Op::Publish(publish) => self.publish(now, publish),
            Op::Subscribe(subscribe) => self.subscribe(subscribe),
            Op::Unsubscribe(unsubscribe) => self.unsubscribe(&unsubscribe),
            Op::Ping => self.ping(),
            Op::Pong => self.liveness.saw_pong(),
            Op::Connect(text) => self.connect(now, &text),
            Op::Nothing => {}
        }
    }

    /// Whether `op` would change how earlier operations, which the broker has not answered, end: `CONNECT` changes the
    /// rules and drops subscriptions, an `UNSUB` with a count counts what is under way, and a `SUB` under the sid of a
    /// subscription that is ending would be taken for it.
    fn must_wait(&self, op: &Op) -> bool {
        let is_settled = self.answers.len() == 0 && !self.is_echo_due;
        match op {
            Op::Connect(_) => !is_settled,
            Op::Unsubscribe(unsubscribe) => {
                unsubscribe.messages_max > 0 && !is_settled && self.subscriptions.named(&unsubscribe.sid).is_some()
            }
            Op::Subscribe(subscribe) => matches!(self.subscriptions.named(&subscribe.sid), Some((_, true))),
            Op::Publish(_) | Op::Ping | Op::Pong | Op::Nothing => false,
        }
    }

    /// Goes on with what was held, once it can.
    fn resume(&mut self, now: Timestamp) {
        if self.phase == Phase::Open
            && let Some(op) = self.stashed.take()
        {
            self.accept(now, *op);
        }
        if !self.held.is_empty() && self.takes_operations() {
            let mut held = core::mem::take(&mut self.held);
            self.process(now, &mut held);
            if !self.is_over() {
                self.held = held;
            }
        }
    }

    /// Takes `input` behind what is held, and goes on as far as possible.
    fn hold(&mut self, now: Timestamp, input: &mut BytesMut) {
        self.held.unsplit(input.split());
        self.resume(now);
        if self.held.len() > HELD_BYTES_MAX && !self.takes_operations() {
            self.fail(now, Fault::TooMuchHeld);
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ending | Phase::Closed)
    }

    /// Asks the broker to say when it has carried out all that was asked before, if a message may be under way to this
    /// very client: then what follows is said after it, as nats-server does. (Ending a subscription that never was is
    /// the request that does nothing else.)
    fn await_echo(&mut self) {
        if core::mem::take(&mut self.is_echo_due) {
            let ticket = self.answers.wait(Waiting::Barrier);
            self.requests.push_back(subscribe::barrier(ticket));
        }
    }

    /// Sends the answers that wait for nothing.
    fn flush(&mut self) {
        if self.answers.flush(&mut self.transmit) {
            self.close();
        }
    }
}

impl Endpoint for Connection {
    fn receive(&mut self, now: Timestamp, input: &mut BytesMut) {
        if self.held.is_empty() {
            self.process(now, input);
        }
        if self.is_over() {
            input.clear();
        } else if !self.held.is_empty() || !self.takes_operations() {
            self.hold(now, input);
        }
    }

    fn handle(&mut self, now: Timestamp, event: Event) {
        if self.phase == Phase::Closed {
            return;
        }
        match event {
            Event::Deliver(delivery) => self.deliver(&delivery),
            Event::Published { ticket, result } => self.published(ticket, result),
            Event::Returned { message, refusal: Some(refusal), .. } => self.returned(&message, &refusal),
            Event::Completed { ticket, result } => self.completed(now, ticket, result),
            Event::Authenticated { ticket, result } => self.authenticated(now, ticket, result),
            Event::Cancelled { subscription } => self.cancelled(subscription),
            Event::Close { reason, .. } => self.closed_by_broker(reason),
            Event::ConnectionLost => self.close(),
            // Nothing that a NATS client could be told.
            Event::Blocked { .. } | Event::Returned { refusal: None, .. } => {}
            // Never asked for here.
            Event::SessionOpened { .. } | Event::Got { .. } => {}
        }
        self.resume(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.check_time(now);
    }

    fn poll_request(&mut self) -> Option<Request> {
        self.requests.pop_front()
    }

    fn transmit(&mut self) -> &mut Transmit {
        &mut self.transmit
    }

    fn poll_timeout(&self) -> Option<Timestamp> {
        self.next_check()
    }

    fn is_closing(&self) -> bool {
        self.phase == Phase::Closed
    }
}

/// Without the bytes under way, which may hold secrets.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("client_id", &self.options.client_id)
            .field("phase", &self.phase)
            .field("client", &self.client)
            .field("subscriptions", &self.subscriptions.len())
            .field("answers", &self.answers.len())
            .field("held_bytes", &self.held.len())
            .finish_non_exhaustive()
    }
}
