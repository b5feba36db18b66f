//! Topic aliases (MQTT 5, 3.3.2.3.4), both ways. They live as long as the connection.
//!
//! Invariant: topics are owned copies, so that no read buffer is held by them; the tables are bounded by the maximum that
//! the receiver named and by ours.

use alloc::{collections::BTreeMap, vec::Vec};

use bytes::Bytes;

use crate::{Fault, ReasonCode, limits, packet::publish::OutgoingAlias, topic};

/// Aliases that the client set.
#[derive(Debug, Default)]
pub(crate) struct IncomingAliases {
    topics: Vec<Bytes>,
}

impl IncomingAliases {
    /// The topic of a PUBLISH with `topic` (empty: the alias stands for it) and `alias`. Validates both.
    pub(crate) fn resolve(&mut self, topic: Bytes, alias: Option<u16>, maximum: u16) -> Result<Bytes, Fault> {
        let Some(alias) = alias else {
            topic::check_name(&topic)?;
            return Ok(topic);
        };
        if alias == 0 || alias > maximum {
            return Err(Fault::Reason(ReasonCode::TOPIC_ALIAS_INVALID));
        }
        let place = usize::from(alias).saturating_sub(1);
        if topic.is_empty() {
            let known = self.topics.get(place).filter(|known| !known.is_empty());
            return known.cloned().ok_or(Fault::Protocol("an alias that was never set"));
        }
        topic::check_name(&topic)?;
        if self.topics.len() <= place {
            self.topics.resize(place.saturating_add(1), Bytes::new());
        }
        if let Some(known) = self.topics.get_mut(place)
            && *known != topic
        {
            *known = Bytes::copy_from_slice(&topic);
        }
        Ok(topic)
    }
}

/// Aliases that we set, for the first topics that are delivered; none is ever given to another topic.
#[derive(Debug, Default)]
pub(crate) struct OutgoingAliases {
    maximum: u16,
    topics: BTreeMap<Bytes, u16>,
}

impl OutgoingAliases {
    /// For a client that allows `maximum` of them.
    pub(crate) fn new(maximum: u16) -> Self {
        Self { maximum: maximum.min(limits::OUTGOING_ALIASES_MAX), topics: BTreeMap::new() }
    }

    /// How to write `topic`. A new alias is only set by [`OutgoingAliases::confirm`].
    pub(crate) fn choose(&self, topic: &[u8]) -> OutgoingAlias {
        if self.maximum == 0 {
            return OutgoingAlias::None;
        }
        if let Some(alias) = self.topics.get(topic) {
            return OutgoingAlias::Known(*alias);
        }
        match u16::try_from(self.topics.len()) {
            Ok(used) if used < self.maximum => OutgoingAlias::New(used.saturating_add(1)),
            _ => OutgoingAlias::None,
        }
    }

    /// The PUBLISH that sets `alias` is written.
    pub(crate) fn confirm(&mut self, topic: &[u8], alias: OutgoingAlias) {
        if let OutgoingAlias::New(alias) = alias {
            self.topics.insert(Bytes::copy_from_slice(topic), alias);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incoming_aliases_are_set_used_and_bounded() {
        let mut aliases = IncomingAliases::default();
        let mut resolve = |topic: &'static str, alias| aliases.resolve(Bytes::from_static(topic.as_bytes()), alias, 2);
        assert_eq!(resolve("a", Some(2)).as_deref(), Ok(&b"a"[..]));
        assert_eq!(resolve("", Some(2)).as_deref(), Ok(&b"a"[..]));
        assert_eq!(resolve("b", Some(2)).as_deref(), Ok(&b"b"[..]));
        assert_eq!(resolve("", Some(2)).as_deref(), Ok(&b"b"[..]));
        assert!(matches!(resolve("", Some(1)), Err(Fault::Protocol(_))));
        assert_eq!(resolve("a", Some(3)), Err(Fault::Reason(ReasonCode::TOPIC_ALIAS_INVALID)));
        assert!(matches!(resolve("", None), Err(Fault::Malformed(_))));
    }

    #[test]
    fn outgoing_aliases_are_given_to_the_first_topics() {
        let mut aliases = OutgoingAliases::new(1);
        assert_eq!(aliases.choose(b"a"), OutgoingAlias::New(1));
        aliases.confirm(b"a", OutgoingAlias::New(1));
        assert_eq!(aliases.choose(b"a"), OutgoingAlias::Known(1));
        assert_eq!(aliases.choose(b"b"), OutgoingAlias::None);
        assert_eq!(OutgoingAliases::new(0).choose(b"a"), OutgoingAlias::None);
    }
}
