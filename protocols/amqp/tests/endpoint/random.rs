//! Random bytes, and valid streams with random damage: no panic, bounded memory, and the same outcome however the input is
//! split.

use braid_amqp::{
    Connection,
    frame::{FrameKind, PROTOCOL_HEADER},
    method::{basic, channel, confirm, connection, exchange, queue},
};
use braid_types::{
    Completion, Endpoint, Event, Identity, Message, PublishResult, Refusal, RefusalKind, Request, SubscriptionId,
    Timestamp,
};
use bytes::BytesMut;
use proptest::prelude::*;

use crate::driver::{
    client_properties, delivery, frame_bytes, header_bytes, message, method_bytes, options, publish, publish_bytes,
    start_ok, text,
};

/// A broker that answers everything at once: good, and now and then not.
#[derive(Default)]
struct Broker {
    answered: u64,
    delivered: u64,
}

impl Broker {
    fn answer(&mut self, request: Request) -> Vec<Event> {
        self.answered += 1;
        let bad = self.answered % 7 == 6;
        let result = |good| if bad { Err(Refusal::new(RefusalKind::PreconditionFailed, "no")) } else { Ok(good) };
        let (ticket, good) = match request {
            Request::Authenticate(login) => {
                let identity = Identity { user: text("u"), vhost: text("/") };
                return vec![Event::Authenticated { ticket: login.ticket, result: Ok(identity) }];
            }
            Request::OpenVhost { ticket, .. } => {
                return vec![Event::Completed { ticket, result: Ok(Completion::Done) }];
            }
            Request::DeclareGroup(declare) => {
                let name = if declare.name.is_empty() { text("amq.gen-x") } else { declare.name };
                (declare.ticket, Completion::Declared { name, message_count: 1, consumer_count: 1 })
            }
            Request::DeclareExchange(declare) => (declare.ticket, Completion::Done),
            Request::DeleteGroup { ticket, .. } | Request::PurgeGroup { ticket, .. } => {
                (ticket, Completion::Removed { message_count: 1 })
            }
            Request::DeleteExchange { ticket, .. } => (ticket, Completion::Done),
            Request::Bind(bind) | Request::Unbind(bind) => (bind.ticket, Completion::Done),
            Request::Subscribe(subscribe) => {
                let mut events = vec![Event::Completed { ticket: subscribe.ticket, result: Ok(Completion::Done) }];
                events.extend((0..3).map(|_| Event::Deliver(self.delivery(subscribe.subscription))));
                return events;
            }
            Request::Unsubscribe { ticket: Some(ticket), .. } => (ticket, Completion::Unsubscribed { existed: true }),
            Request::Get { ticket, .. } => {
                let delivery = (!bad).then(|| Box::new(self.delivery(SubscriptionId(0))));
                return vec![Event::Got { ticket, delivery, remaining: 0 }];
            }
            Request::Publish(publish) => return published(publish, bad),
            _ => return Vec::new(),
        };
        vec![Event::Completed { ticket, result: result(good) }]
    }

    fn delivery(&mut self, subscription: SubscriptionId) -> braid_types::Delivery {
        self.delivered += 1;
        let count = u32::try_from(self.delivered % 3).unwrap();
        let message: Message = message("", "q", b"body");
        braid_types::Delivery { delivery_count: count, ..delivery(subscription, self.delivered, message) }
    }
}

fn published(publish: braid_types::Publish, bad: bool) -> Vec<Event> {
    let mut events = Vec::new();
    if publish.mandatory || bad {
        let refusal = (bad && !publish.mandatory).then(|| Refusal::new(RefusalKind::NotFound, "no exchange"));
        let (ticket, channel) = (publish.ticket, publish.channel);
        events.push(Event::Returned { ticket, channel, message: publish.message, refusal });
    }
    if let Some(ticket) = publish.ticket {
        let result = if bad { PublishResult::Refused(RefusalKind::LimitReached) } else { PublishResult::Accepted };
        events.push(Event::Published { ticket, result });
    }
    events
}

/// Feeds `pieces`, with the broker's answers after the last one (`at_once` false) or after each.
fn run(pieces: &[&[u8]], at_once: bool) -> (Vec<String>, Vec<u8>) {
    let mut now = Timestamp(0);
    let mut connection = Connection::new(now, options());
    let (mut broker, mut requests, mut output) = (Broker::default(), Vec::new(), Vec::new());
    let mut input = BytesMut::new();
    let (mut fed, mut open) = (0, Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        fed += piece.len();
        connection.receive(now, &mut input);
        while let Some(request) = connection.poll_request() {
            requests.push(format!("{request:?}"));
            open.push(request);
        }
        output.extend_from_slice(&connection.transmit().take());
        assert!(input.len() <= fed && open.len() <= fed, "no more than was received");
        if at_once {
            answer_all(&mut connection, now, &mut broker, &mut open, &mut requests, &mut output);
        }
    }
    answer_all(&mut connection, now, &mut broker, &mut open, &mut requests, &mut output);
    assert!(output.len() <= 4096 + fed * 64, "output is bounded by input");
    for _ in 0..4 {
        let Some(next) = connection.poll_timeout() else { break };
        now = next;
        connection.handle_timeout(now);
    }
    connection.handle(now, Event::ConnectionLost);
    assert!(connection.is_closing());
    (requests, output)
}

fn answer_all(
    connection: &mut Connection,
    now: Timestamp,
    broker: &mut Broker,
    open: &mut Vec<Request>,
    requests: &mut Vec<String>,
    output: &mut Vec<u8>,
) {
    while !open.is_empty() {
        for request in core::mem::take(open) {
            for event in broker.answer(request) {
                connection.handle(now, event);
            }
        }
        while let Some(request) = connection.poll_request() {
            requests.push(format!("{request:?}"));
            open.push(request);
        }
        output.extend_from_slice(&connection.transmit().take());
    }
}

fn handshake() -> Vec<u8> {
    [
        &PROTOCOL_HEADER[..],
        &method_bytes(0, &start_ok(client_properties())),
        &method_bytes(0, &connection::TuneOk { channel_max: 0, frame_max: 0, heartbeat: 1 }),
        &method_bytes(0, &connection::Open { virtual_host: text("/"), ..Default::default() }),
        &method_bytes(1, &channel::Open::default()),
        &method_bytes(2, &channel::Open::default()),
    ]
    .concat()
}

/// One frame of every kind that a client may send.
fn frames() -> Vec<Vec<u8>> {
    let block = b"\xb9\x00\x01t\x00\x00\x00\x04\x01kB\x80\x02\x05\x041500";
    let mandatory = basic::Publish { mandatory: true, ..publish("x", "k") };
    let tag = |tag: &str| basic::Consume { queue: text("q"), consumer_tag: text(tag), ..Default::default() };
    let all: Vec<bytes::Bytes> = vec![
        method_bytes(1, &confirm::Select::default()),
        method_bytes(1, &exchange::Declare { exchange: text("x"), kind: text("topic"), ..Default::default() }),
        method_bytes(1, &queue::Declare { queue: text("q"), ..Default::default() }),
        method_bytes(1, &queue::Declare::default()),
        method_bytes(1, &queue::Bind { exchange: text("x"), ..Default::default() }),
        method_bytes(1, &queue::Unbind { exchange: text("x"), ..Default::default() }),
        method_bytes(1, &queue::Purge::default()),
        publish_bytes(1, "x", "k", block, b"hello"),
        publish_bytes(2, "", "q", &[0, 0], b""),
        method_bytes(2, &mandatory),
        header_bytes(2, 6, block),
        frame_bytes(FrameKind::Body, 2, b"abc"),
        frame_bytes(FrameKind::Body, 2, b"def"),
        method_bytes(1, &basic::Qos { prefetch_count: 2, global: true, ..Default::default() }),
        method_bytes(1, &tag("a")),
        method_bytes(1, &tag("b")),
        method_bytes(1, &basic::Get { queue: text("q"), ..Default::default() }),
        method_bytes(1, &basic::Ack { delivery_tag: 1, multiple: false }),
        method_bytes(1, &basic::Nack { delivery_tag: 2, multiple: true, requeue: true }),
        method_bytes(1, &basic::Reject { delivery_tag: 3, requeue: false }),
        method_bytes(1, &basic::Cancel { consumer_tag: text("a"), no_wait: false }),
        method_bytes(1, &basic::Recover { requeue: true }),
        method_bytes(1, &channel::Close::default()),
        method_bytes(1, &channel::CloseOk {}),
        method_bytes(1, &channel::Open::default()),
        method_bytes(1, &queue::Delete { queue: text("q"), ..Default::default() }),
        method_bytes(1, &exchange::Delete { exchange: text("x"), ..Default::default() }),
        frame_bytes(FrameKind::Heartbeat, 0, &[]),
        method_bytes(0, &connection::Close::default()),
    ];
    all.into_iter().map(|bytes| bytes.to_vec()).collect()
}

#[derive(Clone, Debug)]
enum Damage {
    Flip { at: usize, bits: u8 },
    Remove { at: usize, count: usize },
    Insert { at: usize, octets: Vec<u8> },
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => (any::<usize>(), 1..=u8::MAX).prop_map(|(at, bits)| Damage::Flip { at, bits }),
        1 => (any::<usize>(), 1_usize..12).prop_map(|(at, count)| Damage::Remove { at, count }),
        1 => (any::<usize>(), proptest::collection::vec(any::<u8>(), 1..12))
            .prop_map(|(at, octets)| Damage::Insert { at, octets }),
    ]
}

fn apply(stream: &mut Vec<u8>, damage: &Damage) {
    let place = |at: usize, stream: &[u8]| at % stream.len().max(1);
    match damage {
        Damage::Flip { at, bits } => {
            let place = place(*at, stream);
            if let Some(octet) = stream.get_mut(place) {
                *octet ^= bits;
            }
        }
        Damage::Remove { at, count } => {
            let from = place(*at, stream);
            let to = (from + count).min(stream.len());
            stream.drain(from..to);
        }
        Damage::Insert { at, octets } => {
            let place = place(*at, stream);
            stream.splice(place..place, octets.iter().copied());
        }
    }
}

fn cut<'a>(stream: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|at| at % (stream.len() + 1)).collect();
    places.extend([0, stream.len()]);
    places.sort_unstable();
    places.windows(2).map(|ends| &stream[ends[0]..ends[1]]).collect()
}

proptest! {
    #[test]
    fn random_bytes_are_survived(octets in any::<Vec<u8>>(), in_handshake in any::<bool>()) {
        let stream = if in_handshake { [&PROTOCOL_HEADER[..], &octets].concat() } else { octets };
        run(&[&stream], true);
    }

    #[test]
    fn random_bytes_after_the_handshake_are_survived(octets in any::<Vec<u8>>()) {
        run(&[&handshake(), &octets], true);
    }

    #[test]
    fn random_orders_of_good_frames_are_survived(
        order in proptest::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let frames = frames();
        let stream: Vec<Vec<u8>> = order.iter().map(|at| at.get(&frames).clone()).collect();
        let mut pieces = vec![handshake()];
        pieces.extend(stream);
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        run(&pieces, true);
    }

    #[test]
    fn damaged_streams_end_the_same_however_they_are_split(
        order in proptest::collection::vec(any::<prop::sample::Index>(), 0..30),
        damages in proptest::collection::vec(damage(), 0..4),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
        damage_handshake in prop::bool::weighted(0.2),
    ) {
        let frames = frames();
        let mut stream = order.iter().map(|at| at.get(&frames).clone()).collect::<Vec<_>>().concat();
        let mut start = handshake();
        for damage in &damages {
            apply(if damage_handshake { &mut start } else { &mut stream }, damage);
        }
        run(&[&start, &stream], true);
        let whole = [start, stream].concat();
        let split = run(&cut(&whole, &cuts), false);
        prop_assert_eq!(run(&[&whole], false), split);
    }
}
