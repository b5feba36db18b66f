//! Where a value was given, so that an error can send its reader there.

use std::{fmt, path::PathBuf};

/// The place of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody gave one.
    Default,
    /// A line of the file, counted from 1.
    File {
        /// The file, as it was named.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// A variable of the environment.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A flag.
    Flag {
        /// Its name, with dashes.
        flag: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(formatter, "default"),
            Self::File { path, line } => write!(formatter, "{} line {line}", path.display()),
            Self::Environment { variable } => write!(formatter, "environment {variable}"),
            Self::Flag { flag } => write!(formatter, "flag {flag}"),
        }
    }
}
