//! Subjects as text: what is a filter, what is a literal, what matches. Follows nats-server's rules byte for byte; the
//! canonical form that crosses protocols is [`braid_types::Address`]'s business.
//!
//! Never allocates; work is linear in the subject.

/// Splits a subject into its tokens.
fn tokens(subject: &[u8]) -> impl Iterator<Item = &[u8]> {
    subject.split(|byte| *byte == b'.')
}

/// A subject that can be subscribed to: no token is empty, `>` stands alone and last. (`a*` is a literal.)
pub(crate) fn is_filter(subject: &[u8]) -> bool {
    let mut ended = false;
    tokens(subject).all(|token| {
        let good = !token.is_empty() && !ended;
        ended = token == b">";
        good
    })
}

/// A subject without empty tokens and wildcards: what a pedantic client may publish to.
pub(crate) fn is_literal(subject: &[u8]) -> bool {
    tokens(subject).all(|token| !token.is_empty() && token != b"*" && token != b">")
}

/// Whether `filter`, which [`is_filter`], matches the literal `subject`.
pub(crate) fn matches(filter: &[u8], subject: &[u8]) -> bool {
    let mut subject_tokens = tokens(subject);
    for wanted in tokens(filter) {
        match (wanted, subject_tokens.next()) {
            (b">", Some(_)) => return true,
            (b"*", Some(token)) if !token.is_empty() => {}
            (wanted, Some(token)) if wanted == token => {}
            _ => return false,
        }
    }
    subject_tokens.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_and_literals_follow_nats_server() {
        for good in ["a", "a.b", "*", ">", "a.*.c", "a.>", "a*", "a>b", "a>.c", "*a.b"] {
            assert!(is_filter(good.as_bytes()), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", ">.a", "a.>.b"] {
            assert!(!is_filter(bad.as_bytes()), "{bad}");
        }
        for good in ["a", "a*", "a.b>"] {
            assert!(is_literal(good.as_bytes()), "{good}");
        }
        for bad in ["", "*", "a.>", "a..b", "*.*"] {
            assert!(!is_literal(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn matching_is_by_token() {
        let cases = [
            ("a.b", "a.b", true),
            ("a.*", "a.b", true),
            ("a.*", "a", false),
            ("a.*", "a.b.c", false),
            ("a.>", "a.b.c", true),
            ("a.>", "a", false),
            (">", "a", true),
            ("*", "a.b", false),
            ("a.b", "a", false),
            ("a", "a.b", false),
        ];
        for (filter, subject, expected) in cases {
            assert_eq!(matches(filter.as_bytes(), subject.as_bytes()), expected, "{filter} {subject}");
        }
    }
}
