//! How fast the log appends on the real disk, and what it costs: 256-byte bodies in entries of 64, as a queue's ceiling.
//!
//! `cargo run --release -p braid-log --example throughput -- DIRECTORY [seconds] [partitions] [entries in flight]`
//!
//! With `-` for the directory nothing is written anywhere: what is left is what the log itself costs.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement, run by hand")]

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::Thread,
    time::{Duration, Instant},
};

use braid_log::{
    Append, Body, Options, PurgeMark, SnapshotMeta, Wal,
    disk::{Disk, DiskFile, RealDisk},
};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};

const BODIES_PER_ENTRY: u32 = 64;
const BODY_BYTES: usize = 256;
/// Entries of a partition after which all but the newest are forgotten, so that segments are used again.
const ENTRIES_KEPT: u64 = 2_000;

/// A disk that forgets everything.
#[derive(Clone, Copy, Debug)]
struct Nowhere;

impl Disk for Nowhere {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }
    fn open(&self, _: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(Self))
    }
    fn create(&self, _: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(Self))
    }
    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for Nowhere {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(0)
    }
    fn preallocate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
    fn write_at(&self, _: u64, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        Ok(pieces.iter().map(|piece| piece.len()).sum())
    }
    fn sync_data(&self) -> io::Result<()> {
        // What a quick disk takes, so that batches form.
        std::thread::sleep(Duration::from_micros(100));
        Ok(())
    }
}

/// Time in user mode and in the kernel, of the whole process.
fn user_and_system() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let mut fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11);
    let mut ticks = || fields.next().unwrap().parse::<f64>().unwrap() / 100.0;
    (ticks(), ticks())
}

fn cpu(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// Forgets, takes a snapshot and purges, as a queue's owner would.
fn give_up(wal: &Wal, partition: PartitionId, upto: u64) {
    let first = wal.status(partition).unwrap().unwrap().first.unwrap().0;
    for index in first..=upto {
        let ids: Vec<MessageId> =
            (0..BODIES_PER_ENTRY).map(|position| MessageId { index: LogIndex(index), position }).collect();
        wal.forget(partition, &ids).unwrap();
    }
    let meta = SnapshotMeta { last: LogIndex(upto), term: Term(1), note: Bytes::new() };
    let mut snapshot = wal.write_snapshot(wal.capture(partition).unwrap(), meta).unwrap();
    snapshot.put(1, b"state").unwrap();
    snapshot.finish().unwrap();
    let mark = PurgeMark { index: LogIndex(upto), term: Term(1), note: Bytes::new() };
    wal.purge(partition, mark, None).unwrap();
}

/// An entry of 64 messages that counts itself when it is on disk.
fn entry(
    partition: PartitionId,
    index: u64,
    (payload, body): (&Bytes, &Bytes),
    confirmed: &Arc<AtomicU64>,
    appender: &Thread,
) -> Append {
    let bodies = (0..BODIES_PER_ENTRY)
        .map(|position| {
            let from = position as usize * BODY_BYTES;
            Body::new(position, body.slice(from..from + BODY_BYTES))
        })
        .collect();
    let (confirmed, appender) = (Arc::clone(confirmed), appender.clone());
    Append {
        partition,
        term: Term(1),
        index: LogIndex(index),
        payload: payload.clone(),
        bodies,
        is_promised: false,
        done: Some(Box::new(move |result| {
            result.unwrap();
            confirmed.fetch_add(1, Ordering::Release);
            appender.unpark();
        })),
    }
}

fn disk(directory: &Path) -> Arc<dyn Disk> {
    if directory.as_os_str() == "-" {
        return Arc::new(Nowhere);
    }
    let directory = directory.join("throughput");
    if directory.exists() {
        std::fs::remove_dir_all(&directory).unwrap();
    }
    Arc::new(RealDisk::open(&directory).unwrap())
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap());
    let mut number = |default: u64| arguments.next().map_or(default, |text| text.parse().unwrap());
    let (seconds, partitions, window) = (number(5), u32::try_from(number(4)).unwrap(), number(64));
    let disk = disk(&directory);
    let opened = Wal::open(Options::new(1, 2), disk).unwrap();
    let (wal, writer, maintenance) = (opened.wal, opened.writer.spawn().unwrap(), opened.maintenance.spawn().unwrap());
    // Not from zero: the first segments are made while nothing else is to be done.
    std::thread::sleep(Duration::from_secs(2));

    let body = Bytes::from(vec![0xA5_u8; BODY_BYTES * 64]);
    let payload = Bytes::from(vec![1_u8; 64 * 24]);
    let (confirmed, appender) = (Arc::new(AtomicU64::new(0)), std::thread::current());
    let mut next: BTreeMap<PartitionId, u64> = (0..partitions).map(|id| (PartitionId(id), 1)).collect();
    let before = wal.statistics();
    let modes = user_and_system();
    let (start, process, thread) = (Instant::now(), cpu(ClockId::ProcessCPUTime), cpu(ClockId::ThreadCPUTime));
    let (mut sent, mut owner) = (0_u64, Duration::ZERO);
    while start.elapsed() < Duration::from_secs(seconds) {
        for (partition, next) in &mut next {
            while sent - confirmed.load(Ordering::Acquire) >= window {
                std::thread::park();
            }
            wal.append(entry(*partition, *next, (&payload, &body), &confirmed, &appender)).unwrap();
            *next += 1;
            sent += 1;
            if (*next).is_multiple_of(ENTRIES_KEPT) {
                let began = cpu(ClockId::ThreadCPUTime);
                give_up(&wal, *partition, *next - ENTRIES_KEPT / 2);
                owner += cpu(ClockId::ThreadCPUTime) - began;
            }
        }
    }
    while confirmed.load(Ordering::Acquire) < sent {
        std::thread::yield_now();
    }
    let (elapsed, process) = (start.elapsed().as_secs_f64(), cpu(ClockId::ProcessCPUTime) - process);
    let (thread, after) = (cpu(ClockId::ThreadCPUTime) - thread, wal.statistics());
    let modes = {
        let now = user_and_system();
        (now.0 - modes.0, now.1 - modes.1)
    };
    drop((writer, maintenance));
    let (batches, rolls) = (after.batches - before.batches, after.rolls - before.rolls);
    #[allow(clippy::cast_precision_loss, reason = "figures to look at")]
    let (messages, batches) = ((sent * u64::from(BODIES_PER_ENTRY)) as f64, batches as f64);
    let per_message = |time: Duration| time.as_secs_f64() * 1e9 / messages;
    println!("{partitions} partitions, {window} entries of {BODIES_PER_ENTRY} × {BODY_BYTES} B in flight, {seconds} s");
    println!("messages/s            {:>12.0}", messages / elapsed);
    println!("syncs/s               {:>12.0}   ({rolls} rolls)", batches / elapsed);
    println!("messages per batch    {:>12.1}", messages / batches);
    println!("CPU ns per message    {:>12.1}   whole process", per_message(process));
    println!("  user mode, kernel   {:>12.1} {:.1}", modes.0 * 1e9 / messages, modes.1 * 1e9 / messages);
    println!("  appending thread    {:>12.1}   copy, CRC, index", per_message(thread - owner));
    println!("  forget and snapshot {:>12.1}   owner's thread", per_message(owner));
    println!("  writer, maintenance {:>12.1}   write, sync, index, callbacks", per_message(process - thread));
    println!("segments now {}, used again {}", after.segments, after.retired - before.retired);
}
