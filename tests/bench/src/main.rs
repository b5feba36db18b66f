//! `braid-bench [--seconds N] [--warm-up N] [SCENE…]`: runs scenes against what the environment names.
//!
//! `BENCH_OURS_AMQP`, `BENCH_PEER_AMQP` and so on are addresses; `BENCH_OURS_PIDS`, `BENCH_PEER_PIDS` or
//! `BENCH_PEER_AMQP_PIDS` and so on are process ids. A scene whose protocol has no address is passed over. Ends with an
//! error when a run does not count; never because of a figure.
#![forbid(unsafe_code)]

use std::{io::Write, process::ExitCode, time::Duration};

use braid_bench::{Durations, SCENES, Scene, Target, compare, run};

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
    let mut durations = Durations { warm_up: Duration::from_secs(2), measured: Duration::from_secs(10) };
    let mut names: Vec<String> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => durations.measured = seconds(arguments.next())?,
            "--warm-up" => durations.warm_up = seconds(arguments.next())?,
            name if SCENES.iter().any(|scene| scene.name == name) => names.push(argument),
            other => {
                let scenes: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
                return Err(format!("`{other}` is no scene; there are {scenes:?}"));
            }
        }
    }
    let wanted = |scene: &&Scene| names.is_empty() || names.iter().any(|name| name == scene.name);
    let mut failed = Vec::new();
    for scene in SCENES.iter().filter(wanted) {
        let mut measures = Vec::new();
        for side in ["ours", "peer"] {
            let Some(target) = Target::from_environment(side, scene.protocol)? else { continue };
            match run(scene, &target, durations) {
                Ok(measure) => measures.push((side, measure)),
                Err(message) => {
                    say(&format!("{} against {side} does not count: {message}", scene.name));
                    failed.push(scene.name);
                }
            }
        }
        if !measures.is_empty() {
            say(&compare(scene, &measures));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("runs that do not count: {failed:?}")) }
}

fn seconds(text: Option<String>) -> Result<Duration, String> {
    let text = text.ok_or("a number of seconds is missing")?;
    text.parse().map(Duration::from_secs).map_err(|error| format!("`{text}`: {error}"))
}

fn say(text: &str) {
    // A closed output has nobody to be told.
    drop(writeln!(std::io::stdout(), "{text}"));
}
