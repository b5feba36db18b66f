//! Says what was measured, and the ratios of the two.

use crate::{
    LogFigures, Measure, Scene,
    figures::{MIB, decimal, ratio},
    pace::per_s,
};

/// Nanoseconds per millisecond, and so on: what the figures are shown in.
const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_US: u64 = 1_000;

/// A table of one scene: a line for each side, and one of ratios (ours / peer) when there are both.
#[must_use]
pub fn compare(scene: &Scene, measures: &[(&str, Measure)]) -> String {
    let mut text = format!("{}: {}\n", scene.name, scene.title);
    for (side, measure) in measures {
        line(&mut text, side, measure);
        if scene.acknowledged {
            put(&mut text, &loop_line(scene, measure));
        }
        if let Some(log) = &measure.log {
            put(&mut text, &log_line(log, measure));
        }
    }
    if let [(_, ours), (_, peer)] = measures {
        let cpu = ours.cpu_ns.zip(peer.cpu_ns).map(|(ours, peer)| ratio(ours, peer));
        let memory = ours.memory_bytes.zip(peer.memory_bytes).map(|(ours, peer)| ratio(ours, peer));
        let latency = |per_mille| ratio(ours.latency.percentile_ns(per_mille), peer.latency.percentile_ns(per_mille));
        put(
            &mut text,
            &format!(
                "  {:6} {:>12}       {:>8}        {:>8}       p50 {:>8}  p99 {:>8}",
                "ratio",
                ratio(ours.messages_per_s, peer.messages_per_s),
                cpu.unwrap_or_default(),
                memory.unwrap_or_default(),
                latency(500),
                latency(990),
            ),
        );
    }
    text
}

fn line(text: &mut String, side: &str, measure: &Measure) {
    let latency = |per_mille| decimal(measure.latency.percentile_ns(per_mille), NS_PER_MS);
    let cpu = measure.cpu_ns.map_or_else(|| "?".to_owned(), |cpu_ns| decimal(cpu_ns, NS_PER_US));
    let memory = measure.memory_bytes.map_or_else(|| "?".to_owned(), |bytes| (bytes / MIB).to_string());
    let head = format!("  {side:6} {:>12} msg/s {cpu:>8} us/msg {memory:>8} MiB", measure.messages_per_s);
    let load = decimal(measure.load_cpu_ns, NS_PER_US);
    let tail = format!("   p50 {:>8}  p99 {:>8} ms   load {load} us/msg", latency(500), latency(990));
    put(text, &(head + &tail));
    if measure.shares.len() > 1 {
        put(text, &format!("         shares {:?}", measure.shares));
    }
}

/// A consumer holds at most its prefetch, so on average a message takes at most prefetch / rate from delivery to the one
/// that its ack makes room for.
fn loop_line(scene: &Scene, measure: &Measure) -> String {
    let held = u64::from(scene.prefetch) * scene.consumers as u64;
    let loop_ns = held * NS_PER_S / measure.messages_per_s.max(1);
    format!("         deliver, ack, next within {} ms ({held} held / rate)", decimal(loop_ns, NS_PER_MS))
}

fn log_line(log: &LogFigures, measure: &Measure) -> String {
    let per_sync = |count| decimal(count, log.syncs.max(1));
    let (messages, records, bytes) = (per_sync(measure.messages), per_sync(log.records), log.record_bytes);
    let syncs_per_s = per_s(log.syncs, measure.elapsed);
    let bytes_each = bytes / measure.messages.max(1);
    format!("         log {syncs_per_s} syncs/s   {messages} messages, {records} records per sync   {bytes_each} B/msg")
}

fn put(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Histogram, SCENES};

    fn measure(messages_per_s: u64, cpu_ns: u64) -> Measure {
        Measure {
            messages: messages_per_s * 2,
            elapsed: Duration::from_secs(2),
            messages_per_s,
            cpu_ns: Some(cpu_ns),
            load_cpu_ns: 1,
            memory_bytes: Some(MIB),
            log: Some(LogFigures { syncs: 100, records: 200, record_bytes: 6_000, segments: 1 }),
            latency: Histogram::default(),
            shares: Vec::new(),
        }
    }

    #[test]
    fn ratios_are_ours_by_the_peers() {
        let text = compare(&SCENES[0], &[("ours", measure(300, 1_500)), ("peer", measure(200, 3_000))]);
        let ratios = text.lines().last().unwrap_or_default();
        assert!(ratios.contains("1.500 x") && ratios.contains("0.500 x"), "{text}");
        assert!(text.contains("1.500 us/msg"), "{text}");
    }

    #[test]
    fn one_side_alone_has_no_ratios() {
        assert!(!compare(&SCENES[0], &[("ours", measure(1, 1))]).contains("ratio"));
    }

    #[test]
    fn the_log_is_shown_per_sync_and_the_loop_by_what_is_held() {
        let text = compare(&SCENES[0], &[("ours", measure(1_000, 1))]);
        assert!(text.contains("50 syncs/s") && text.contains("20.000 messages, 2.000 records per sync"), "{text}");
        assert!(text.contains("3 B/msg") && text.contains("within 500.000 ms (500 held"), "{text}");
    }
}
