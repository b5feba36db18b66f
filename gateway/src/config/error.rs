//! Why a configuration is not taken. All of these are for the one who wrote it.

use std::{io, path::PathBuf};

use super::{origin::Origin, setting::Mismatch};

/// Why a configuration is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no TOML.
    #[error("{origin}: {reason}")]
    Syntax {
        /// The place.
        origin: Origin,
        /// What is wrong there.
        reason: String,
    },
    /// There is no such key.
    #[error("{origin}: unknown key {key}{}", suggestion.as_ref().map(|key| format!("; did you mean {key}?")).unwrap_or_default())]
    UnknownKey {
        /// The place.
        origin: Origin,
        /// What was written.
        key: String,
        /// The key that was probably meant.
        suggestion: Option<String>,
    },
    /// The key does not take this value.
    #[error("{origin}: {key}: {mismatch}")]
    Value {
        /// The place.
        origin: Origin,
        /// The key.
        key: String,
        /// What it takes, and what it was given.
        mismatch: Mismatch,
    },
    /// The value contradicts that of another key.
    #[error("{origin}: {key}: {reason}")]
    Conflict {
        /// The place.
        origin: Origin,
        /// The key.
        key: String,
        /// The contradiction.
        reason: String,
    },
}
