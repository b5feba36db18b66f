//! The threads of a run: a publisher, its reader of answers, and consumers. They share counters.
//!
//! The publisher's two threads write to one socket: a batch and a reply never mix, since each is written under its lock.

use std::{
    io::{self, Write},
    net::TcpStream,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    Histogram, Protocol, Scene, Target, amqp,
    link::{Codec, Found, Link},
    mqtt, nats, payload,
    tracker::Tracker,
};

/// Messages that are encoded before they are written.
const BATCH_MESSAGES: u64 = 128;

/// How long the publisher rests when its window is full. Shorter would take CPU from the broker.
const REST: Duration = Duration::from_micros(50);

/// What the threads share.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Messages written.
    pub(crate) sent: AtomicU64,
    /// Of these, confirmed by the broker.
    pub(crate) confirmed: AtomicU64,
    /// Messages that consumers received.
    pub(crate) received: AtomicU64,
    /// Latencies count just now.
    pub(crate) measuring: AtomicBool,
    /// The publisher is to end.
    pub(crate) publishing_is_over: AtomicBool,
    /// All are to end.
    pub(crate) run_is_over: AtomicBool,
}

/// A connection: its socket, a codec for each direction, and how many messages may be open on it.
pub(crate) struct Connection {
    pub(crate) link: Link,
    pub(crate) encoder: Box<dyn Codec>,
    pub(crate) decoder: Box<dyn Codec>,
    pub(crate) window: u64,
}

/// Connects a consumer of `scene` (`subscribe`), or its publisher.
///
/// # Errors
/// When the broker does not answer as expected.
pub(crate) fn connect(scene: &Scene, target: &Target, subscribe: bool, index: usize) -> io::Result<Connection> {
    let mut window = scene.window;
    let (link, encoder, decoder): (Link, Box<dyn Codec>, Box<dyn Codec>) = match scene.protocol {
        Protocol::Amqp => {
            let (link, codec) = amqp::connect(target.address, scene, subscribe)?;
            (link, Box::new(codec.clone()), Box::new(codec))
        }
        Protocol::Mqtt => {
            let (link, codec) = mqtt::connect(target.address, scene, subscribe, index)?;
            if scene.acknowledged {
                window = window.min(codec.receive_maximum.into());
            }
            (link, Box::new(codec.clone()), Box::new(codec))
        }
        Protocol::Nats => {
            let (link, codec) = nats::connect(target.address, scene, subscribe)?;
            (link, Box::new(codec.clone()), Box::new(codec))
        }
    };
    Ok(Connection { link, encoder, decoder, window })
}

/// Publishes until it is told to end, never more than the window ahead.
///
/// # Errors
/// When the connection breaks.
pub(crate) fn publish(
    socket: &Mutex<TcpStream>,
    mut encoder: Box<dyn Codec>,
    window: u64,
    scene: &Scene,
    counters: &Counters,
    start: Instant,
) -> io::Result<()> {
    let mut body = vec![b'.'; scene.size_bytes.max(payload::BYTES_MIN)];
    let done = if scene.acknowledged { &counters.confirmed } else { &counters.received };
    let mut batch = Vec::new();
    let mut sent = 0;
    while !counters.publishing_is_over.load(Relaxed) {
        let room = window.saturating_sub(sent - done.load(Relaxed).min(sent));
        if room == 0 {
            thread::sleep(REST);
            continue;
        }
        batch.clear();
        for _ in 0..room.min(BATCH_MESSAGES) {
            payload::write(&mut body, sent, start);
            encoder.publish(&body, &mut batch);
            sent += 1;
        }
        send(socket, &batch)?;
        counters.sent.store(sent, Relaxed);
    }
    Ok(())
}

/// Reads what the broker answers to the publisher, until the run is over.
///
/// # Errors
/// When the connection breaks or the broker complains.
pub(crate) fn read_answers(
    mut link: Link,
    mut decoder: Box<dyn Codec>,
    socket: &Mutex<TcpStream>,
    counters: &Counters,
) -> io::Result<()> {
    let mut found = Found::default();
    while !counters.run_is_over.load(Relaxed) {
        link.fill()?;
        let used = decoder.parse(link.unread(), &mut found, &mut |_| {})?;
        link.used(used);
        counters.confirmed.fetch_add(std::mem::take(&mut found.confirmed), Relaxed);
        if !found.replies.is_empty() {
            send(socket, &found.replies)?;
            found.replies.clear();
        }
    }
    Ok(())
}

fn send(socket: &Mutex<TcpStream>, bytes: &[u8]) -> io::Result<()> {
    let mut socket = socket.lock().map_err(|_| io::Error::other("the other thread of the publisher broke"))?;
    socket.write_all(bytes)
}

/// Receives and acknowledges until the run is over.
///
/// # Errors
/// When the connection breaks, the broker complains, or a body is not ours.
pub(crate) fn consume(
    connection: Connection,
    counters: &Counters,
    start: Instant,
) -> io::Result<(Tracker, Histogram, u64)> {
    let Connection { mut link, mut decoder, .. } = connection;
    let (mut found, mut tracker, mut latency) = (Found::default(), Tracker::default(), Histogram::default());
    let (mut strange, mut total) = (0_u64, 0_u64);
    while !counters.run_is_over.load(Relaxed) {
        link.fill()?;
        let now_ns = payload::elapsed_ns(start);
        let measuring = counters.measuring.load(Relaxed);
        let mut received = 0;
        let used = decoder.parse(link.unread(), &mut found, &mut |body| {
            let Some((number, sent_ns)) = payload::read(body) else {
                strange += 1;
                return;
            };
            tracker.enter(number);
            received += 1;
            if measuring {
                latency.add(now_ns.saturating_sub(sent_ns));
            }
        })?;
        link.used(used);
        link.send(&found.replies)?;
        found.replies.clear();
        counters.received.fetch_add(received, Relaxed);
        total += received;
    }
    if strange > 0 {
        return Err(io::Error::other(format!("{strange} messages are not of this run")));
    }
    Ok((tracker, latency, total))
}
