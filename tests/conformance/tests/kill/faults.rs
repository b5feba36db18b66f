//! What was found wrong: counted by kind, with the first few of each kind in words.

use std::{collections::BTreeMap, fmt};

/// Examples that are kept of each kind.
const EXAMPLES_MAX: usize = 5;

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Confirmed, and never delivered to anybody.
    Lost,
    /// Delivered to a member that died without acknowledging it, and never delivered again.
    NotGivenBack,
    /// A NATS member's losses are more than what it can have had in its hands.
    LostInHands,
    /// Delivered after its ack was committed (P7).
    AfterCommit,
    /// Delivered again without a mark.
    Unflagged,
    /// Delivered twice in one run of the broker, with no crash between.
    TwiceInOneRun,
    /// Marked as delivered before, though nobody can have had it.
    FlaggedWithoutReason,
    /// More came again than the members can have held.
    TooManyAgain,
    /// First deliveries of one producer out of order (P6).
    OutOfOrder,
    /// Not what was published, or never published.
    Forged,
    /// Refused by the broker though nothing was wrong with it.
    Refused,
    /// The number of messages that the broker names cannot be.
    WrongCount,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Faults(BTreeMap<Fault, (u64, Vec<String>)>);

impl Faults {
    /// Adds one.
    pub(crate) fn add(&mut self, fault: Fault, what: impl FnOnce() -> String) {
        let (count, examples) = self.0.entry(fault).or_default();
        *count += 1;
        if examples.len() < EXAMPLES_MAX {
            examples.push(what());
        }
    }

    /// There is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many of a kind.
    pub(crate) fn count(&self, fault: Fault) -> u64 {
        self.0.get(&fault).map_or(0, |(count, _)| *count)
    }

    /// The kinds that were found.
    #[cfg(test)]
    pub(crate) fn kinds(&self) -> Vec<Fault> {
        self.0.keys().copied().collect()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (fault, (count, examples)) in &self.0 {
            writeln!(formatter, "{fault:?}: {count}")?;
            for example in examples {
                writeln!(formatter, "    {example}")?;
            }
        }
        Ok(())
    }
}
