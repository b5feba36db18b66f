//! A client that talks to one endpoint, and a broker that serves only this client: it carries requests out in order, at
//! once, and routes by the text of subjects. Never touches a socket or a clock.

use std::{collections::VecDeque, sync::Arc};

use braid_nats::{Connection, Options};
use braid_types::{
    Completion, ConnectionId, Delivery, Endpoint, Event, Identity, Message, Protocol, PublishResult, Refusal, Request,
    Source, SubscriptionId, Timestamp,
};
use bytes::{Bytes, BytesMut};

/// `CONNECT` of a usual client, quiet.
pub(crate) const CONNECT: &str = "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\
                           \"protocol\":1}\r\n";
/// The same, verbose.
pub(crate) const VERBOSE: &str = "CONNECT {\"verbose\":true,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\
                           \"protocol\":1}\r\n";
/// The same, pedantic.
pub(crate) const PEDANTIC: &str = "CONNECT {\"verbose\":false,\"pedantic\":true,\"headers\":true,\"no_responders\":true,\
                            \"protocol\":1}\r\n";

struct Subscribed {
    id: SubscriptionId,
    filter: Bytes,
    no_local: bool,
}

/// The client and its broker.
pub(crate) struct Driver {
    pub(crate) endpoint: Connection,
    pub(crate) now: Timestamp,
    pub(crate) input: BytesMut,
    /// What the endpoint sent since the greeting; `INFO` lines shortened.
    pub(crate) output: String,
    /// Requests, as text, in order.
    pub(crate) log: Vec<String>,
    /// Refuse to let anybody in.
    pub(crate) admission: Option<Refusal>,
    /// Refuse subscriptions.
    pub(crate) subscribe_refusal: Option<Refusal>,
    /// Answers are kept here instead of being given.
    pub(crate) held_events: Option<VecDeque<Event>>,
    subscribed: Vec<Subscribed>,
}

impl Driver {
    /// A connection that was just accepted, its greeting read.
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    /// The same with these options.
    pub(crate) fn with(options: Options) -> Self {
        let now = Timestamp(1_000_000);
        let mut driver = Self {
            endpoint: Connection::new(now, options),
            now,
            input: BytesMut::new(),
            output: String::new(),
            log: Vec::new(),
            admission: None,
            subscribe_refusal: None,
            held_events: None,
            subscribed: Vec::new(),
        };
        driver.read();
        assert!(driver.output.starts_with("INFO"), "no greeting");
        driver.output.clear();
        driver
    }

    /// A client that sent `connect` and was let in.
    pub(crate) fn connected(connect: &str) -> Self {
        let mut driver = Self::new();
        driver.send(connect.as_bytes());
        driver.output.clear();
        driver.log.clear();
        driver
    }

    /// The client sends; what comes back is appended to `output`.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        self.endpoint.receive(self.now, &mut self.input);
        self.serve();
    }

    /// The client sends and gets this back.
    pub(crate) fn talk(&mut self, text: &str) -> String {
        self.send(text.as_bytes());
        std::mem::take(&mut self.output)
    }

    /// The broker says something.
    pub(crate) fn tell(&mut self, event: Event) -> String {
        self.endpoint.handle(self.now, event);
        self.serve();
        std::mem::take(&mut self.output)
    }

    /// Gives the answers that were held.
    pub(crate) fn release(&mut self) -> String {
        for event in self.held_events.take().unwrap_or_default() {
            self.endpoint.handle(self.now, event);
        }
        self.serve();
        std::mem::take(&mut self.output)
    }

    /// Lets time pass, calling the endpoint when it wants to be called.
    pub(crate) fn pass_ms(&mut self, milliseconds: u64) -> String {
        let end = self.now.plus_ms(milliseconds);
        while let Some(next) = self.endpoint.poll_timeout().filter(|next| *next <= end) {
            self.now = next.max(self.now);
            self.endpoint.handle_timeout(self.now);
            self.serve();
        }
        self.now = end;
        std::mem::take(&mut self.output)
    }

    /// Delivers `message` to `subscription`.
    pub(crate) fn deliver(&mut self, subscription: u64, message: Message) -> String {
        self.tell(Event::Deliver(delivery(subscription, message)))
    }

    fn serve(&mut self) {
        while let Some(request) = self.endpoint.poll_request() {
            self.log.push(format!("{request:?}"));
            for event in self.carry_out(request) {
                if let Some(held) = &mut self.held_events {
                    held.push_back(event);
                } else {
                    self.endpoint.handle(self.now, event);
                }
            }
        }
        self.read();
    }

    fn read(&mut self) {
        let bytes = self.endpoint.transmit().take();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(line);
            self.output.push_str(if text.starts_with("INFO {") { "INFO\r\n" } else { &text });
        }
    }

    fn carry_out(&mut self, request: Request) -> Vec<Event> {
        match request {
            Request::Authenticate(authenticate) => {
                let result = match self.admission.clone() {
                    Some(refusal) => Err(refusal),
                    None => Ok(Identity { user: Bytes::from_static(b"u"), vhost: Bytes::from_static(b"/") }),
                };
                vec![Event::Authenticated { ticket: authenticate.ticket, result }]
            }
            Request::Subscribe(subscribe) => {
                if let Some(refusal) = self.subscribe_refusal.clone() {
                    return vec![Event::Completed { ticket: subscribe.ticket, result: Err(refusal) }];
                }
                let filter = match subscribe.source {
                    Source::Filter { filter, .. } => filter,
                    Source::Group { name } => name,
                };
                let (id, no_local) = (subscribe.subscription, subscribe.no_local);
                self.subscribed.push(Subscribed { id, filter, no_local });
                vec![Event::Completed { ticket: subscribe.ticket, result: Ok(Completion::Done) }]
            }
            Request::Unsubscribe { ticket, subscription, .. } => {
                let before = self.subscribed.len();
                self.subscribed.retain(|subscribed| subscribed.id != subscription);
                let existed = self.subscribed.len() < before;
                let result = Ok(Completion::Unsubscribed { existed });
                ticket.map(|ticket| Event::Completed { ticket, result }).into_iter().collect()
            }
            Request::Publish(publish) => {
                let message = &publish.message;
                let receivers =
                    self.subscribed.iter().filter(|one| !one.no_local && matches(&one.filter, &message.key));
                let mut events: Vec<Event> =
                    receivers.map(|one| Event::Deliver(delivery(one.id.0, message.as_ref().clone()))).collect();
                let result = if events.is_empty() { PublishResult::Unroutable } else { PublishResult::Accepted };
                events.extend(publish.ticket.map(|ticket| Event::Published { ticket, result }));
                events
            }
            Request::Settle { .. } => Vec::new(),
            other => unreachable!("a NATS client cannot ask for {other:?}"),
        }
    }
}

/// A delivery as the broker makes it.
pub(crate) fn delivery(subscription: u64, message: Message) -> Delivery {
    Delivery {
        subscription: SubscriptionId(subscription),
        others: None,
        key: None,
        message: Arc::new(message),
        properties: None,
        redelivered: false,
        retained: false,
        delivery_count: 0,
    }
}

/// A message of another NATS client.
pub(crate) fn message(key: &'static str, body: &'static str) -> Message {
    Message {
        key: Bytes::from_static(key.as_bytes()),
        body: Bytes::from_static(body.as_bytes()),
        publisher: ConnectionId(99),
        ..Message::empty(Protocol::Nats)
    }
}

fn matches(filter: &[u8], subject: &[u8]) -> bool {
    let filter: Vec<&[u8]> = filter.split(|byte| *byte == b'.').collect();
    let subject: Vec<&[u8]> = subject.split(|byte| *byte == b'.').collect();
    if subject.iter().any(|token| token.is_empty()) {
        return false;
    }
    let fits = |(filter, subject): (&&[u8], &&[u8])| *filter == b"*" || filter == subject;
    match filter.split_last() {
        Some((last, front)) if *last == b">" => subject.len() > front.len() && front.iter().zip(&subject).all(fits),
        _ => filter.len() == subject.len() && filter.iter().zip(&subject).all(fits),
    }
}

/// Sends `input` on a fresh connection, in two pieces at every position and byte by byte: the answer is always
/// `expected`, and so are the requests. Gives the requests.
pub(crate) fn golden(input: &str, expected: &str) -> Vec<String> {
    let mut whole = Driver::new();
    whole.send(input.as_bytes());
    assert_eq!(whole.output, expected, "in one piece");
    for position in 0..=input.len() {
        let (first, second) = input.as_bytes().split_at(position);
        let mut split = Driver::new();
        split.send(first);
        split.send(second);
        assert_eq!(split.output, expected, "split at {position}");
        assert_eq!(essence(&split.log), essence(&whole.log), "split at {position}");
    }
    let mut single = Driver::new();
    for byte in input.as_bytes() {
        single.send(&[*byte]);
    }
    assert_eq!(single.output, expected, "byte by byte");
    assert_eq!(single.endpoint.is_closing(), whole.endpoint.is_closing());
    whole.log
}

/// Requests without what depends on how much was under way: barriers, tickets, and the ends of subscriptions that have
/// had their messages.
pub(crate) fn essence(log: &[String]) -> Vec<String> {
    let barrier = format!("{:?}", SubscriptionId(u64::MAX));
    let is_timely =
        |request: &&String| !request.contains(&barrier) && !request.starts_with("Unsubscribe { ticket: None");
    let without_ticket = |request: &String| {
        let (before, after) = request.split_once("Ticket(").unwrap_or((request, ")"));
        format!("{before}{}", after.split_once(')').unwrap_or(("", after)).1)
    };
    log.iter().filter(is_timely).map(without_ticket).collect()
}
