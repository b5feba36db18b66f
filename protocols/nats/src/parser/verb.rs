//! Recognises the name of an operation at the front of the input, in any case, from its first bytes on: a byte that
//! fits no operation is an error at once, without waiting for a line's end.

use crate::error::Fault;

/// An operation's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Publish,
    PublishWithHeaders,
    Subscribe,
    Unsubscribe,
    Ping,
    Pong,
    Connect,
    Info,
    Okay,
    Error,
}

/// What follows the name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// A blank, then arguments.
    Arguments,
    /// Arguments, with or without a blank before them.
    Text,
    /// Anything up to the line's end, and it does not matter.
    Ignored,
}

const VERBS: [(&[u8], Verb, Rest); 10] = [
    (b"PUB", Verb::Publish, Rest::Arguments),
    (b"HPUB", Verb::PublishWithHeaders, Rest::Arguments),
    (b"SUB", Verb::Subscribe, Rest::Arguments),
    (b"UNSUB", Verb::Unsubscribe, Rest::Arguments),
    (b"PING", Verb::Ping, Rest::Ignored),
    (b"PONG", Verb::Pong, Rest::Ignored),
    (b"CONNECT", Verb::Connect, Rest::Text),
    (b"INFO", Verb::Info, Rest::Text),
    (b"+OK", Verb::Okay, Rest::Ignored),
    (b"-ERR", Verb::Error, Rest::Arguments),
];

/// The operation that `input` begins with and the length of its name, with the blank where one is required.
/// `None`: more bytes are needed to tell.
pub(super) fn recognise(input: &[u8]) -> Result<Option<(Verb, usize)>, Fault> {
    if input.starts_with(b"PUB ") {
        return Ok(Some((Verb::Publish, 4)));
    }
    for (name, verb, rest) in VERBS {
        let seen = name.len().min(input.len());
        let (Some(name_seen), Some(input_seen)) = (name.get(..seen), input.get(..seen)) else { continue };
        if !name_seen.eq_ignore_ascii_case(input_seen) {
            continue;
        }
        if seen < name.len() {
            return Ok(None);
        }
        return match (rest, input.get(seen)) {
            (Rest::Text | Rest::Ignored, _) => Ok(Some((verb, seen))),
            (Rest::Arguments, Some(b' ' | b'\t')) => Ok(Some((verb, seen + 1))),
            (Rest::Arguments, Some(_)) => Err(Fault::UnknownOperation),
            (Rest::Arguments, None) => Ok(None),
        };
    }
    Err(Fault::UnknownOperation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_their_first_bytes() {
        assert_eq!(recognise(b"pUb a"), Ok(Some((Verb::Publish, 4))));
        assert_eq!(recognise(b"hpub\ta"), Ok(Some((Verb::PublishWithHeaders, 5))));
        assert_eq!(recognise(b"PINGxyz"), Ok(Some((Verb::Ping, 4))));
        assert_eq!(recognise(b"connect{}"), Ok(Some((Verb::Connect, 7))));
        for partial in [&b""[..], b"P", b"PU", b"PUB", b"u", b"Unsub", b"+O", b"-ERR", b"CONN"] {
            assert_eq!(recognise(partial), Ok(None), "{partial:?}");
        }
        for bad in [&b"\r\n"[..], b" PING", b"G", b"PUX", b"PUBa", b"PUB\0a", b"MSG", b"HM", b"\xff", b"UNSUB\r"] {
            assert_eq!(recognise(bad), Err(Fault::UnknownOperation), "{bad:?}");
        }
    }
}
