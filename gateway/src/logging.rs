//! The log: lines to standard error, as text for people or JSON for programs.
//!
//! Standard output stays free for what the command prints.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::{Log, LogFormat};

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoggingError {
    /// `RUST_LOG` holds something else than levels.
    #[error("environment RUST_LOG: {0}")]
    Directives(#[from] tracing_subscriber::filter::ParseError),
    /// The process logs already.
    #[error("logging was installed twice")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// Sends all that the process logs from now on to standard error.
///
/// # Errors
/// `RUST_LOG` is not understood, or this was called before.
pub(crate) fn install(log: &Log) -> Result<(), LoggingError> {
    let filter = filter(log, std::env::var("RUST_LOG").ok().as_deref())?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(filter);
    match log.format {
        LogFormat::Text => registry.with(lines.with_ansi(std::io::stderr().is_terminal())).try_init()?,
        LogFormat::Json => registry.with(lines.json()).try_init()?,
    }
    Ok(())
}

/// `RUST_LOG` as it stands; otherwise the configured level, with the consensus library, which reports its every step,
/// held at warnings unless the level names it.
fn filter(log: &Log, rust_log: Option<&str>) -> Result<EnvFilter, tracing_subscriber::filter::ParseError> {
    match rust_log.filter(|directives| !directives.trim().is_empty()) {
        Some(directives) => EnvFilter::try_new(directives),
        None if log.level.as_str() == "off" => EnvFilter::try_new("off"),
        None => EnvFilter::try_new(format!("openraft=warn,{}", log.level)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::filter::LevelFilter;

    #[test]
    fn rust_log_beats_the_configured_level() {
        let log = Log::default();
        assert_eq!(filter(&log, None).unwrap().max_level_hint(), Some(LevelFilter::INFO));
        assert_eq!(filter(&log, Some(" ")).unwrap().max_level_hint(), Some(LevelFilter::INFO));
        assert_eq!(filter(&log, Some("trace")).unwrap().max_level_hint(), Some(LevelFilter::TRACE));
        assert!(filter(&log, Some("braid=loud")).is_err());
    }
}
