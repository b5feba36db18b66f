//! What the command line asks for.

use std::time::Duration;

use braid_bench::{Durations, Plan, SCENES, Scene, TRIALS, Trial};

/// Scenes and trials, and how they are to run.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// Those named; all of them when neither a scene nor a trial is named.
    pub(crate) scenes: Vec<&'static Scene>,
    /// Those named.
    pub(crate) trials: Vec<&'static Trial>,
    /// Of the trials; its durations are those of the scenes too.
    pub(crate) plan: Plan,
}

impl Arguments {
    /// Reads `arguments`, without the program's name.
    ///
    /// # Errors
    /// When one is not known or lacks its value; the message names it.
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let durations = Durations { warm_up: Duration::from_secs(2), measured: Duration::from_secs(10) };
        let plan = Plan { scale: 1, durations, settings: Vec::new() };
        let mut read = Self { scenes: Vec::new(), trials: Vec::new(), plan };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument}: its value is missing"));
            match argument.as_str() {
                "--seconds" => read.plan.durations.measured = Duration::from_secs(number(&value()?)?),
                "--warm-up" => read.plan.durations.warm_up = Duration::from_secs(number(&value()?)?),
                "--scale" => read.plan.scale = number(&value()?)?,
                "--set" => read.plan.settings.push(value()?),
                name => read.name(name)?,
            }
        }
        if read.scenes.is_empty() && read.trials.is_empty() {
            read.scenes = SCENES.iter().collect();
        }
        Ok(read)
    }

    fn name(&mut self, name: &str) -> Result<(), String> {
        if let Some(scene) = SCENES.iter().find(|scene| scene.name == name) {
            self.scenes.push(scene);
        } else if let Some(trial) = TRIALS.iter().find(|trial| trial.name == name) {
            self.trials.push(trial);
        } else {
            let scenes: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
            let trials: Vec<&str> = TRIALS.iter().map(|trial| trial.name).collect();
            return Err(format!("`{name}` is neither a scene, {scenes:?}, nor a trial, {trials:?}"));
        }
        Ok(())
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|error| format!("`{text}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn trials_run_only_when_named() -> Result<(), String> {
        let all = read("--seconds 3")?;
        assert_eq!((all.scenes.len(), all.trials.len()), (SCENES.len(), 0));
        assert_eq!(all.plan.durations.measured, Duration::from_secs(3));
        let one = read("fan-out --scale 100 --set groups.partitions=2")?;
        assert_eq!((one.scenes.len(), one.trials.len(), one.plan.scale), (0, 1, 100));
        assert_eq!(one.plan.settings, ["groups.partitions=2"]);
        Ok(())
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, named) in [("A9", "A9"), ("--scale", "--scale"), ("--scale many", "many")] {
            assert!(read(line).is_err_and(|message| message.contains(named)), "{line}");
        }
    }
}
