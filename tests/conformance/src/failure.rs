//! Why a test failed: any error, with the line that met it, so that tests read as a list of steps with `?`.

use std::{fmt, panic::Location};

/// What a test returns.
pub type Outcome = Result<(), Failure>;

/// A failed step.
///
/// It is no [`std::error::Error`] itself, so that every error converts into it.
pub struct Failure(String);

impl Failure {
    /// A failure in the test's own words.
    #[track_caller]
    #[must_use]
    pub fn new(message: impl fmt::Display) -> Self {
        Self(format!("{message} (at {})", Location::caller()))
    }
}

impl<E: std::error::Error> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            message.push_str(": ");
            message.push_str(&inner.to_string());
            cause = inner.source();
        }
        Self(format!("{message} (at {})", Location::caller()))
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
