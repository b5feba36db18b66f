//! `braidmq serve`: each flag is a key of the configuration.

use std::path::PathBuf;

use clap::Args;

use crate::config::{Override, Sources};

/// Flags of `serve`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServeFlags {
    /// `data_dir`
    #[arg(long, value_name = "FOLDER", help = "Folder of the node's files (data_dir)")]
    pub(crate) data_dir: Option<String>,
    /// The configuration's file.
    #[arg(long, value_name = "FILE", help = "Configuration in TOML; BRAIDMQ_CONFIG in the environment does the same")]
    pub(crate) config: Option<PathBuf>,
    /// Where the one port listens (listen.any)
    #[arg(long, value_name = "ADDR:PORT|off")]
    pub(crate) listen: Option<String>,
    /// Where AMQP listens (listen.amqp)
    #[arg(long, value_name = "ADDR:PORT|off")]
    pub(crate) amqp_listen: Option<String>,
    /// Where MQTT listens (listen.mqtt)
    #[arg(long, value_name = "ADDR:PORT|off")]
    pub(crate) mqtt_listen: Option<String>,
    /// Where NATS listens (listen.nats)
    #[arg(long, value_name = "ADDR:PORT|off")]
    pub(crate) nats_listen: Option<String>,
    /// Where HTTP listens (listen.http)
    #[arg(long, value_name = "ADDR:PORT|off")]
    pub(crate) http_listen: Option<String>,
    /// off, error, warn, info, debug, trace; also per part (log.level)
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// Any other key of the configuration; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,
}

impl ServeFlags {
    /// File, environment of the process and flags, for [`crate::config::Config::load`].
    #[must_use]
    pub(crate) fn sources(&self) -> Sources {
        let file = self.config.clone().or_else(|| {
            let named = std::env::var_os("BRAIDMQ_CONFIG").filter(|name| !name.is_empty());
            named.map(PathBuf::from)
        });
        Sources::of_process(file, self.overrides())
    }

    /// The flags as values of keys.
    #[must_use]
    pub(crate) fn overrides(&self) -> Vec<Override> {
        let assigned = self.set.iter().map(|(key, text)| Override {
            key: key.clone(),
            flag: format!("--set {key}"),
            text: text.clone(),
        });
        let named = [
            ("data_dir", "--data-dir", &self.data_dir),
            ("listen.any", "--listen", &self.listen),
            ("listen.amqp", "--amqp-listen", &self.amqp_listen),
            ("listen.mqtt", "--mqtt-listen", &self.mqtt_listen),
            ("listen.nats", "--nats-listen", &self.nats_listen),
            ("listen.http", "--http-listen", &self.http_listen),
            ("log.level", "--log-level", &self.log_level),
        ];
        let named = named.into_iter().filter_map(|(key, flag, text)| {
            Some(Override { key: key.to_owned(), flag: flag.to_owned(), text: text.clone()? })
        });
        assigned.chain(named).collect()
    }
}

/// `KEY=VALUE` as a pair.
pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
