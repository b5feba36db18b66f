//! The parameters of a request: `name=value` pairs behind the question mark, escaped with `%XX`.

/// The value of the parameter `name`, the only one that the page takes.
///
/// # Errors
/// Another parameter, a parameter without a value or given twice, or bytes that are no UTF-8: what is wrong.
pub(super) fn only_parameter(query: Option<&str>, name: &str) -> Result<Option<String>, String> {
    let mut found = None;
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (given, value) = pair.split_once('=').ok_or_else(|| format!("parameter {pair} has no value"))?;
        if given != name {
            return Err(format!("unknown parameter {given}; there is {name}"));
        }
        let value = decoded(value).ok_or_else(|| format!("parameter {name} is no UTF-8"))?;
        if found.replace(value).is_some() {
            return Err(format!("parameter {name} is given twice"));
        }
    }
    Ok(found)
}

/// `text` as one segment of a path or value of a query: every byte that could mean something is written `%XX`.
#[must_use]
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Takes the escapes out; `None`: the result is no UTF-8. A `%` that begins no escape stands for itself, `+` is a space.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                bytes.push(digit(*high) << 4 | digit(*low));
                rest = tail;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

/// The value of a hexadecimal digit.
fn digit(letter: u8) -> u8 {
    match letter {
        b'0'..=b'9' => letter - b'0',
        b'a'..=b'f' => letter - b'a' + 10,
        _ => letter.saturating_sub(b'A').saturating_add(10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_comes_back() {
        for text in ["/", "$share/g/a/b c", "100%", "a+b&c=d", "über", ""] {
            assert_eq!(decoded(&escaped(text)).as_deref(), Some(text));
        }
        assert_eq!(decoded("a+b%2fc%zz%").as_deref(), Some("a b/c%zz%"));
        assert_eq!(decoded("%ff"), None);
    }

    #[test]
    fn only_the_known_parameter_is_taken() {
        assert_eq!(only_parameter(None, "vhost"), Ok(None));
        assert_eq!(only_parameter(Some("vhost=%2F"), "vhost"), Ok(Some("/".to_owned())));
        for wrong in ["vhots=a", "vhost", "vhost=a&vhost=b", "vhost=%ff"] {
            assert!(only_parameter(Some(wrong), "vhost").is_err(), "{wrong}");
        }
    }
}
