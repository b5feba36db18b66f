//! Whether a filter matches an address.
//!
//! Never recurses and never goes back further than to the last unbounded wildcard: what stands before it is matched as far
//! left as possible, which leaves the most for the rest. Work: levels of filter × levels of address.

use super::{Filter, FilterLevel};
use crate::{Address, Protocol};

impl Filter {
    /// Whether `address` matches, when it is not known who published there. Reserved first levels are then matched by a
    /// wildcard of a NATS filter only. Work is bounded by levels of filter × levels of address.
    #[must_use]
    pub fn matches(&self, address: &Address) -> bool {
        if self.begins_with_wildcard() && self.dialect != Protocol::Nats && address.is_reserved() {
            return false;
        }
        self.matches_levels(address)
    }

    /// Whether `address` matches when a client of `origin` published there. The module's text has the rule for reserved
    /// first levels. Work is bounded like that of [`Filter::matches`].
    #[must_use]
    pub fn matches_from(&self, address: &Address, origin: Protocol) -> bool {
        if self.begins_with_wildcard() && !Self::wildcard_reaches(self.dialect, address, origin) {
            return false;
        }
        self.matches_levels(address)
    }

    /// Whether a wildcard in the first level of a filter of `dialect` may stand for the first level of `address`, where a
    /// client of `origin` published.
    #[must_use]
    pub fn wildcard_reaches(dialect: Protocol, address: &Address, origin: Protocol) -> bool {
        let Some(first) = address.levels().next() else { return true };
        if dialect != origin {
            return !Address::is_reserved_level(first);
        }
        dialect != Protocol::Mqtt || first.first() != Some(&b'$')
    }

    fn matches_levels(&self, address: &Address) -> bool {
        let mut pattern: &[FilterLevel] = &self.levels;
        let mut levels = address.levels();
        // Where to go on when the rest does not match: behind the last unbounded wildcard, with one level more in it.
        let mut resume = None;
        loop {
            let is_step = match pattern {
                [] => {
                    if levels.clone().next().is_none() {
                        return true;
                    }
                    false
                }
                [FilterLevel::ZeroOrMore, rest @ ..] => {
                    pattern = rest;
                    resume = Some((rest, levels.clone()));
                    true
                }
                [first, rest @ ..] => {
                    let is_match = match (first, levels.next()) {
                        (_, None) => false,
                        (FilterLevel::Literal(literal), Some(level)) => **literal == *level,
                        (FilterLevel::One | FilterLevel::ZeroOrMore | FilterLevel::OneOrMore, Some(_)) => true,
                    };
                    if is_match {
                        pattern = rest;
                        if *first == FilterLevel::OneOrMore {
                            resume = Some((rest, levels.clone()));
                        }
                    }
                    is_match
                }
            };
            if is_step {
                continue;
            }
            let Some((rest, later)) = &mut resume else { return false };
            if later.next().is_none() {
                return false;
            }
            pattern = rest;
            levels = later.clone();
        }
    }
}
