//! The three classes of queue that a test runs on.

use lapin::types::AMQPValue;

/// A class of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Durable, one replica.
    Classic,
    /// Durable, a majority.
    Quorum,
    /// Not durable: in memory.
    Memory,
}

impl Kind {
    /// All.
    pub(crate) const ALL: [Self; 3] = [Self::Classic, Self::Quorum, Self::Memory];

    /// Those that a restart keeps.
    pub(crate) const DURABLE: [Self; 2] = [Self::Classic, Self::Quorum];

    /// A name that says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Quorum => "quorum",
            Self::Memory => "memory",
        }
    }

    /// Whether it is declared as durable.
    pub(crate) fn is_durable(self) -> bool {
        self != Self::Memory
    }

    /// The value of `x-queue-type`.
    pub(crate) fn queue_type(self) -> AMQPValue {
        text(if self == Self::Quorum { "quorum" } else { "classic" })
    }
}

/// A text as an argument or header.
pub(crate) fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

/// A number as an argument or header.
pub(crate) fn number(value: i64) -> AMQPValue {
    AMQPValue::LongLongInt(value)
}
