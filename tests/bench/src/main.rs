//! `braid-bench [--seconds N] [--warm-up N] [SCENE…]`: runs scenes against what the environment names.
//! `braid-bench [--scale N] [--set KEY=VALUE]… TRIAL…`: runs trials against a broker that it starts itself.
//!
//! Scenes: `BENCH_OURS_AMQP`, `BENCH_PEER_AMQP` and so on are addresses; `BENCH_OURS_PIDS`, `BENCH_PEER_PIDS` or
//! `BENCH_PEER_AMQP_PIDS` and so on are process ids; with `BENCH_OURS_HTTP` (the address of `/metrics`) it also shows how
//! often our log was synced, for how many messages and records each time. A scene whose protocol has no address is passed
//! over.
//!
//! Trials: `BRAIDMQ` is the binary, and the data lie in `TMPDIR`.
//! ```text
//! BRAIDMQ=target/release/braidmq braid-bench durable-recovery   1,000,000 messages of 1 KiB, kill, start    about 2 GB
//! BRAIDMQ=target/release/braidmq braid-bench idle-groups        100,000 durable queues, restart
//! BRAIDMQ=target/release/braidmq braid-bench backlog            6,000,000 messages of 256 B in, cold out    about 4 GB
//! BRAIDMQ=target/release/braidmq braid-bench fan-out            10,000 durable queues on one exchange
//! ```
//! `--scale 100` divides the counts by 100, for a check that all works; `--set groups.partitions=8` and the like is handed
//! to the broker; `--seconds` and `--warm-up` are those of scene A1, which `backlog` compares with.
//!
//! Ends with an error when a run does not count; never because of a figure.
#![forbid(unsafe_code)]

mod arguments;

use std::{io::Write, process::ExitCode};

use arguments::Arguments;
use braid_bench::{Durations, Scene, Target, compare, run};

fn main() -> ExitCode {
    match begin() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&format!("braid-bench: {message}"));
            ExitCode::FAILURE
        }
    }
}

fn begin() -> Result<(), String> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let mut failed = Vec::new();
    for scene in arguments.scenes {
        if !against_all(scene, arguments.plan.durations)? {
            failed.push(scene.name);
        }
    }
    for trial in arguments.trials {
        if let Err(message) = trial.run(&arguments.plan, &say) {
            say(&format!("{} does not count: {message}", trial.name));
            failed.push(trial.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("runs that do not count: {failed:?}")) }
}

/// Runs `scene` against each side that the environment names; `false` when a run does not count.
fn against_all(scene: &Scene, durations: Durations) -> Result<bool, String> {
    let (mut measures, mut all_count) = (Vec::new(), true);
    for side in ["ours", "peer"] {
        let Some(target) = Target::from_environment(side, scene.protocol)? else { continue };
        match run(scene, &target, durations) {
            Ok(measure) => measures.push((side, measure)),
            Err(message) => {
                say(&format!("{} against {side} does not count: {message}", scene.name));
                all_count = false;
            }
        }
    }
    if !measures.is_empty() {
        say(&compare(scene, &measures));
    }
    Ok(all_count)
}

fn say(text: &str) {
    // A closed output has nobody to be told.
    drop(writeln!(std::io::stdout(), "{text}"));
}
