//! Times of reading, writing and matching, in nanoseconds, and memory for each filter. Run with
//! `cargo run --release -p braid-routing --example throughput`.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program for a person at a terminal")]

use std::{hint::black_box, time::Instant};

use braid_routing::{Exchange, Store, Trie};
use braid_types::{Address, ExchangeKind, Filter, Headers, Protocol};
use bytes::Bytes;

use Protocol::{Amqp, Mqtt, Nats};

const FILTERS: u32 = 100_000;
const MANY_FILTERS: u32 = 1_000_000;
const ROUNDS: usize = 1_000_000;

fn address(protocol: Protocol, text: &str) -> Address {
    Address::from_notation(protocol, text.as_bytes()).expect("an address")
}

fn filter(protocol: Protocol, text: &str) -> Filter {
    Filter::from_notation(protocol, text.as_bytes()).expect("a filter")
}

fn time(what: &str, rounds: usize, mut run: impl FnMut(usize)) {
    let start = Instant::now();
    for round in 0..rounds {
        run(round);
    }
    println!("{what:<60} {:>9.1} ns", start.elapsed().as_secs_f64() * 1e9 / rounds as f64);
}

fn consume(value: &u32) {
    black_box(value);
}

/// Resident memory of this process in bytes; 0 where the system does not tell.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    pages.and_then(|text| text.split(' ').nth(1)?.parse::<usize>().ok()).unwrap_or(0) * 4096
}

fn notations() {
    for (protocol, text) in [
        (Amqp, "orders.eu.created"),
        (Mqtt, "site/17/device/4711/temperature"),
        (Nats, "site.17.device.4711.temperature"),
        (Mqtt, "site/17/größe/v1.2/temperature"),
        (Nats, "site.17.a%20b.100%25.temperature"),
    ] {
        time(&format!("read {protocol:?} {text}"), ROUNDS, |_| {
            black_box(Address::from_notation(protocol, black_box(text.as_bytes())).is_ok());
        });
        let address = address(protocol, text);
        for to in [Amqp, Mqtt, Nats] {
            time(&format!("  write it in {to:?}"), ROUNDS, |_| {
                black_box(black_box(&address).to_notation(to).is_ok());
            });
        }
    }
    let (pattern, to) = (filter(Mqtt, "site/+/device/#"), address(Mqtt, "site/17/device/4711/temperature"));
    time("match one filter with one wildcard of each kind", ROUNDS, |_| {
        black_box(black_box(&pattern).matches_from(black_box(&to), Nats));
    });
}

fn device_text(number: u32) -> String {
    format!("site/{}/device/{number}/temperature", number % 100)
}

fn devices(count: u32, filter_of: impl Fn(u32) -> Filter) -> Trie<u32> {
    let before = resident_bytes();
    let mut trie = Trie::new();
    let start = Instant::now();
    for number in 0..count {
        trie.insert(&filter_of(number), number);
    }
    let each = start.elapsed().as_secs_f64() * 1e9 / f64::from(count);
    let bytes = resident_bytes().saturating_sub(before) / count as usize;
    println!("{:<60} {each:>9.1} ns, {bytes} bytes each", format!("insert {count} filters"));
    trie
}

fn matches(what: &str, trie: &Trie<u32>, addresses: &[Address]) {
    let mut found = 0_usize;
    time(what, ROUNDS, |round| {
        if let Some(address) = addresses.get(round % addresses.len()) {
            trie.for_each_match_from(address, Mqtt, |_| found += 1);
        }
    });
    println!("{:<60} {:>9.2} found", "", found as f64 / ROUNDS as f64);
}

fn tries() {
    let spread: Vec<Address> = (0..FILTERS).step_by(7).map(|number| address(Mqtt, &device_text(number))).collect();
    let few = spread.get(..16).unwrap_or_default();

    let literal = devices(FILTERS, |number| filter(Mqtt, &device_text(number)));
    matches("match among 100k literals, the same 16 addresses", &literal, few);
    matches("match among 100k literals, all over", &literal, &spread);

    let wild = devices(FILTERS, |number| match number % 4 {
        0 => filter(Mqtt, &format!("site/{}/device/{number}/+", number % 100)),
        1 => filter(Mqtt, &format!("site/+/device/{number}/#")),
        2 => filter(Nats, &format!("site.{}.*.{number}.>", number % 100)),
        _ => filter(Amqp, &format!("*.{}.device.{number}.temperature", number % 100)),
    });
    matches("match among 100k wildcard filters, the same 16 addresses", &wild, few);
    matches("match among 100k wildcard filters, all over", &wild, &spread);

    let inner = devices(FILTERS, |number| filter(Amqp, &format!("site.#.{number}.temperature")));
    matches("match among 100k filters with # in the middle, all over", &inner, &spread);

    let many = devices(MANY_FILTERS, |number| filter(Mqtt, &format!("{}/#", device_text(number))));
    let spread: Vec<Address> = (0..MANY_FILTERS).step_by(7).map(|number| address(Mqtt, &device_text(number))).collect();
    matches("match among 1M filters, all over", &many, &spread);
}

fn stores() {
    let mut store = Store::new();
    for number in 0..FILTERS {
        store.insert(&address(Mqtt, &device_text(number)), number);
    }
    let one = filter(Mqtt, "site/17/device/4717/#");
    time("find 1 of 100k retained", ROUNDS, |_| {
        store.for_each_matching(black_box(&one), |_, value| consume(value));
    });
    let site = filter(Mqtt, "site/17/+/+/temperature");
    time("find 1,000 of 100k retained", 200, |_| {
        store.for_each_matching(black_box(&site), |_, value| consume(value));
    });
    let all = filter(Mqtt, "#");
    time("find all of 100k retained", 20, |_| {
        store.for_each_matching(black_box(&all), |_, value| consume(value));
    });
}

fn exchanges() {
    for kind in [ExchangeKind::Direct, ExchangeKind::Topic] {
        let mut exchange = Exchange::new(kind);
        for number in 0..FILTERS {
            let key = Bytes::from(format!("orders.{}.{number}", number % 10));
            exchange.bind(number, key, Headers::new()).expect("a binding");
        }
        let key = "orders.7.4717";
        time(&format!("route among 100k bindings, {}", kind.name()), ROUNDS, |_| {
            let address = address(Amqp, key);
            exchange.route(key.as_bytes(), Some(&address), Some(Amqp), &mut Headers::new, consume);
        });
    }
}

fn main() {
    notations();
    tries();
    stores();
    exchanges();
}
