//! How a value that somebody gave becomes the value of a key: typed in the file, plain text in the environment and on
//! the command line.

use std::{fmt, path::PathBuf};

/// A value as given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// From environment or flag: text that is read as whatever the key is.
    Untyped(String),
    /// A TOML string.
    Text(String),
    /// A TOML integer.
    Number(i128),
    /// A TOML boolean.
    Boolean(bool),
    /// A TOML array.
    List(Vec<Given>),
    /// Something that no key takes, by its name.
    Other(&'static str),
}

/// Why a value is not one that the key takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {got}")]
pub(crate) struct Mismatch {
    /// What the key takes.
    pub(crate) expected: String,
    /// What was given.
    pub(crate) got: String,
}

/// Least and greatest value of a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    low: u64,
    high: u64,
}

/// The type of a key.
pub(super) trait Setting {
    /// Takes the value given.
    fn set(&mut self, given: &Given, bounds: Bounds) -> Result<(), Mismatch>;
}

impl Bounds {
    /// Whatever the type holds.
    pub(super) const ANY: Self = Self { low: 0, high: u64::MAX };

    /// Both ends included.
    pub(super) const fn within(self, low: u64, high: u64) -> Self {
        Self { low, high }
    }
}

impl Given {
    /// The text, from wherever.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Untyped(text) | Self::Text(text) => Some(text),
            Self::Number(_) | Self::Boolean(_) | Self::List(_) | Self::Other(_) => None,
        }
    }

    /// The error for a key that takes `expected`.
    pub(super) fn mismatch(&self, expected: impl Into<String>) -> Mismatch {
        Mismatch { expected: expected.into(), got: self.to_string() }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untyped(text) | Self::Text(text) => write!(formatter, "{text:?}"),
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Boolean(boolean) => write!(formatter, "{boolean}"),
            Self::List(elements) => {
                formatter.write_str("[")?;
                for (position, element) in elements.iter().enumerate() {
                    let separator = if position == 0 { "" } else { ", " };
                    write!(formatter, "{separator}{element}")?;
                }
                formatter.write_str("]")
            }
            Self::Other(name) => formatter.write_str(name),
        }
    }
}

macro_rules! number {
    ($($kind:ty)*) => {
        $(impl Setting for $kind {
            fn set(&mut self, given: &Given, bounds: Bounds) -> Result<(), Mismatch> {
                let number = match given {
                    Given::Number(number) => Some(*number),
                    Given::Untyped(text) => text.trim().replace('_', "").parse().ok(),
                    Given::Text(_) | Given::Boolean(_) | Given::List(_) | Given::Other(_) => None,
                };
                let accepted = number
                    .filter(|number| (i128::from(bounds.low)..=i128::from(bounds.high)).contains(number))
                    .and_then(|number| <$kind>::try_from(number).ok());
                *self = accepted.ok_or_else(|| {
                    given.mismatch(format!("a whole number from {} to {}", bounds.low, bounds.high))
                })?;
                Ok(())
            }
        })*
    };
}

number!(u16 u32 u64 usize);

impl Setting for bool {
    fn set(&mut self, given: &Given, _: Bounds) -> Result<(), Mismatch> {
        *self = match given {
            Given::Boolean(boolean) => *boolean,
            Given::Untyped(text) if text == "true" => true,
            Given::Untyped(text) if text == "false" => false,
            _ => return Err(given.mismatch("true or false")),
        };
        Ok(())
    }
}

impl Setting for PathBuf {
    fn set(&mut self, given: &Given, _: Bounds) -> Result<(), Mismatch> {
        match given.as_text() {
            Some(text) if !text.is_empty() && !text.contains('\0') => *self = Self::from(text),
            _ => return Err(given.mismatch("a path")),
        }
        Ok(())
    }
}
