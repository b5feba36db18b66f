//! The condition of a headers binding, as RabbitMQ decides it.
//!
//! `x-match` says whether `all` (the default) or `any` of the other arguments must be met; arguments whose name begins with
//! `x-` count only with `all-with-x` and `any-with-x`, `x-match` itself never. An argument is met by a header of its name with the
//! same type and value; integers of any width are one type; one of type void is met by any value. Without arguments
//! that count, `all` always holds and `any` never. Of several headers with one name, any may meet it.

use alloc::{boxed::Box, vec::Vec};

use braid_types::{HeaderValue, Headers};
use bytes::Bytes;

use super::BindError;

/// The condition of one binding.
#[derive(Clone, Debug)]
pub(super) struct HeaderMatch {
    needs_all: bool,
    wanted: Box<[(Bytes, HeaderValue)]>,
}

impl HeaderMatch {
    /// The condition that `arguments` say.
    ///
    /// # Errors
    /// `x-match` has no meaning.
    pub(super) fn new(arguments: &Headers) -> Result<Self, BindError> {
        let kind = arguments.iter().find(|(name, _)| name == "x-match").map(|(_, value)| value);
        let (needs_all, counts_x) = match kind {
            None => (true, false),
            Some(HeaderValue::Text(text)) => match text.as_ref() {
                b"all" => (true, false),
                b"any" => (false, false),
                b"all-with-x" => (true, true),
                b"any-with-x" => (false, true),
                _ => return Err(BindError::MatchKind),
            },
            Some(_) => return Err(BindError::MatchKind),
        };
        let wanted: Vec<_> = arguments
            .iter()
            .filter(|(name, _)| name != "x-match" && (counts_x || !name.starts_with(b"x-")))
            .cloned()
            .collect();
        Ok(Self { needs_all, wanted: wanted.into() })
    }

    /// Whether it holds for `headers`, which are sorted by name.
    pub(super) fn holds(&self, headers: &[(&Bytes, &HeaderValue)]) -> bool {
        let mut met = self.wanted.iter().map(|(name, value)| is_met(name, value, headers));
        if self.needs_all { met.all(|met| met) } else { met.any(|met| met) }
    }
}

fn is_met(name: &Bytes, wanted: &HeaderValue, headers: &[(&Bytes, &HeaderValue)]) -> bool {
    let first = headers.partition_point(|(known, _)| *known < name);
    headers
        .iter()
        .skip(first)
        .take_while(|(known, _)| *known == name)
        .any(|(_, value)| *wanted == HeaderValue::Void || *value == wanted)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn text(value: &'static str) -> HeaderValue {
        HeaderValue::Text(Bytes::from_static(value.as_bytes()))
    }

    fn holds(arguments: &[(&'static str, HeaderValue)], headers: &[(&'static str, HeaderValue)]) -> bool {
        let owned: Headers =
            arguments.iter().map(|(name, value)| (Bytes::from_static(name.as_bytes()), value.clone())).collect();
        let names: Vec<Bytes> = headers.iter().map(|(name, _)| Bytes::from_static(name.as_bytes())).collect();
        let mut sorted: Vec<_> = names.iter().zip(headers.iter().map(|(_, value)| value)).collect();
        sorted.sort_by(|one, other| one.0.cmp(other.0));
        HeaderMatch::new(&owned).unwrap().holds(&sorted)
    }

    #[test]
    fn all_and_any() {
        let wanted = |kind| [("x-match", text(kind)), ("a", text("1")), ("b", HeaderValue::Integer(2))];
        let both = [("b", HeaderValue::Integer(2)), ("c", text("3")), ("a", text("1"))];
        let one = [("a", text("0")), ("b", HeaderValue::Integer(2))];
        assert!(holds(&wanted("all"), &both) && !holds(&wanted("all"), &one));
        assert!(holds(&wanted("any"), &both) && holds(&wanted("any"), &one));
        assert!(!holds(&wanted("any"), &[("b", text("2"))]), "another type is another value");
        assert!(holds(&[], &[]) && holds(&[], &both));
        assert!(!holds(&[("x-match", text("any"))], &both));
    }

    #[test]
    fn names_that_begin_with_x_count_only_when_asked_for() {
        let wanted = |kind| [("x-match", text(kind)), ("x-a", text("1"))];
        let met = [("x-a", text("1"))];
        assert!(holds(&wanted("all"), &[]) && !holds(&wanted("any"), &met));
        assert!(!holds(&wanted("all-with-x"), &[]) && holds(&wanted("all-with-x"), &met));
        assert!(holds(&wanted("any-with-x"), &met) && !holds(&wanted("any-with-x"), &[]));
    }

    #[test]
    fn void_asks_for_presence_and_duplicates_are_all_looked_at() {
        assert!(holds(&[("a", HeaderValue::Void)], &[("a", text("anything"))]));
        assert!(!holds(&[("a", HeaderValue::Void)], &[("b", text("anything"))]));
        assert!(holds(&[("a", text("2"))], &[("a", text("1")), ("a", text("2"))]));
    }

    #[test]
    fn other_kinds_of_match_are_refused() {
        for value in [text("some"), text(""), HeaderValue::Boolean(true)] {
            let arguments = vec![(Bytes::from_static(b"x-match"), value)];
            assert_eq!(HeaderMatch::new(&arguments).err(), Some(BindError::MatchKind));
        }
    }
}
