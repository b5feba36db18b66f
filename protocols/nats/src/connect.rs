//! The JSON object of `CONNECT`, read as nats-server reads it: names in any case, `null` and unknown names ignored, the
//! last of several wins, and what a later `CONNECT` does not name keeps its value.
//!
//! Stricter than nats-server in one point that only garbage reaches: half a surrogate pair is an error. Size is bounded
//! by the control line limit, and what is ignored is skipped without recursion.

use alloc::string::String;
use core::fmt;

use braid_types::Credentials;
use bytes::Bytes;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::error::Fault;

/// What a client asked for. The defaults are those of a client that sent no `CONNECT`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is one switch of CONNECT, with no state between them")]
pub(crate) struct ClientOptions {
    /// Answer each operation with `+OK`.
    pub verbose: bool,
    /// Check subjects of publishes.
    pub pedantic: bool,
    /// Send the client its own messages too.
    pub echo: bool,
    /// The client understands headers.
    pub headers: bool,
    /// The client wants to know when nobody answers a request.
    pub no_responders: bool,
    /// Version of the protocol: 1 understands `INFO` at any time.
    pub protocol: i64,
    /// Names an account, which is refused as in nats-server.
    pub names_account: bool,
    /// Name, language and version of the client, for logs and listings.
    pub name: String,
    /// Its language.
    pub lang: String,
    /// Its version.
    pub version: String,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            verbose: true,
            pedantic: true,
            echo: true,
            headers: false,
            no_responders: false,
            protocol: 0,
            names_account: false,
            name: String::new(),
            lang: String::new(),
            version: String::new(),
        }
    }
}

/// The secrets of one `CONNECT`. They are moved into one request and forgotten.
#[derive(Default)]
struct Secrets {
    user: String,
    password: String,
    token: String,
}

impl ClientOptions {
    /// Takes over what `text` names, and gives the credentials in it.
    ///
    /// # Errors
    /// The text is not such a JSON object: [`Fault::Arguments`].
    pub(crate) fn update(&mut self, text: &[u8]) -> Result<Credentials, Fault> {
        let text = String::from_utf8_lossy(text);
        let mut deserializer = serde_json::Deserializer::from_str(&text);
        let mut secrets = Secrets::default();
        let fields = Fields { options: self, secrets: &mut secrets };
        deserializer.deserialize_any(fields).and_then(|()| deserializer.end()).map_err(|_| Fault::Arguments)?;
        Ok(secrets.into_credentials())
    }
}

impl Secrets {
    fn into_credentials(self) -> Credentials {
        if !self.user.is_empty() || !self.password.is_empty() {
            Credentials::Password { user: Bytes::from(self.user), password: Bytes::from(self.password) }
        } else if !self.token.is_empty() {
            Credentials::Password { user: Bytes::new(), password: Bytes::from(self.token) }
        } else {
            Credentials::Anonymous
        }
    }
}

struct Fields<'a> {
    options: &'a mut ClientOptions,
    secrets: &'a mut Secrets,
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Fields { options, secrets } = self;
        while let Some(mut name) = map.next_key::<String>()? {
            name.make_ascii_lowercase();
            match name.as_str() {
                "verbose" => set(&mut map, &mut options.verbose)?,
                "pedantic" => set(&mut map, &mut options.pedantic)?,
                "echo" => set(&mut map, &mut options.echo)?,
                "headers" => set(&mut map, &mut options.headers)?,
                "no_responders" => set(&mut map, &mut options.no_responders)?,
                "protocol" => set(&mut map, &mut options.protocol)?,
                "name" => set(&mut map, &mut options.name)?,
                "lang" => set(&mut map, &mut options.lang)?,
                "version" => set(&mut map, &mut options.version)?,
                "user" => set(&mut map, &mut secrets.user)?,
                "pass" => set(&mut map, &mut secrets.password)?,
                "auth_token" => set(&mut map, &mut secrets.token)?,
                "new_account" => set(&mut map, &mut options.names_account)?,
                "account" => {
                    let mut account = String::new();
                    set(&mut map, &mut account)?;
                    options.names_account |= !account.is_empty();
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

fn set<'de, A: MapAccess<'de>, T: serde::Deserialize<'de>>(map: &mut A, field: &mut T) -> Result<(), A::Error> {
    if let Some(value) = map.next_value::<Option<T>>()? {
        *field = value;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(ClientOptions, Credentials), Fault> {
        let mut options = ClientOptions::default();
        options.update(text.as_bytes()).map(|credentials| (options, credentials))
    }

    #[test]
    fn names_in_any_case_nulls_and_unknown_fields() {
        let text = r#" {"VERBOSE":false,"pedantic":null,"zz":[[{"a":1}]],"protocol":1,"name":"x\u00e9","Echo":true,
                       "echo":false} "#;
        let (options, credentials) = read(text).unwrap();
        assert!(!options.verbose && options.pedantic && !options.echo);
        assert_eq!((options.protocol, options.name.as_str()), (1, "xé"));
        assert_eq!(credentials, Credentials::Anonymous);
        assert_eq!(read("null").unwrap().0, ClientOptions::default());
    }

    #[test]
    fn credentials_are_a_password_or_a_token() {
        let password = |user: &'static str, password: &'static str| Credentials::Password {
            user: Bytes::from_static(user.as_bytes()),
            password: Bytes::from_static(password.as_bytes()),
        };
        assert_eq!(read(r#"{"user":"u","pass":"p"}"#).unwrap().1, password("u", "p"));
        assert_eq!(read(r#"{"user":"u"}"#).unwrap().1, password("u", ""));
        assert_eq!(read(r#"{"auth_token":"t"}"#).unwrap().1, password("", "t"));
        assert_eq!(read(r#"{"user":"u","pass":"p","auth_token":"t"}"#).unwrap().1, password("u", "p"));
    }

    #[test]
    fn garbage_is_refused() {
        let bad = ["", "{", "{bad}", "[]", "{} x", r#"{"verbose":1}"#, r#"{"name":1}"#, r#"{"protocol":1.0}"#, "1"];
        for text in bad {
            assert_eq!(read(text).map(|_| ()), Err(Fault::Arguments), "{text}");
        }
        let deep = alloc::format!("{{\"a\":{}1{}}}", "[".repeat(2000), "]".repeat(2000));
        assert!(read(&deep).is_ok());
        let mut options = ClientOptions::default();
        assert!(options.update(b"{\"name\":\"\xff\"}").is_ok());
        assert_eq!(options.name, "\u{fffd}");
    }
}
