//! The scripted client and broker.

use std::{collections::VecDeque, sync::Arc};

use braid_amqp::{
    Connection, Options, Reader,
    codec::{Decoder, write_frame, write_method},
    frame::{FrameKind, PROTOCOL_HEADER},
    method::{Method, basic, channel, connection},
};
use braid_types::{
    Completion, ConnectionId, Delivery, DeliveryKey, Endpoint, Event, HeaderValue, Headers, Identity, Message,
    Protocol, Refusal, RefusalKind, Request, SubscriptionId, Ticket, Timestamp,
};
use bytes::{Bytes, BytesMut};

/// How input is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    Whole,
    At(usize),
    EveryByte,
}

pub struct Driver {
    pub connection: Connection,
    pub now: Timestamp,
    split: Split,
    input: BytesMut,
    requests: VecDeque<Request>,
    output: BytesMut,
    transcript: Vec<(String, Bytes)>,
    longest_bytes: usize,
}

pub struct OwnedFrame {
    pub kind: FrameKind,
    pub channel: u16,
    pub payload: Bytes,
}

/// Runs a script with its input whole, cut at every position, and byte by byte: all runs have to look the same.
pub fn golden(script: impl Fn(&mut Driver)) {
    golden_with(options(), script);
}

pub fn golden_with(options: Options, script: impl Fn(&mut Driver)) {
    let run = |split| {
        let mut driver = Driver::new(options.clone(), split);
        script(&mut driver);
        driver
    };
    let whole = run(Split::Whole);
    let cuts = (1..whole.longest_bytes).map(Split::At).chain([Split::EveryByte]);
    for split in cuts {
        let cut = run(split);
        assert_eq!(cut.transcript, whole.transcript, "{split:?}");
    }
}

pub fn options() -> Options {
    Options::new(ConnectionId(77), 42)
}

pub fn once(script: impl Fn(&mut Driver)) {
    script(&mut Driver::new(options(), Split::Whole));
}

impl Driver {
    pub fn new(options: Options, split: Split) -> Self {
        let now = Timestamp(1_000_000);
        Self {
            connection: Connection::new(now, options),
            now,
            split,
            input: BytesMut::new(),
            requests: VecDeque::new(),
            output: BytesMut::new(),
            transcript: Vec::new(),
            longest_bytes: 0,
        }
    }

    /// Sends bytes, cut up as this run wants it.
    pub fn send(&mut self, bytes: &[u8]) {
        self.longest_bytes = self.longest_bytes.max(bytes.len());
        let pieces: Vec<&[u8]> = match self.split {
            Split::At(at) if at < bytes.len() => vec![&bytes[..at], &bytes[at..]],
            Split::EveryByte => bytes.chunks(1).collect(),
            Split::Whole | Split::At(_) => vec![bytes],
        };
        let mut requests = Vec::new();
        let mut output = BytesMut::new();
        for piece in pieces {
            self.input.extend_from_slice(piece);
            self.connection.receive(self.now, &mut self.input);
            self.drain(&mut requests, &mut output);
        }
        self.note(requests, output);
    }

    pub fn send_method<M: Method>(&mut self, channel: u16, method: &M) {
        self.send(&method_bytes(channel, method));
    }

    pub fn event(&mut self, event: Event) {
        self.events([event]);
    }

    /// Events that come before the next write.
    pub fn events(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.connection.handle(self.now, event);
        }
        self.collect();
    }

    /// Lets time pass, timer by timer.
    pub fn pass_ms(&mut self, milliseconds: u64) {
        let end = self.now.plus_ms(milliseconds);
        while let Some(next) = self.connection.poll_timeout().filter(|next| *next <= end) {
            self.now = next.max(self.now);
            self.connection.handle_timeout(self.now);
            self.collect();
        }
        self.now = end;
    }

    /// The next request.
    pub fn request(&mut self) -> Request {
        self.requests.pop_front().expect("a request")
    }

    pub fn expect_no_request(&mut self) {
        assert!(self.requests.is_empty(), "unexpected {:?}", self.requests);
    }

    /// Answers the next request with `result`, and hands it back.
    pub fn complete(&mut self, result: Result<Completion, Refusal>) -> Request {
        let request = self.request();
        let ticket = ticket_of(&request).expect("a ticket");
        self.event(Event::Completed { ticket, result });
        request
    }

    pub fn complete_done(&mut self) -> Request {
        self.complete(Ok(Completion::Done))
    }

    pub fn refuse(&mut self, kind: RefusalKind, text: &str) -> Request {
        self.complete(Err(Refusal::new(kind, text)))
    }

    pub fn frame(&mut self) -> Option<OwnedFrame> {
        if self.output.is_empty() {
            return None;
        }
        let size = u32::from_be_bytes(self.output[3..7].try_into().unwrap()) as usize + 8;
        let bytes = self.output.split_to(size).freeze();
        let mut position = 0;
        let frame = Decoder::new(u32::MAX).next_frame(&bytes, &mut position).unwrap().expect("a whole frame");
        Some(OwnedFrame { kind: frame.kind, channel: frame.channel, payload: bytes.slice_ref(frame.payload) })
    }

    /// The next frame, which has to be this method on this channel.
    pub fn expect<M: Method>(&mut self, channel: u16) -> M {
        let frame = self.frame().unwrap_or_else(|| panic!("silence instead of {:?}", M::ID));
        assert_eq!((frame.kind, frame.channel), (FrameKind::Method, channel));
        let ids = [&M::ID.class.to_be_bytes()[..], &M::ID.method.to_be_bytes()[..]].concat();
        assert_eq!(frame.payload[..4], ids, "not {:?} but {}", M::ID, String::from_utf8_lossy(&frame.payload));
        M::read(&mut Reader::new(&frame.payload[4..], &frame.payload)).expect("readable arguments")
    }

    /// The content that follows a method: property block and body.
    pub fn expect_content(&mut self, channel: u16) -> (Bytes, Vec<Bytes>) {
        let header = self.frame().expect("a header");
        assert_eq!((header.kind, header.channel), (FrameKind::Header, channel));
        assert_eq!(header.payload[..4], [0, 60, 0, 0]);
        let size = u64::from_be_bytes(header.payload[4..12].try_into().unwrap());
        let (mut pieces, mut got) = (Vec::new(), 0);
        while got < size {
            let body = self.frame().expect("a body");
            assert_eq!((body.kind, body.channel), (FrameKind::Body, channel));
            got += body.payload.len() as u64;
            pieces.push(body.payload);
        }
        assert_eq!(got, size);
        (header.payload.slice(12..), pieces)
    }

    pub fn expect_delivery(&mut self, channel: u16) -> (basic::Deliver, Bytes, Bytes) {
        let deliver = self.expect::<basic::Deliver>(channel);
        let (header, body) = self.expect_content(channel);
        (deliver, header, body.concat().into())
    }

    pub fn expect_silence(&mut self) {
        assert!(self.output.is_empty(), "unexpected {:?}", self.output);
    }

    pub fn output(&mut self) -> Bytes {
        self.output.split().freeze()
    }

    /// The handshake, with all capabilities.
    pub fn open(&mut self) {
        self.open_with(&connection::TuneOk { channel_max: 0, frame_max: 0, heartbeat: 0 });
    }

    pub fn open_with(&mut self, tune_ok: &connection::TuneOk) {
        self.log_in(client_properties());
        self.send_method(0, tune_ok);
        self.send_method(0, &connection::Open { virtual_host: text("/"), ..Default::default() });
        self.complete_done();
        self.expect::<connection::OpenOk>(0);
    }

    /// Up to tune.
    pub fn log_in(&mut self, client_properties: Headers) {
        self.send(&PROTOCOL_HEADER);
        self.expect::<connection::Start>(0);
        self.send_method(0, &start_ok(client_properties));
        let Request::Authenticate(request) = self.request() else { panic!("no login") };
        let result = Ok(Identity { user: text("guest"), vhost: text("/") });
        self.event(Event::Authenticated { ticket: request.ticket, result });
        self.expect::<connection::Tune>(0);
    }

    pub fn open_channel(&mut self, number: u16) {
        self.send_method(number, &channel::Open::default());
        self.expect::<channel::OpenOk>(number);
    }

    /// A consumer on channel `number`; its subscription.
    pub fn consume(&mut self, number: u16, consume: &basic::Consume) -> SubscriptionId {
        self.send_method(number, consume);
        let Request::Subscribe(subscribe) = self.complete_done() else { panic!("no subscribe") };
        if !consume.no_wait {
            self.expect::<basic::ConsumeOk>(number);
        }
        subscribe.subscription
    }

    pub fn expect_channel_close(&mut self, number: u16, code: u16) -> channel::Close {
        let close = self.expect::<channel::Close>(number);
        assert_eq!(close.reply_code, code, "{:?}", close.reply_text);
        close
    }

    pub fn expect_close(&mut self, code: u16) -> connection::Close {
        let close = self.expect::<connection::Close>(0);
        assert_eq!(close.reply_code, code, "{:?}", close.reply_text);
        close
    }

    fn collect(&mut self) {
        let (mut requests, mut output) = (Vec::new(), BytesMut::new());
        self.drain(&mut requests, &mut output);
        self.note(requests, output);
    }

    fn drain(&mut self, requests: &mut Vec<Request>, output: &mut BytesMut) {
        while let Some(request) = self.connection.poll_request() {
            requests.push(request);
        }
        output.extend_from_slice(&self.connection.transmit().take());
    }

    fn note(&mut self, requests: Vec<Request>, output: BytesMut) {
        self.output.extend_from_slice(&output);
        self.transcript.push((format!("{requests:?}"), output.freeze()));
        self.requests.extend(requests);
    }
}

pub fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

pub fn method_bytes<M: Method>(channel: u16, method: &M) -> Bytes {
    let mut out = BytesMut::new();
    write_method(&mut out, channel, method);
    out.freeze()
}

pub fn frame_bytes(kind: FrameKind, channel: u16, payload: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    write_frame(&mut out, kind, channel, |out| out.extend_from_slice(payload));
    out.freeze()
}

pub fn header_bytes(channel: u16, body_bytes: u64, block: &[u8]) -> Bytes {
    let payload = [&[0, 60, 0, 0][..], &body_bytes.to_be_bytes()[..], block].concat();
    frame_bytes(FrameKind::Header, channel, &payload)
}

/// A publish with all its frames; the body in one.
pub fn publish_bytes(channel: u16, exchange: &str, key: &str, block: &[u8], body: &[u8]) -> Bytes {
    publish_frames(channel, &publish(exchange, key), block, body)
}

pub fn publish(exchange: &str, key: &str) -> basic::Publish {
    basic::Publish { exchange: text(exchange), routing_key: text(key), ..Default::default() }
}

pub fn publish_frames(channel: u16, publish: &basic::Publish, block: &[u8], body: &[u8]) -> Bytes {
    let mut all = BytesMut::new();
    all.extend_from_slice(&method_bytes(channel, publish));
    all.extend_from_slice(&header_bytes(channel, body.len() as u64, block));
    if !body.is_empty() {
        all.extend_from_slice(&frame_bytes(FrameKind::Body, channel, body));
    }
    all.freeze()
}

pub fn client_properties() -> Headers {
    let can = |name: &str| (text(name), HeaderValue::Boolean(true));
    let capabilities =
        vec![can("consumer_cancel_notify"), can("connection.blocked"), can("authentication_failure_close")];
    vec![
        (text("capabilities"), HeaderValue::Table(capabilities)),
        (text("connection_name"), HeaderValue::Text(text("tester"))),
    ]
}

pub fn start_ok(client_properties: Headers) -> connection::StartOk {
    connection::StartOk {
        client_properties,
        mechanism: text("PLAIN"),
        response: Bytes::from_static(b"\0guest\0guest"),
        locale: text("en_US"),
    }
}

pub fn ticket_of(request: &Request) -> Option<Ticket> {
    Some(match request {
        Request::Authenticate(authenticate) => authenticate.ticket,
        Request::OpenVhost { ticket, .. }
        | Request::DeleteExchange { ticket, .. }
        | Request::DeleteGroup { ticket, .. }
        | Request::PurgeGroup { ticket, .. }
        | Request::Sync { ticket }
        | Request::Get { ticket, .. } => *ticket,
        Request::DeclareExchange(declare) => declare.ticket,
        Request::DeclareGroup(declare) => declare.ticket,
        Request::Bind(bind) | Request::Unbind(bind) => bind.ticket,
        Request::Subscribe(subscribe) => subscribe.ticket,
        Request::Publish(publish) => return publish.ticket,
        Request::Unsubscribe { ticket, .. } => return *ticket,
        _ => return None,
    })
}

pub fn message(exchange: &str, key: &str, body: &[u8]) -> Message {
    Message {
        exchange: text(exchange),
        key: text(key),
        header: Bytes::from_static(&[0, 0]),
        body: Bytes::copy_from_slice(body),
        ..Message::empty(Protocol::Amqp)
    }
}

pub fn key(delivery: u64) -> DeliveryKey {
    DeliveryKey { attachment: 9, delivery }
}

pub fn delivery(subscription: SubscriptionId, number: u64, message: Message) -> Delivery {
    Delivery {
        subscription,
        others: None,
        key: Some(key(number)),
        message: Arc::new(message),
        properties: None,
        redelivered: false,
        retained: false,
        delivery_count: 0,
    }
}

/// Delivers messages `numbers`, whose bodies are their numbers.
pub fn deliver(driver: &mut Driver, subscription: SubscriptionId, numbers: impl IntoIterator<Item = u64>) {
    let event =
        |number: u64| Event::Deliver(delivery(subscription, number, message("", "q", number.to_string().as_bytes())));
    driver.events(numbers.into_iter().map(event));
}

/// What the next settle says.
pub fn settled(driver: &mut Driver) -> (u64, braid_types::Outcome) {
    match driver.request() {
        Request::Settle { key, outcome } => (key.delivery, outcome),
        other => panic!("not a settle: {other:?}"),
    }
}

impl Driver {
    /// An event between whose handling and the next write something else happens.
    pub fn connection_handle_without_write(&mut self, event: Event) {
        self.connection.handle(self.now, event);
    }
}
