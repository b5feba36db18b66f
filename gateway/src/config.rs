//! The node's configuration: what every key means, its default, and where its value comes from.
//!
//! A flag beats the environment, the environment beats the file, the file beats the default. Every key can be given in
//! all three: `limits.connections_max` is `BRAIDMQ_LIMITS_CONNECTIONS_MAX` in the environment and
//! `--set limits.connections_max=N` as a flag. Nothing here binds, creates or connects; a key that does not exist is an
//! error, never ignored.
//!
//! Invariants: (1) a key stands in exactly one place, its line in `sections`: name, type, default, bounds; (2) an
//! error names the key, and the line, variable or flag that gave its value; (3) `deploy/braidmq.toml` shows every key
//! with its default (tested).

mod addresses;
mod environment;
mod error;
mod file;
mod log_level;
mod memory_limit;
mod origin;
mod section;
mod sections;
mod setting;
mod suggestion;

use std::{collections::BTreeMap, path::PathBuf};

pub(crate) use addresses::Addresses;
pub(crate) use error::ConfigError;
pub(crate) use log_level::LogFormat;
pub(crate) use origin::Origin;
pub(crate) use sections::{Amqp, Detect, Groups, Limits, Listen, Log, Mqtt, Nats, Node, Storage};
pub(crate) use setting::Mismatch;

use section::Section;
use setting::Given;

/// Everything that can be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// The keys above the first section.
    pub(crate) node: Node,
    /// `[listen]`
    pub(crate) listen: Listen,
    /// `[detect]`
    pub(crate) detect: Detect,
    /// `[limits]`
    pub(crate) limits: Limits,
    /// `[amqp]`
    pub(crate) amqp: Amqp,
    /// `[mqtt]`
    pub(crate) mqtt: Mqtt,
    /// `[nats]`
    pub(crate) nats: Nats,
    /// `[groups]`
    pub(crate) groups: Groups,
    /// `[storage]`
    pub(crate) storage: Storage,
    /// `[log]`
    pub(crate) log: Log,
}

/// A value that a flag of the command line gives to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Override {
    /// The key, with its section: `listen.amqp`.
    pub(crate) key: String,
    /// The flag as the user knows it: `--amqp-listen`.
    pub(crate) flag: String,
    /// The value as given.
    pub(crate) text: String,
}

/// Where the values come from, apart from the defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The TOML file.
    pub(crate) file: Option<PathBuf>,
    /// Variables of the environment; those without the prefix `BRAIDMQ_` are passed over.
    pub(crate) environment: Vec<(String, String)>,
    /// Flags, in the order given: of two for one key the later one holds.
    pub(crate) flags: Vec<Override>,
}

/// A configuration that holds, and what its reader should be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// The configuration.
    pub(crate) config: Config,
    /// Things that look like mistakes but stop nothing; to be logged.
    pub(crate) warnings: Vec<String>,
}

/// One value for one key, before it is checked.
struct Entry {
    key: String,
    origin: Origin,
    given: Given,
}

impl Sources {
    /// The file and flags given, and the environment of this process.
    #[must_use]
    pub(crate) fn of_process(file: Option<PathBuf>, flags: Vec<Override>) -> Self {
        // A value that is no UTF-8 becomes one that its key refuses, or a path that does not exist: never a silent default.
        let environment = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        Self { file, environment, flags }
    }
}

impl Config {
    /// Reads all sources and checks every value.
    ///
    /// # Errors
    /// The file cannot be read or is no TOML; a key does not exist; a value is not one its key takes; two keys
    /// contradict each other.
    pub(crate) fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
        let mut entries = match &sources.file {
            Some(path) => file::read(path)?,
            None => Vec::new(),
        };
        let keys = Self::keys();
        let environment = environment::entries(&keys, &sources.environment);
        entries.extend(environment.entries);
        entries.extend(sources.flags.iter().map(|given| Entry {
            key: given.key.clone(),
            origin: Origin::Flag { flag: given.flag.clone() },
            given: Given::Untyped(given.text.clone()),
        }));

        let mut config = Self::default();
        let mut origins = BTreeMap::new();
        for entry in entries {
            match config.set(&entry.key, &entry.given) {
                Some(Ok(())) => {
                    origins.insert(entry.key, entry.origin);
                }
                Some(Err(mismatch)) => {
                    return Err(ConfigError::Value { origin: entry.origin, key: entry.key, mismatch });
                }
                None => return Err(file::unknown_key(entry.origin, entry.key)),
            }
        }
        config.check(&origins)?;
        Ok(Loaded { config, warnings: environment.warnings })
    }

    /// Every key with its section, in the order of the sample file.
    #[must_use]
    pub(crate) fn keys() -> Vec<String> {
        let sections: [(&str, &[&str]); 10] = [
            ("", Node::KEYS),
            ("listen.", Listen::KEYS),
            ("detect.", Detect::KEYS),
            ("limits.", Limits::KEYS),
            ("amqp.", Amqp::KEYS),
            ("mqtt.", Mqtt::KEYS),
            ("nats.", Nats::KEYS),
            ("groups.", Groups::KEYS),
            ("storage.", Storage::KEYS),
            ("log.", Log::KEYS),
        ];
        sections.iter().flat_map(|(section, keys)| keys.iter().map(move |key| format!("{section}{key}"))).collect()
    }

    /// Gives `key` its value; `None`: there is no such key.
    fn set(&mut self, key: &str, given: &Given) -> Option<Result<(), Mismatch>> {
        let Some((section, key)) = key.split_once('.') else {
            return self.node.set(key, given);
        };
        match section {
            "listen" => self.listen.set(key, given),
            "detect" => self.detect.set(key, given),
            "limits" => self.limits.set(key, given),
            "amqp" => self.amqp.set(key, given),
            "mqtt" => self.mqtt.set(key, given),
            "nats" => self.nats.set(key, given),
            "groups" => self.groups.set(key, given),
            "storage" => self.storage.set(key, given),
            "log" => self.log.set(key, given),
            _ => None,
        }
    }

    /// What no single key can tell.
    fn check(&self, origins: &BTreeMap<String, Origin>) -> Result<(), ConfigError> {
        let origin_of = |key: &str| origins.get(key).cloned().unwrap_or(Origin::Default);
        let listeners = self.listen.by_key();
        if listeners.iter().all(|(key, addresses)| *key == "listen.http" || addresses.is_off()) {
            let key = "listen.any".to_owned();
            let reason =
                "is off, and so are listen.amqp, listen.mqtt and listen.nats: no client could connect".to_owned();
            return Err(ConfigError::Conflict { origin: origin_of(&key), key, reason });
        }
        let mut taken = BTreeMap::new();
        for (key, addresses) in listeners {
            for address in addresses.iter().filter(|address| address.port() != 0) {
                if let Some(other) = taken.insert(*address, key) {
                    // The one that was set is at fault, not the default that it collides with.
                    let (key, other) = if origins.contains_key(key) { (key, other) } else { (other, key) };
                    let reason = format!("{address} is the address of {other} already");
                    return Err(ConfigError::Conflict { origin: origin_of(key), key: key.to_owned(), reason });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
