//! What a sync costs on a file that grows, one whose room is allocated, and one that was written before.
//!
//! `cargo run --release -p braid-log --example prewritten -- DIRECTORY [syncs]`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement, run by hand")]

use std::{
    io::IoSlice,
    path::PathBuf,
    time::{Duration, Instant},
};

use braid_log::disk::{Disk, DiskFile, RealDisk};

const BATCH_BYTES: usize = 4096;

fn measure(file: &dyn DiskFile, syncs: usize) -> Vec<Duration> {
    let batch = vec![1_u8; BATCH_BYTES];
    let mut times: Vec<Duration> = (0..syncs)
        .map(|number| {
            let start = Instant::now();
            let written = file.write_at((number * BATCH_BYTES) as u64, &[IoSlice::new(&batch)]).unwrap();
            assert_eq!(written, BATCH_BYTES);
            file.sync_data().unwrap();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap()).join("prewritten");
    let syncs: usize = arguments.next().map_or(2000, |text| text.parse().unwrap());
    let disk = RealDisk::open(&directory).unwrap();
    let size = (syncs * BATCH_BYTES) as u64;
    for kind in ["growing", "allocated", "pre-written"] {
        let file = disk.create(kind).unwrap();
        if kind != "growing" {
            file.preallocate(size).unwrap();
        }
        if kind == "pre-written" {
            for number in 0..syncs {
                file.write_at((number * BATCH_BYTES) as u64, &[IoSlice::new(&[0; BATCH_BYTES])]).unwrap();
            }
        }
        file.sync_data().unwrap();
        disk.sync_directory().unwrap();
        let times = measure(&*file, syncs);
        let at = |share: usize| times[(times.len() * share / 1000).min(times.len() - 1)].as_micros();
        println!("{kind:<12} p50 {:>6} µs   p99 {:>6} µs   p99.9 {:>6} µs", at(500), at(990), at(999));
        disk.remove(kind).unwrap();
    }
}
