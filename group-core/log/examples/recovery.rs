//! How long a start takes with a million messages of 1 KiB in the log, and how much memory it needs.
//!
//! `cargo run --release -p braid-log --example recovery -- DIRECTORY [messages] [bodies per entry]`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement, run by hand")]

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
    time::Instant,
};

use braid_log::{Append, Body, Content, Options, Wal, disk::RealDisk};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;

const BODY_BYTES: usize = 1024;
const PARTITIONS: u64 = 4;

/// Resident memory and its highest value so far, in MiB.
fn memory_mib() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
    };
    (field("VmRSS:"), field("VmHWM:"))
}

fn fill(directory: &std::path::Path, entries: u64, per_entry: u32) {
    let opened = Wal::open(Options::new(1, 2), Arc::new(RealDisk::open(directory).unwrap())).unwrap();
    let (writer, maintenance) = (opened.writer.spawn().unwrap(), opened.maintenance.spawn().unwrap());
    let body = Bytes::from(vec![7_u8; BODY_BYTES]);
    let (sender, receiver) = mpsc::channel();
    for number in 0..entries {
        let done = sender.clone();
        let append = Append {
            partition: PartitionId(u32::try_from(number % PARTITIONS).unwrap()),
            term: Term(1),
            index: LogIndex(1 + number / PARTITIONS),
            payload: Bytes::from(vec![1; 24 * per_entry as usize]),
            bodies: (0..per_entry).map(|position| Body::new(position, body.clone())).collect(),
            is_promised: true,
            done: Some(Box::new(move |result| {
                result.unwrap();
                done.send(()).unwrap();
            })),
        };
        opened.wal.append(append).unwrap();
        if number >= 128 {
            receiver.recv().unwrap();
        }
    }
    drop((writer, maintenance));
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap()).join("recovery");
    let mut number = |default: u64| arguments.next().map_or(default, |text| text.parse().unwrap());
    let (messages, per_entry) = (number(1_000_000), u32::try_from(number(64)).unwrap());
    let entries = messages / u64::from(per_entry);
    if !directory.exists() {
        fill(&directory, entries, per_entry);
    }
    println!("{messages} messages of {BODY_BYTES} B, {per_entry} per entry");
    println!("before: {} MiB resident", memory_mib().0);
    let start = Instant::now();
    let opened = Wal::open(Options::new(1, 2), Arc::new(RealDisk::open(&directory).unwrap())).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let (now, highest) = memory_mib();
    let found = &opened.recovery;
    println!("opened in {seconds:.2} s: {} records, {} MiB", found.records, found.size_bytes >> 20);
    println!("after: {now} MiB resident, {highest} MiB at most");

    let start = Instant::now();
    let mut read = 0;
    for partition in (0..PARTITIONS).map(|id| PartitionId(u32::try_from(id).unwrap())) {
        let mut from = LogIndex(1);
        loop {
            let batch = opened.wal.entries(partition, from..LogIndex(u64::MAX), 1 << 20, Content::Heads).unwrap();
            let Some(last) = batch.last() else { break };
            from = LogIndex(last.index.0 + 1);
            read += batch.len();
        }
    }
    println!("{read} entries read without bodies in {:.2} s", start.elapsed().as_secs_f64());

    let start = Instant::now();
    let mut bytes = 0;
    for index in 1..=entries / PARTITIONS {
        for partition in (0..PARTITIONS).map(|id| PartitionId(u32::try_from(id).unwrap())) {
            let ids: Vec<MessageId> =
                (0..per_entry).map(|position| MessageId { index: LogIndex(index), position }).collect();
            bytes += opened.wal.bodies(partition, &ids).into_iter().map(|body| body.unwrap().len()).sum::<usize>();
        }
    }
    println!("{} MiB of bodies read, an entry at a time, in {:.2} s", bytes >> 20, start.elapsed().as_secs_f64());
}
