//! Splits a control line into its arguments without allocation, and reads numbers as nats-server does.
//!
//! Invariant: spans are offsets into the line's buffer (not the line), in order, none empty.

use crate::limits::{ARGUMENTS_MAX, NUMBER_DIGITS_MAX};

/// Where an argument stands in the buffer: first byte and the byte after the last.
pub(super) type Span = (usize, usize);

/// The arguments of one control line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    spans: [Span; ARGUMENTS_MAX],
    count: usize,
}

impl Arguments {
    /// Splits `line`, which begins at `offset` of the buffer, at blanks. `None`: there are more than any operation has.
    ///
    /// `SUB` and `UNSUB` also take a carriage return for a blank (`returns_too`), `PUB` and `HPUB` do not.
    pub(super) fn split(line: &[u8], offset: usize, returns_too: bool) -> Option<Self> {
        let mut arguments = Self::default();
        let mut start = None;
        for (position, byte) in line.iter().enumerate() {
            let blank = matches!(byte, b' ' | b'\t') || (returns_too && *byte == b'\r');
            match (blank, start) {
                (true, Some(first)) => {
                    arguments.push(offset + first, offset + position)?;
                    start = None;
                }
                (false, None) => start = Some(position),
                (true, None) | (false, Some(_)) => {}
            }
        }
        if let Some(first) = start {
            arguments.push(offset + first, offset + line.len())?;
        }
        Some(arguments)
    }

    /// The arguments, in order.
    pub(super) fn spans(&self) -> &[Span] {
        self.spans.get(..self.count).unwrap_or_default()
    }

    fn push(&mut self, start: usize, end: usize) -> Option<()> {
        *self.spans.get_mut(self.count)? = (start, end);
        self.count += 1;
        Some(())
    }
}

/// A decimal number of at most nine digits; anything else is `None`.
pub(super) fn number(text: &[u8]) -> Option<usize> {
    if text.is_empty() || text.len() > NUMBER_DIGITS_MAX {
        return None;
    }
    text.iter().try_fold(0usize, |number, byte| byte.is_ascii_digit().then(|| number * 10 + usize::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_of_any_number_separate() {
        let arguments = Arguments::split(b"a\t\tbc  7 ", 4, false).unwrap();
        assert_eq!(arguments.spans(), [(4, 5), (7, 9), (11, 12)]);
        assert_eq!(Arguments::split(b"a\rb", 0, false).unwrap().spans(), [(0, 3)]);
        assert_eq!(Arguments::split(b"a\rb", 0, true).unwrap().spans(), [(0, 1), (2, 3)]);
        assert!(Arguments::split(b"   ", 0, false).unwrap().spans().is_empty());
        assert!(Arguments::split(b"1 2 3 4 5", 0, false).is_none());
    }

    #[test]
    fn numbers_are_plain_and_short() {
        assert_eq!(number(b"000000001"), Some(1));
        assert_eq!(number(b"999999999"), Some(999_999_999));
        for bad in [&b""[..], b"0000000001", b"-1", b"+1", b"1x", b" 1"] {
            assert_eq!(number(bad), None);
        }
    }
}
