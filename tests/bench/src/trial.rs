//! Trials: measurements that need a broker of their own, because they stop it, kill it or look at an idle one.
//!
//! Each starts the binary that `BRAIDMQ` names, on a data folder in the folder for temporary files (`TMPDIR`), which has
//! to be on the disk that is to be measured. A trial fails when messages or queues are missing, never because of a figure.

mod backlog;
mod durable_recovery;
mod fan_out;
mod idle_groups;
mod queues;

use std::{io, time::Duration};

use crate::Durations;

/// How a trial is to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Counts are divided by this: 1 for figures, more for a quick check that all works.
    pub scale: u64,
    /// Of the scenes that a trial runs for comparison.
    pub durations: Durations,
    /// Settings of the broker beyond its defaults, as `KEY=VALUE`.
    pub settings: Vec<String>,
}

impl Plan {
    /// `count` as this plan wants it; at least 10, so that it has tenths.
    fn count(&self, count: u64) -> u64 {
        (count / self.scale.max(1)).max(10)
    }
}

/// A trial.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The name of its command.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    run: Run,
}

/// What a trial does; it gives each figure to the second argument.
type Run = fn(&Plan, &dyn Fn(&str)) -> io::Result<()>;

impl Trial {
    /// Runs it; each figure is given to `say` as soon as it is known.
    ///
    /// # Errors
    /// When the broker does not start or does not answer, or when something is missing.
    pub fn run(&self, plan: &Plan, say: &dyn Fn(&str)) -> Result<(), String> {
        say(&format!("{}: {}", self.name, self.title));
        (self.run)(plan, say).map_err(|error| error.to_string())
    }
}

/// All trials.
pub const TRIALS: &[Trial] = &[
    Trial {
        name: "durable-recovery",
        title: "start after a kill with 1,000,000 messages of 1 KiB in a durable queue",
        run: durable_recovery::run,
    },
    Trial {
        name: "idle-groups",
        title: "memory, start and CPU of 100,000 durable queues that nobody uses",
        run: idle_groups::run,
    },
    Trial {
        name: "backlog",
        title: "publish on top of 5,000,000 messages of 256 B, then take all out after a cold start",
        run: backlog::run,
    },
    Trial { name: "fan-out", title: "what one publish to 10,000 durable queues writes to the log", run: fan_out::run },
];

/// Seconds with three decimals.
fn seconds(duration: Duration) -> String {
    format!("{}.{:03} s", duration.as_secs(), duration.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_scaled_down_to_tenths() {
        let durations = Durations { warm_up: Duration::ZERO, measured: Duration::ZERO };
        let plan = Plan { scale: 1_000, durations, settings: Vec::new() };
        assert_eq!((plan.count(5_000_000), plan.count(7)), (5_000, 10));
        assert_eq!(seconds(Duration::from_millis(12_045)), "12.045 s");
    }
}
