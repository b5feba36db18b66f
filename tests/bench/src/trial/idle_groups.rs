//! What a durable queue costs that nobody uses: memory, CPU, and its share of a start.

use std::{
    io, thread,
    time::{Duration, Instant},
};

use super::{Plan, queues, seconds};
use crate::{
    amqp::Session,
    broker::Broker,
    figures::{MIB, decimal},
    pace::per_s,
    process::{cpu_us, memory_bytes, ticks_per_s},
};

const QUEUES: u64 = 100_000;

/// After a start, before a broker counts as idle.
const SETTLE: Duration = Duration::from_secs(2);

/// How long the CPU of an idle broker is watched.
const WATCHED: Duration = Duration::from_secs(10);

pub(super) fn run(plan: &Plan, say: &dyn Fn(&str)) -> io::Result<()> {
    let count = plan.count(QUEUES);
    let mut broker = Broker::start("idle", &plan.settings)?;
    // Both are measured after a restart, so that they differ by the queues alone.
    broker.stop()?;
    let empty_bytes = restart(&mut broker, "no queues", say)?;
    let began = Instant::now();
    queues::declare(broker.amqp, count, None)?;
    let took = began.elapsed();
    say(&format!("  {count} queues declared in {}, {}/s", seconds(took), per_s(count, took)));
    say(&format!("  before the restart: resident {} MiB", memory_bytes(broker.pid()?)? / MIB));
    broker.stop()?;
    let full_bytes = restart(&mut broker, &format!("{count} queues"), say)?;
    queues::check(&mut Session::open(broker.amqp)?, count, 0)?;
    say(&format!("  resident per queue: {} B", full_bytes.saturating_sub(empty_bytes) / count));
    Ok(())
}

/// Starts the broker and watches it idle; returns its resident memory, in bytes.
fn restart(broker: &mut Broker, with: &str, say: &dyn Fn(&str)) -> io::Result<u64> {
    broker.launch()?;
    thread::sleep(SETTLE);
    let (pids, ticks_per_s) = ([broker.pid()?], ticks_per_s()?);
    let before_us = cpu_us(&pids, ticks_per_s)?;
    thread::sleep(WATCHED);
    let used_us = cpu_us(&pids, ticks_per_s)? - before_us;
    let bytes = memory_bytes(broker.pid()?)?;
    let per_cent = decimal(used_us, u64::try_from(WATCHED.as_micros()).unwrap_or(u64::MAX) / 100);
    let (took, mebibytes) = (seconds(broker.start_took), bytes / MIB);
    say(&format!("  {with}: ready after {took}, resident {mebibytes} MiB, idle CPU {per_cent} % of a core"));
    Ok(bytes)
}
