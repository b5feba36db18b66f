//! UTF-8 strings (MQTT 5, 1.5.4). Only questions about bytes; nothing is converted.

/// Whether `bytes` are a string that a property may hold: UTF-8 without U+0000 (surrogates are not UTF-8).
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    is_plain(bytes) || core::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}

/// Whether `bytes` are a string that a topic, a filter, a client id or a user name may be: besides, no control
/// characters and no noncharacters, which the standard lets a server refuse and Mosquitto refuses.
pub(crate) fn is_name(bytes: &[u8]) -> bool {
    is_plain(bytes)
        || core::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(|c| !c.is_control() && !is_noncharacter(c)))
}

/// `text` as a reason string: empty, so that it is left out, where MQTT cannot hold it.
pub(crate) fn reason_string(text: &str) -> &str {
    if text.len() > usize::from(u16::MAX) || text.contains('\0') { "" } else { text }
}

/// Printable ASCII: the common case, in a loop without branches that the compiler can vectorise.
fn is_plain(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |plain, byte| plain & (byte.wrapping_sub(0x20) < 0x5F))
}

fn is_noncharacter(c: char) -> bool {
    let code = u32::from(c);
    (0xFDD0..=0xFDEF).contains(&code) || code & 0xFFFE == 0xFFFE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_strings_are_whole_or_absent() {
        assert_eq!((reason_string("why"), reason_string("a\0b"), reason_string(&"x".repeat(65_536))), ("why", "", ""));
    }

    #[test]
    fn names_refuse_more_than_texts() {
        for good in [&b"plain"[..], b"", "\u{2A6D4}".as_bytes(), "größe".as_bytes(), "\u{FEFF}".as_bytes()] {
            assert!(is_text(good) && is_name(good), "{good:?}");
        }
        for only_text in [&b"a\nb"[..], b"\x7F", "\u{9F}".as_bytes(), "\u{FFFF}".as_bytes(), "\u{FDD0}".as_bytes()] {
            assert!(is_text(only_text) && !is_name(only_text), "{only_text:?}");
        }
        // NUL, a surrogate, an overlong slash, a cut sequence.
        for bad in [&b"a\0b"[..], b"\xED\xA0\x80", b"\xC0\xAF", b"\xE2\x82"] {
            assert!(!is_text(bad) && !is_name(bad), "{bad:?}");
        }
    }
}
