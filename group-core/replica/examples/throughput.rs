//! How many durable proposals a second one and many concurrent proposers reach, on the disk of the given directory.
//!
//! `cargo run -p braid-replica --example throughput -- DIRECTORY`

use std::{
    io::Write,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use braid_replica::{Options, Replica};
use braid_types::{CorruptBytes, Machine, Stamp, Wire};
use bytes::{Bytes, BytesMut};

/// Counts commands of 200 bytes.
#[derive(Debug, Default)]
struct Counter(u64);

struct Blob(Bytes);

impl Wire for Blob {
    fn encode(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.0);
    }

    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(input.split_to(input.len())))
    }
}

impl Machine for Counter {
    type Command = Blob;
    type Reply = u64;
    type Effect = ();

    fn apply(&mut self, _stamp: Stamp, _command: Blob, _effects: &mut Vec<()>) -> u64 {
        self.0 += 1;
        self.0
    }

    fn snapshot(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }

    fn restore(snapshot: &mut Bytes) -> Result<Self, CorruptBytes> {
        let bytes = snapshot.as_ref().try_into().map_err(|_| CorruptBytes { what: "counter" })?;
        Ok(Self(u64::from_le_bytes(bytes)))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let path = directory.join(format!("throughput-{}.redb", std::process::id()));
    let replica = Arc::new(Replica::<Counter>::open(Options::new(&path, 1), Box::new(|()| {})).await?);
    for proposers in [1u64, 8, 64, 512] {
        let duration = Duration::from_secs(5);
        let done = Arc::new(AtomicU64::new(0));
        let begin = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..proposers {
            let (replica, done) = (Arc::clone(&replica), Arc::clone(&done));
            tasks.spawn(async move {
                while begin.elapsed() < duration {
                    replica.propose(Blob(Bytes::from_static(&[7; 200]))).await?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<(), braid_replica::Error>(())
            });
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        let per_second = done.load(Ordering::Relaxed) * 1_000 / u64::try_from(begin.elapsed().as_millis())?.max(1);
        writeln!(std::io::stdout(), "{proposers} proposers: {per_second} durable proposals/s")?;
    }
    replica.shutdown().await?;
    std::fs::remove_file(path)?;
    Ok(())
}
