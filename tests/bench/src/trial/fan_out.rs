//! How often a body is written that goes to very many queues: once for each partition is right, once for each queue is not.
//!
//! Queues lie in as many partitions as the broker places them in. Each publish is confirmed before the next, so that none
//! shares an entry with another: the least favourable case.

use std::{
    collections::BTreeSet,
    io,
    time::{Duration, Instant},
};

use super::{Plan, queues, seconds};
use crate::{
    amqp::Session,
    broker::Broker,
    figures::{decimal, ratio},
    flow::Inflow,
    http,
    log_figures::LogFigures,
};

const EXCHANGE: &str = "bench-fan-out";
const QUEUES: u64 = 10_000;
const SIZES_BYTES: [usize; 2] = [256, 4_096];

/// Publishes whose mean is taken, after a first one, which may have to write down who gets it.
const LATER: u64 = 20;

pub(super) fn run(plan: &Plan, say: &dyn Fn(&str)) -> io::Result<()> {
    let count = plan.count(QUEUES);
    let broker = Broker::start("fan-out", &plan.settings)?;
    let mut session = Session::open(broker.amqp)?;
    session.declare_fanout(EXCHANGE)?;
    let began = Instant::now();
    queues::declare(broker.amqp, count, Some(EXCHANGE))?;
    let partitions = partitions(&http::get(broker.http, "/v1/groups")?);
    say(&format!("  {count} queues in {partitions} partitions declared and bound in {}", seconds(began.elapsed())));
    for size_bytes in SIZES_BYTES {
        let mut inflow = Inflow::open(Session::open(broker.amqp)?, EXCHANGE, "", size_bytes)?;
        for (name, publishes) in [("first", 1), ("later", LATER)] {
            let before = LogFigures::demand(broker.http)?;
            let began = Instant::now();
            for _ in 0..publishes {
                inflow.publish(1)?;
            }
            let took = began.elapsed();
            let written = LogFigures::demand(broker.http)?.since(before);
            say(&line(name, size_bytes as u64, publishes, partitions, written, took));
        }
    }
    let sizes = u64::try_from(SIZES_BYTES.len()).map_err(io::Error::other)?;
    queues::check(&mut session, count, sizes * (1 + LATER))
}

fn line(name: &str, size: u64, publishes: u64, partitions: u64, written: LogFigures, took: Duration) -> String {
    let bytes = written.record_bytes / publishes;
    let each = bytes / partitions.max(1);
    let took_ms = decimal(u64::try_from(took.as_micros()).unwrap_or(u64::MAX) / publishes, 1_000);
    format!(
        "  {size:>5} B, {name}: {bytes} B per publish, per partition {each} B = {} of the body; {} records, {} syncs, {took_ms} ms",
        ratio(each, size),
        decimal(written.records, publishes),
        decimal(written.syncs, publishes),
    )
}

/// How many partitions the listed groups lie in.
fn partitions(listing: &str) -> u64 {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let numbers: BTreeSet<String> =
        listing.split("\"partition\":").skip(1).map(|text| digits(text.trim_start())).collect();
    numbers.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_counted_once() {
        assert_eq!(partitions("[{\"partition\":4,\"x\":1},{\"partition\": 14},{\"partition\":4}]"), 2);
        assert_eq!(partitions("[]"), 0);
    }
}
