//! The SASL mechanisms PLAIN (RFC 4616) and AMQPLAIN (a field table with `LOGIN` and `PASSWORD`).
//!
//! Never: a secret in an error text.

use alloc::{format, string::String};

use braid_types::{Credentials, HeaderValue};
use bytes::Bytes;

use crate::{Exception, ReplyCode, field_table};

/// What `connection.start` offers.
pub(super) const MECHANISMS: &[u8] = b"PLAIN AMQPLAIN";

/// Name of the mechanism, and what the client offers with it.
pub(super) fn credentials(mechanism: &Bytes, response: &Bytes) -> Result<(&'static str, Credentials), Exception> {
    match mechanism.as_ref() {
        b"PLAIN" => Ok(("PLAIN", plain(response).ok_or_else(|| invalid("PLAIN"))?)),
        b"AMQPLAIN" => Ok(("AMQPLAIN", amqplain(response).ok_or_else(|| invalid("AMQPLAIN"))?)),
        _ => {
            let mechanism = String::from_utf8_lossy(mechanism);
            Err(Exception::new(ReplyCode::CommandInvalid, format!("unknown authentication mechanism '{mechanism}'")))
        }
    }
}

fn invalid(mechanism: &str) -> Exception {
    Exception::new(ReplyCode::SyntaxError, format!("invalid response for mechanism {mechanism}"))
}

/// `[authorization identity] NUL user NUL password`. The authorization identity is ignored.
fn plain(response: &Bytes) -> Option<Credentials> {
    let mut parts = response.split(|octet| *octet == 0);
    let (_, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    Some(Credentials::Password { user: response.slice_ref(user), password: response.slice_ref(password) })
}

fn amqplain(response: &Bytes) -> Option<Credentials> {
    let fields = field_table::decode(response, response).ok()?;
    let text = |name: &[u8]| {
        let (_, value) = fields.iter().find(|(found, _)| found.as_ref() == name)?;
        if let HeaderValue::Text(text) = value { Some(text.clone()) } else { None }
    };
    Some(Credentials::Password { user: text(b"LOGIN")?, password: text(b"PASSWORD")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(user: &'static [u8], password: &'static [u8]) -> Credentials {
        Credentials::Password { user: Bytes::from_static(user), password: Bytes::from_static(password) }
    }

    #[test]
    fn both_mechanisms_yield_user_and_password() {
        let plain = credentials(&Bytes::from_static(b"PLAIN"), &Bytes::from_static(b"\0guest\0secret"));
        assert_eq!(plain, Ok(("PLAIN", password(b"guest", b"secret"))));
        let table = Bytes::from_static(b"\x05LOGINS\0\0\0\x01g\x08PASSWORDS\0\0\0\x01p");
        assert_eq!(credentials(&Bytes::from_static(b"AMQPLAIN"), &table), Ok(("AMQPLAIN", password(b"g", b"p"))));
    }

    #[test]
    fn bad_responses_are_refused_without_repeating_them() {
        for response in [&b"hunter2"[..], b"\0hunter2", b"\0a\0hunter2\0"] {
            let error = credentials(&Bytes::from_static(b"PLAIN"), &Bytes::from_static(response)).unwrap_err();
            assert_eq!(error.code, ReplyCode::SyntaxError);
            assert!(!error.text.contains("hunter2"));
        }
        let unknown = credentials(&Bytes::from_static(b"EXTERNAL"), &Bytes::new()).unwrap_err();
        assert_eq!(unknown.code, ReplyCode::CommandInvalid);
    }
}
