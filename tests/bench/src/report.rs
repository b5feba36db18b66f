//! Says what was measured, and the ratios of the two.

use crate::{Measure, Scene};

/// Nanoseconds per millisecond, and so on: what the figures are shown in.
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_US: u64 = 1_000;
const MIB: u64 = 1024 * 1024;

/// A table of one scene: a line for each side, and one of ratios (ours / peer) when there are both.
#[must_use]
pub fn compare(scene: &Scene, measures: &[(&str, Measure)]) -> String {
    let mut text = format!("{}: {}\n", scene.name, scene.title);
    for (side, measure) in measures {
        line(&mut text, side, measure);
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

fn put(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// `value / unit` with three decimals.
fn decimal(value: u64, unit: u64) -> String {
    format!("{}.{:03}", value / unit, value % unit * 1_000 / unit)
}

fn ratio(ours: u64, peer: u64) -> String {
    if peer == 0 { "?".to_owned() } else { format!("{} x", decimal(ours, peer)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Histogram, SCENES};

    fn measure(messages_per_s: u64, cpu_ns: u64) -> Measure {
        let (latency, shares) = (Histogram::default(), Vec::new());
        Measure { messages_per_s, cpu_ns: Some(cpu_ns), load_cpu_ns: 1, memory_bytes: Some(MIB), latency, shares }
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
}
