//! Drives an endpoint: bytes in (whole, or split), events in, time; bytes and requests out.

use std::sync::Arc;

use braid_mqtt::{Connection, Options};
use braid_types::{
    Completion, ConnectionId, Delivery, DeliveryKey, Endpoint, Event, Identity, Message, OpenSession, Outcome,
    Protocol, PublishResult, Request, SessionState, Subscribe, SubscriptionId, Timestamp,
};
use bytes::{Bytes, BytesMut};

use super::packets::{connect_3, connect_5};

/// How bytes are fed.
#[derive(Clone, Copy, Debug)]
enum Split {
    Whole,
    Each,
    At(usize),
}

/// An endpoint and both its sides.
pub(crate) struct Driver {
    pub(crate) endpoint: Connection,
    pub(crate) now: u64,
    input: BytesMut,
    output: Vec<u8>,
    requests: Vec<Request>,
    split: Split,
    fed: usize,
    transcript: String,
}

/// The connection's id in all tests.
pub(crate) const CONNECTION: ConnectionId = ConnectionId(7);

impl Driver {
    /// A new connection at 1,000,000 ms.
    pub(crate) fn new() -> Self {
        Self::with(Options::new(CONNECTION, 42))
    }

    /// With other options.
    pub(crate) fn with(options: Options) -> Self {
        let now = 1_000_000;
        Self {
            endpoint: Connection::new(Timestamp(now), options),
            now,
            input: BytesMut::new(),
            output: Vec::new(),
            requests: Vec::new(),
            split: Split::Whole,
            fed: 0,
            transcript: String::new(),
        }
    }

    /// Bytes of the client; says what the endpoint sends.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        for byte_range in self.pieces(bytes.len()) {
            self.input.extend_from_slice(&bytes[byte_range]);
            self.endpoint.receive(Timestamp(self.now), &mut self.input);
            self.drain();
        }
        self.fed += bytes.len();
        self.take_output()
    }

    /// An event of the broker; says what the endpoint sends.
    pub(crate) fn handle(&mut self, event: Event) -> Vec<u8> {
        self.endpoint.handle(Timestamp(self.now), event);
        self.drain();
        self.take_output()
    }

    /// Time passes, and the endpoint's timers fire; says what it sends.
    pub(crate) fn wait(&mut self, milliseconds: u64) -> Vec<u8> {
        let end = self.now + milliseconds;
        while let Some(at) = self.endpoint.poll_timeout().filter(|at| at.0 <= end) {
            self.now = self.now.max(at.0);
            self.endpoint.handle_timeout(Timestamp(self.now));
            self.drain();
            assert_ne!(self.endpoint.poll_timeout(), Some(at), "a timer that fired must move");
        }
        self.now = end;
        self.take_output()
    }

    /// What the endpoint asked for since the last call.
    pub(crate) fn requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// The one thing that it asked for.
    pub(crate) fn request(&mut self) -> Request {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        requests.remove(0)
    }

    /// The one message that it published, and whether it waits for an answer.
    pub(crate) fn published(&mut self) -> (Arc<Message>, Option<braid_types::Ticket>) {
        match self.request() {
            Request::Publish(publish) => (publish.message, publish.ticket),
            other => panic!("{other:?}"),
        }
    }

    /// The one subscription that it asked for.
    pub(crate) fn subscribed(&mut self) -> Box<Subscribe> {
        match self.request() {
            Request::Subscribe(subscribe) => subscribe,
            other => panic!("{other:?}"),
        }
    }

    /// Its settlements, when it asked for nothing else.
    pub(crate) fn settled(&mut self) -> Vec<(u64, Outcome)> {
        let settled = self.requests().into_iter().map(|request| match request {
            Request::Settle { key, outcome } => (key.delivery, outcome),
            other => panic!("{other:?}"),
        });
        settled.collect()
    }

    /// Lets the client in; gives what it asked to open.
    pub(crate) fn authenticate(&mut self) -> Box<OpenSession> {
        let Request::Authenticate(authenticate) = self.request() else { panic!("not asked to authenticate") };
        let identity = Identity { user: Bytes::from_static(b"u"), vhost: Bytes::from_static(b"/") };
        let sent = self.handle(Event::Authenticated { ticket: authenticate.ticket, result: Ok(identity) });
        assert!(sent.is_empty());
        match self.request() {
            Request::OpenSession(open) => open,
            other => panic!("{other:?}"),
        }
    }

    /// Opens the session; gives CONNACK and what comes with it.
    pub(crate) fn open(&mut self, open: &OpenSession, state: Option<SessionState>) -> Vec<u8> {
        self.handle(Event::SessionOpened { ticket: open.ticket, result: Ok(state.map(Box::new)) })
    }

    /// CONNECT to CONNACK.
    pub(crate) fn connect(&mut self, connect: &[u8], state: Option<SessionState>) -> Vec<u8> {
        assert!(self.feed(connect).is_empty());
        let open = self.authenticate();
        self.open(&open, state)
    }

    /// A connected client of MQTT 5, clean, expiry 0, receive maximum as in `properties`.
    pub(crate) fn connected_5(&mut self, properties: &[u8]) {
        let connack = self.connect(&connect_5("c", true, properties), None);
        assert_eq!(connack[..4], [0x20, u8::try_from(connack.len() - 2).expect("short"), 0, 0]);
    }

    /// A connected client of MQTT 3.1.1, clean.
    pub(crate) fn connected_3(&mut self) {
        assert_eq!(self.connect(&connect_3("c", true), None), [0x20, 2, 0, 0]);
    }

    /// Subscribes; the broker agrees.
    pub(crate) fn subscribe(&mut self, packet: &[u8]) -> SubscriptionId {
        assert!(self.feed(packet).is_empty());
        let subscribe = self.subscribed();
        let suback = self.handle(done(subscribe.ticket));
        assert_eq!(suback[0], 0x90);
        subscribe.subscription
    }

    /// Answers for a publish.
    pub(crate) fn answer(&mut self, ticket: Option<braid_types::Ticket>, result: PublishResult) -> Vec<u8> {
        self.handle(Event::Published { ticket: ticket.expect("a ticket"), result })
    }

    /// Delivers to the client.
    pub(crate) fn deliver(&mut self, delivery: Delivery) -> Vec<u8> {
        self.handle(Event::Deliver(delivery))
    }

    /// The session's end that it asked for, when it asked for nothing else.
    pub(crate) fn ended(&mut self) -> (Option<SessionState>, u32) {
        match self.request() {
            Request::EndSession { state, expiry_s } => (state.map(|state| *state), expiry_s),
            other => panic!("{other:?}"),
        }
    }

    /// It asked for the session's end, now, and for nothing else.
    pub(crate) fn ended_for_good(&mut self) {
        let (state, expiry_s) = self.ended();
        assert!(state.is_none() && expiry_s == 0);
    }

    fn pieces(&self, len: usize) -> Vec<std::ops::Range<usize>> {
        match self.split {
            Split::Each => (0..len).map(|at| at..at + 1).collect(),
            Split::At(at) if at > self.fed && at < self.fed + len => vec![0..at - self.fed, at - self.fed..len],
            Split::Whole | Split::At(_) => vec![0..len; 1],
        }
    }

    fn drain(&mut self) {
        use std::fmt::Write;
        while let Some(request) = self.endpoint.poll_request() {
            writeln!(self.transcript, "{request:?}").expect("memory");
            self.requests.push(request);
        }
        self.output.extend_from_slice(&self.endpoint.transmit().take());
    }

    fn take_output(&mut self) -> Vec<u8> {
        use std::fmt::Write;
        let output = std::mem::take(&mut self.output);
        if !output.is_empty() {
            writeln!(self.transcript, "{output:02x?}").expect("memory");
        }
        output
    }
}

/// Runs a conversation whole, byte by byte, and split once at each byte: it must say the same each time.
pub(crate) fn golden(conversation: impl Fn(&mut Driver)) {
    golden_with(Options::new(CONNECTION, 42), conversation);
}

/// The same with other options.
pub(crate) fn golden_with(options: Options, conversation: impl Fn(&mut Driver)) {
    let run = |split| {
        let mut driver = Driver::with(options);
        driver.split = split;
        conversation(&mut driver);
        (driver.transcript, driver.fed)
    };
    let (expected, fed) = run(Split::Whole);
    assert_eq!(run(Split::Each).0, expected, "byte by byte");
    for at in 1..fed {
        assert_eq!(run(Split::At(at)).0, expected, "split at {at}");
    }
}

/// The good answer to a request.
pub(crate) fn done(ticket: braid_types::Ticket) -> Event {
    Event::Completed { ticket, result: Ok(Completion::Done) }
}

/// A message of an MQTT client.
pub(crate) fn message(topic: &'static str, qos: u8, body: &'static [u8]) -> Message {
    Message {
        exchange: Bytes::from_static(b"amq.topic"),
        key: Bytes::from_static(topic.as_bytes()),
        body: Bytes::from_static(body),
        qos,
        ..Message::empty(Protocol::Mqtt)
    }
}

/// A delivery of `message`, settled by `key` if there is one.
pub(crate) fn delivery(subscription: SubscriptionId, key: Option<u64>, message: Message) -> Delivery {
    Delivery {
        subscription,
        others: None,
        key: key.map(|delivery| DeliveryKey { attachment: 1, delivery }),
        message: Arc::new(message),
        properties: None,
        redelivered: false,
        retained: false,
        delivery_count: 0,
    }
}
