//! Topic names and topic filters (MQTT 5, 4.7): what is valid, what matches, and the two prefixes `$share/` and `$queue/`.
//!
//! Nothing is normalised here: topics and filters stay byte for byte what the client wrote (CASES 45).

use braid_types::limits::ADDRESS_LEVELS_MAX;

use crate::{Fault, text};

/// The prefix of shared subscriptions.
pub(crate) const SHARE_PREFIX: &[u8] = b"$share/";

/// The prefix under which a declared group is consumed by its name, and published to.
pub(crate) const QUEUE_PREFIX: &[u8] = b"$queue/";

const TOO_DEEP: Fault = Fault::Malformed("more levels than the broker takes");

/// What a topic filter of a SUBSCRIBE asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// A subscription of the client alone.
    Plain,
    /// `$share/NAME/FILTER`.
    Shared {
        /// The share name.
        name: &'a [u8],
        /// The filter after it.
        filter: &'a [u8],
    },
    /// `$queue/NAME`.
    Queue {
        /// The group's name.
        name: &'a [u8],
    },
}

/// Checks a topic name (not one of a PUBLISH with a known alias, which is empty).
pub(crate) fn check_name(topic: &[u8]) -> Result<(), Fault> {
    if topic.is_empty() || !text::is_name(topic) || memchr::memchr2(b'+', b'#', topic).is_some() {
        return Err(Fault::Malformed("not a topic name"));
    }
    if has_too_many_levels(topic) { Err(TOO_DEEP) } else { Ok(()) }
}

/// Whether `topic` may be sent to a client as a topic name.
pub(crate) fn is_name(topic: &[u8]) -> bool {
    check_name(topic).is_ok()
}

/// Checks a topic filter and says what it asks for.
pub(crate) fn check_filter(filter: &[u8]) -> Result<Target<'_>, Fault> {
    if filter.is_empty() || !text::is_name(filter) {
        return Err(Fault::Malformed("not a topic filter"));
    }
    if filter.starts_with(b"$share") && matches!(filter.get(6), None | Some(b'/')) {
        return check_shared(filter);
    }
    check_wildcards(filter)?;
    match filter.strip_prefix(QUEUE_PREFIX) {
        Some([]) => Err(Fault::Protocol("$queue/ without a name")),
        Some(name) => Ok(Target::Queue { name }),
        None => Ok(Target::Plain),
    }
}

/// The share name is one character at least, without `/`, `+` and `#`; a filter follows (MQTT-4.8.2-1, -2).
fn check_shared(filter: &[u8]) -> Result<Target<'_>, Fault> {
    const NOT_SHARED: Fault = Fault::Protocol("not a shared subscription");
    check_wildcards(filter)?;
    let rest = filter.strip_prefix(SHARE_PREFIX).ok_or(NOT_SHARED)?;
    let slash = memchr::memchr(b'/', rest).ok_or(NOT_SHARED)?;
    let (name, after) = rest.split_at_checked(slash).ok_or(NOT_SHARED)?;
    let filter = after.get(1..).ok_or(NOT_SHARED)?;
    if name.is_empty() || filter.is_empty() || memchr::memchr2(b'+', b'#', name).is_some() {
        return Err(NOT_SHARED);
    }
    Ok(Target::Shared { name, filter })
}

/// `+` stands alone in its level, `#` alone in the last one (MQTT-4.7.1-1, -2).
fn check_wildcards(filter: &[u8]) -> Result<(), Fault> {
    if has_too_many_levels(filter) {
        return Err(TOO_DEEP);
    }
    if memchr::memchr2(b'+', b'#', filter).is_none() {
        return Ok(());
    }
    let mut levels = filter.split(|byte| *byte == b'/').peekable();
    while let Some(level) = levels.next() {
        let wildcard = memchr::memchr2(b'+', b'#', level).is_some();
        if wildcard && (level.len() > 1 || (level == b"#" && levels.peek().is_some())) {
            return Err(Fault::Malformed("a wildcard is not alone in its level"));
        }
    }
    Ok(())
}

fn has_too_many_levels(topic: &[u8]) -> bool {
    // Each separator is a byte, so short topics need no count.
    topic.len() >= ADDRESS_LEVELS_MAX && memchr::memchr_iter(b'/', topic).count() >= ADDRESS_LEVELS_MAX
}

/// Whether a (valid) filter matches a (valid) topic name. A wildcard at the start matches no topic that begins with `$`
/// (MQTT-4.7.2-1). The work is linear in both.
pub(crate) fn matches(filter: &[u8], topic: &[u8]) -> bool {
    if memchr::memchr2(b'+', b'#', filter).is_none() {
        return filter == topic;
    }
    if topic.first() == Some(&b'$') && matches!(filter.first(), Some(b'+' | b'#')) {
        return false;
    }
    let mut topic_levels = topic.split(|byte| *byte == b'/');
    for level in filter.split(|byte| *byte == b'/') {
        if level == b"#" {
            return true;
        }
        match topic_levels.next() {
            Some(topic_level) if level == b"+" || level == topic_level => {}
            _ => return false,
        }
    }
    topic_levels.next().is_none()
}

/// Whether clients may not publish to `topic`: the broker's own `$SYS` and `$CONTROL`, and the subscription prefix
/// `$share`. A bridge tells its state under `$SYS/broker/connection/NAME/state`, as with Mosquitto.
pub(crate) fn is_reserved(topic: &[u8]) -> bool {
    if topic.first() != Some(&b'$') {
        return false;
    }
    if topic.starts_with(SHARE_PREFIX) || topic.starts_with(b"$CONTROL/") {
        return true;
    }
    topic.starts_with(b"$SYS/") && !(topic.starts_with(b"$SYS/broker/connection/") && topic.ends_with(b"/state"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_the_standard_says() {
        let yes: &[(&str, &str)] = &[
            ("a/b", "a/b"),
            ("#", "a/b"),
            ("a/#", "a"),
            ("a/#", "a/b/c"),
            ("+/b", "/b"),
            ("+/+", "/finance"),
            ("/+", "/finance"),
            ("a/+/c", "a//c"),
            ("+", "a"),
            ("$SYS/#", "$SYS/x"),
            ("$SYS/+", "$SYS/x"),
            ("a//b", "a//b"),
            ("spBv1.0/+/x", "spBv1.0/p1/x"),
            ("a/", "a/"),
        ];
        let no: &[(&str, &str)] = &[
            ("a/b", "a/B"),
            ("+", "/finance"),
            ("a/+", "a"),
            ("a/+", "a/b/c"),
            ("#", "$SYS/x"),
            ("+/x", "$SYS/x"),
            ("a/#", "ab"),
            ("a/b/#", "a"),
            ("a", "a/"),
            ("/a", "a"),
            ("a/+/#", "a"),
        ];
        for (filter, topic) in yes {
            assert!(matches(filter.as_bytes(), topic.as_bytes()), "{filter} {topic}");
        }
        for (filter, topic) in no {
            assert!(!matches(filter.as_bytes(), topic.as_bytes()), "{filter} {topic}");
        }
    }

    #[test]
    fn wildcards_stand_alone_and_hash_stands_last() {
        for good in ["#", "+", "a/#", "+/a/+", "a//+", "/", "a b/c"] {
            assert_eq!(check_filter(good.as_bytes()), Ok(Target::Plain), "{good}");
        }
        for bad in ["", "a#", "#/a", "a+/b", "a/+b", "a/#/b", "##", "a\0"] {
            assert!(matches!(check_filter(bad.as_bytes()), Err(Fault::Malformed(_))), "{bad}");
        }
        assert!(check_name(b"a/+").is_err() && check_name(b"").is_err() && check_name(b"a//b").is_ok());
    }

    #[test]
    fn share_syntax_is_checked_and_the_filter_kept() {
        let shared = |name: &'static [u8], filter: &'static [u8]| Ok(Target::Shared { name, filter });
        assert_eq!(check_filter(b"$share/g/a"), shared(b"g", b"a"));
        assert_eq!(check_filter(b"$share/g//a"), shared(b"g", b"/a"));
        assert_eq!(check_filter(b"$share/$share/g/a"), shared(b"$share", b"g/a"));
        assert_eq!(check_filter(b"$share/g/#"), shared(b"g", b"#"));
        for bad in
            ["$share", "$share/", "$share/g", "$share//a", "$share/g/", "$share/g+/a", "$share/+/a", "$share/#/a"]
        {
            assert!(check_filter(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(check_filter(b"$shared/g/a"), Ok(Target::Plain));
        assert_eq!(check_filter(b"$queue/a/b"), Ok(Target::Queue { name: b"a/b" }));
        assert!(check_filter(b"$queue/").is_err());
    }

    #[test]
    fn levels_are_bounded() {
        let deep = [b'/'; ADDRESS_LEVELS_MAX];
        assert_eq!(check_name(&deep), Err(TOO_DEEP));
        assert_eq!(check_filter(&deep), Err(TOO_DEEP));
        assert!(check_name(&[b'/'; ADDRESS_LEVELS_MAX - 1]).is_ok());
        assert!(check_name(&[b'a'; 65_535]).is_ok());
    }

    #[test]
    fn the_brokers_own_topics_are_reserved() {
        assert!(
            is_reserved(b"$CONTROL/x")
                && is_reserved(b"$SYS/broker/uptime")
                && is_reserved(b"$share/g/a")
                && is_reserved(b"$SYS/broker/connection/me")
        );
        assert!(!is_reserved(b"$SYS/broker/connection/me/state") && !is_reserved(b"$test/a") && !is_reserved(b"a"));
    }
}
