//! How long a broker that was killed takes until it is ready with all that it had confirmed.

use std::{io, time::Instant};

use super::{Plan, seconds};
use crate::{
    amqp::Session,
    broker::Broker,
    figures::MIB,
    flow::Inflow,
    process::{memory_bytes, peak_memory_bytes},
};

const QUEUE: &str = "bench-recovery";
const MESSAGES: u64 = 1_000_000;
const SIZE_BYTES: usize = 1_024;

pub(super) fn run(plan: &Plan, say: &dyn Fn(&str)) -> io::Result<()> {
    let count = plan.count(MESSAGES);
    let mut broker = Broker::start("recovery", &plan.settings)?;
    let mut session = Session::open(broker.amqp)?;
    session.declare(QUEUE)?;
    let (per_s, slowest_per_s) = Inflow::open(session, "", QUEUE, SIZE_BYTES)?.publish(count)?;
    say(&format!("  {count} messages of {SIZE_BYTES} B confirmed, {per_s}/s, slowest tenth {slowest_per_s}/s"));
    say(&format!("  before the kill: resident {} MiB", memory_bytes(broker.pid()?)? / MIB));
    for is_cold in [false, true] {
        broker.kill()?;
        if is_cold {
            broker.drop_page_cache()?;
        }
        broker.launch()?;
        let began = Instant::now();
        let found = Session::open(broker.amqp)?.message_count(QUEUE)?;
        let known = seconds(broker.start_took + began.elapsed());
        if found != count {
            return Err(io::Error::other(format!("{count} messages were confirmed, {found} are there after the kill")));
        }
        let (now, peak) = (memory_bytes(broker.pid()?)? / MIB, peak_memory_bytes(&[broker.pid()?])? / MIB);
        let cache = if is_cold { "without its files in the page cache" } else { "with its files in the page cache" };
        say(&format!("  killed, {cache}: ready after {}", seconds(broker.start_took)));
        say(&format!("    declare says {found} after {known}, resident {now} MiB, peak {peak} MiB"));
    }
    Ok(())
}
