//! Runs a scene against a target. The clock starts after a warm-up and stops before the drain, so neither counts.

use std::{
    io,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    Histogram, LogFigures, Scene, Target,
    clients::{Connection, Counters, connect, consume, publish, read_answers},
    pace::per_s,
    process::{cpu_us, peak_memory_bytes, ticks_per_s},
    tracker::Tracker,
};

/// How long may pass between the last publish and the last delivery.
const DRAIN_MAX: Duration = Duration::from_secs(60);

/// How often the drain is looked at.
const DRAIN_EVERY: Duration = Duration::from_millis(20);

/// How long to run.
#[derive(Clone, Copy, Debug)]
pub struct Durations {
    /// Before the clock starts.
    pub warm_up: Duration,
    /// While it runs.
    pub measured: Duration,
}

/// What was measured of one run that lost and doubled nothing.
#[derive(Clone, Debug)]
pub struct Measure {
    /// Messages delivered while the clock ran.
    pub messages: u64,
    /// How long it ran.
    pub elapsed: Duration,
    /// Messages delivered per second.
    pub messages_per_s: u64,
    /// CPU of the broker per message, in nanoseconds; `None` without process ids.
    pub cpu_ns: Option<u64>,
    /// CPU of the load itself per message, in nanoseconds. Where it fills the cores that the broker leaves, the load was
    /// the limit, and only the broker's CPU says something.
    pub load_cpu_ns: u64,
    /// Peak resident memory of the broker since its start, in bytes; `None` without process ids.
    pub memory_bytes: Option<u64>,
    /// What the broker's log did meanwhile; `None` where the broker does not say.
    pub log: Option<LogFigures>,
    /// Time from publish to delivery.
    pub latency: Histogram,
    /// Deliveries of each consumer.
    pub shares: Vec<u64>,
}

type Consumer = JoinHandle<io::Result<(Tracker, Histogram, u64)>>;
type Publisher = JoinHandle<io::Result<()>>;

/// Runs `scene` against `target`.
///
/// # Errors
/// When a connection fails, or when messages were lost or doubled: then there is no figure.
pub fn run(scene: &Scene, target: &Target, durations: Durations) -> Result<Measure, String> {
    let counters = Arc::new(Counters::default());
    let (consumers, publisher) = start(scene, target, &counters).map_err(|error| format!("at the start: {error}"))?;
    thread::sleep(durations.warm_up);
    let mut measure = measure(target, &counters, durations.measured).map_err(|error| error.to_string())?;
    counters.publishing_is_over.store(true, Relaxed);
    let [writing, reading] = publisher;
    let written = join(writing, "publisher");
    if written.is_ok() {
        drain(&counters);
    }
    counters.run_is_over.store(true, Relaxed);
    // What the broker said explains more than that a write failed.
    join(reading, "answers to the publisher")?;
    written?;
    let mut all = Tracker::default();
    for consumer in consumers {
        let (tracker, latency, received) = join(consumer, "consumer")?;
        all.merge(&tracker);
        measure.latency.merge(&latency);
        measure.shares.push(received);
    }
    let sent = counters.sent.load(Relaxed);
    all.check(sent)?;
    let confirmed = counters.confirmed.load(Relaxed);
    if scene.acknowledged && confirmed != sent {
        return Err(format!("{sent} sent, {confirmed} confirmed"));
    }
    Ok(measure)
}

fn start(scene: &Scene, target: &Target, counters: &Arc<Counters>) -> io::Result<(Vec<Consumer>, [Publisher; 2])> {
    let start = Instant::now();
    let mut consumers = Vec::new();
    for index in 0..scene.consumers {
        let connection = connect(scene, target, true, index)?;
        let counters = Arc::clone(counters);
        consumers.push(thread::spawn(move || consume(connection, &counters, start)));
    }
    let Connection { link, encoder, decoder, window } = connect(scene, target, false, 0)?;
    let socket = Arc::new(Mutex::new(link.writer()?));
    let (scene, shared) = (*scene, Arc::clone(counters));
    let replies_to = Arc::clone(&socket);
    let writing = thread::spawn(move || publish(&socket, encoder, window, &scene, &shared, start));
    let shared = Arc::clone(counters);
    let reading = thread::spawn(move || read_answers(link, decoder, &replies_to, &shared));
    Ok((consumers, [writing, reading]))
}

fn measure(target: &Target, counters: &Counters, duration: Duration) -> io::Result<Measure> {
    let ticks_per_s = ticks_per_s()?;
    let own = [std::process::id()];
    let sample = || io::Result::Ok((cpu_us(&target.pids, ticks_per_s)?, cpu_us(&own, ticks_per_s)?));
    let ask_log = || target.http.map_or(Ok(None), LogFigures::ask);
    let log_before = ask_log()?;
    let (began, received_before, (cpu_before, own_before)) =
        (Instant::now(), counters.received.load(Relaxed), sample()?);
    counters.measuring.store(true, Relaxed);
    thread::sleep(duration);
    counters.measuring.store(false, Relaxed);
    let (elapsed, received_after, (cpu_after, own_after)) =
        (began.elapsed(), counters.received.load(Relaxed), sample()?);
    let log = log_before.zip(ask_log()?).map(|(before, after)| after.since(before));
    let messages = received_after - received_before;
    let per_message_ns = |used_us: u64| used_us * 1_000 / messages.max(1);
    let known = !target.pids.is_empty();
    Ok(Measure {
        messages,
        elapsed,
        messages_per_s: per_s(messages, elapsed),
        cpu_ns: known.then(|| per_message_ns(cpu_after - cpu_before)),
        load_cpu_ns: per_message_ns(own_after - own_before),
        memory_bytes: known.then(|| peak_memory_bytes(&target.pids)).transpose()?,
        log,
        latency: Histogram::default(),
        shares: Vec::new(),
    })
}

/// Waits until all that was sent has come, or no more can be expected; what is missing shows in the trackers.
fn drain(counters: &Counters) {
    let began = Instant::now();
    while counters.received.load(Relaxed) < counters.sent.load(Relaxed) && began.elapsed() < DRAIN_MAX {
        thread::sleep(DRAIN_EVERY);
    }
}

fn join<T>(thread: JoinHandle<io::Result<T>>, who: &str) -> Result<T, String> {
    thread.join().map_err(|_| format!("{who}: the thread broke"))?.map_err(|error| format!("{who}: {error}"))
}
