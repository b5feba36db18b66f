//! What is logged, and in which form.

use std::fmt;

use super::setting::{Bounds, Given, Mismatch, Setting};

/// Words for a level, from nothing to everything.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Which lines are logged: a level, or a level per part of the program with commas between them
/// (`warn,braid_broker=debug`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogLevel(String);

/// Form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl LogLevel {
    /// As directives of `tracing`.
    #[must_use]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for LogLevel {
    fn default() -> Self {
        Self("info".to_owned())
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Setting for LogLevel {
    fn set(&mut self, given: &Given, _: Bounds) -> Result<(), Mismatch> {
        // Checked here and not by `tracing`, which takes a mistyped level for the name of a part.
        let holds = |directive: &str| {
            let (part, level) = directive.split_once('=').unwrap_or(("all", directive));
            let named = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:-".contains(&byte));
            named && !part.is_empty() && LEVELS.contains(&level)
        };
        match given.as_text() {
            Some(text) if text.split(',').all(holds) => *self = Self(text.to_owned()),
            _ => {
                return Err(
                    given.mismatch(format!("one of {} (also per part: warn,braid_broker=debug)", LEVELS.join(", ")))
                );
            }
        }
        Ok(())
    }
}

impl Setting for LogFormat {
    fn set(&mut self, given: &Given, _: Bounds) -> Result<(), Mismatch> {
        *self = match given.as_text() {
            Some("text") => Self::Text,
            Some("json") => Self::Json,
            _ => return Err(given.mismatch("text or json")),
        };
        Ok(())
    }
}
