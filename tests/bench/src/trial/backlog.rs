//! Whether a queue that is far behind is as fast as an empty one, in and out.
//!
//! A log that grows without end writes faster than files can be made ahead of it; an idle one has some ready. So the rate
//! on top of the backlog is measured twice: at once, and after a rest, as idle as the empty queue was.
//!
//! The rate into an empty queue is that of the first tenth of the backlog: from no message on, without a consumer, just
//! as the rate on top of it is measured. The rate out is held against scene A1 on the same broker.

use std::{io, time::Duration};

use super::{Plan, seconds};
use crate::{
    SCENES, Target,
    amqp::Session,
    broker::Broker,
    figures::{MIB, decimal, ratio},
    flow::{self, Inflow},
    load,
    log_figures::LogFigures,
    process::memory_bytes,
};

const QUEUE: &str = "bench-backlog";
const MESSAGES: u64 = 5_000_000;
const SIZE_BYTES: usize = 256;
const PREFETCH: u16 = 500;
/// Long enough for the log to make files ahead.
const REST: Duration = Duration::from_secs(5);

pub(super) fn run(plan: &Plan, say: &dyn Fn(&str)) -> io::Result<()> {
    let backlog = plan.count(MESSAGES);
    let mut broker = Broker::start("backlog", &plan.settings)?;
    let usual_per_s = usual(plan, &broker)?;
    say(&format!("  A1 on this broker: {usual_per_s} msg/s"));

    let total = fill(backlog, &broker, say)?;
    state(&broker, "before the stop", say)?;
    broker.stop()?;
    broker.drop_page_cache()?;
    broker.launch()?;
    state(&broker, "after the cold start", say)?;
    say(&format!("  cold start: ready after {}", seconds(broker.start_took)));

    let mut session = Session::open(broker.amqp)?;
    let found = session.message_count(QUEUE)?;
    if found != total {
        return Err(io::Error::other(format!("{total} messages were confirmed, {found} are there")));
    }
    let out = flow::drain(session, QUEUE, total, PREFETCH)?;
    let first_ms = decimal(u64::try_from(out.first_took.as_micros()).unwrap_or(u64::MAX), 1_000);
    say(&format!("  out of the backlog: {} msg/s, slowest tenth {}/s", out.per_s, out.slowest_per_s));
    say(&format!("  first delivery after {first_ms} ms; out of the backlog / A1: {}", ratio(out.per_s, usual_per_s)));
    state(&broker, "when all is out", say)
}

/// Messages per second of scene A1 on this broker; it warms it up as well.
fn usual(plan: &Plan, broker: &Broker) -> io::Result<u64> {
    let scene = SCENES.iter().find(|scene| scene.name == "A1").ok_or_else(|| io::Error::other("no scene A1"))?;
    let target = Target { side: "ours", address: broker.amqp, pids: vec![broker.pid()?], http: Some(broker.http) };
    load::run(scene, &target, plan.durations).map(|measure| measure.messages_per_s).map_err(io::Error::other)
}

/// Publishes the backlog and a tenth of it on top; returns how many messages wait then.
fn fill(backlog: u64, broker: &Broker, say: &dyn Fn(&str)) -> io::Result<u64> {
    let mut session = Session::open(broker.amqp)?;
    session.declare(QUEUE)?;
    let mut inflow = Inflow::open(session, "", QUEUE, SIZE_BYTES)?;
    let tenth = backlog / 10;
    let (empty_per_s, _) = inflow.publish(tenth)?;
    say(&format!("  into an empty queue: {empty_per_s} msg/s ({tenth} messages of {SIZE_BYTES} B)"));
    let (fill_per_s, slowest_per_s) = inflow.publish(backlog - tenth)?;
    say(&format!("  until {backlog} wait: {fill_per_s} msg/s, slowest tenth {slowest_per_s}/s"));
    let (top_per_s, _) = inflow.publish(tenth)?;
    say(&format!("  on top of these: {top_per_s} msg/s; on top / empty: {}", ratio(top_per_s, empty_per_s)));
    std::thread::sleep(REST);
    let (rested_per_s, _) = inflow.publish(tenth)?;
    let ratio = ratio(rested_per_s, empty_per_s);
    say(&format!("  on top of all that, after a rest: {rested_per_s} msg/s; on top / empty: {ratio}"));
    Ok(backlog + 2 * tenth)
}

fn state(broker: &Broker, when: &str, say: &dyn Fn(&str)) -> io::Result<()> {
    let resident = memory_bytes(broker.pid()?)? / MIB;
    let segments = LogFigures::ask(broker.http)?.map_or_else(|| "?".to_owned(), |log| log.segments.to_string());
    say(&format!("  {when}: resident {resident} MiB, {segments} files of the log in use"));
    Ok(())
}
