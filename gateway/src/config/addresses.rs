//! Where a listener listens: any number of addresses, or `off`.

use std::net::{Ipv4Addr, SocketAddr};

use super::setting::{Bounds, Given, Mismatch, Setting};

/// Addresses to listen on; none means that the listener is off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Addresses(Vec<SocketAddr>);

impl Addresses {
    /// 127.0.0.1 with `port`.
    #[must_use]
    pub(crate) fn loopback(port: u16) -> Self {
        Self(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))])
    }

    /// Nothing listens.
    #[must_use]
    pub(crate) fn is_off(&self) -> bool {
        self.0.is_empty()
    }

    /// Each address, in the order given.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SocketAddr> {
        self.0.iter()
    }

    /// Adds what `text` says: addresses with commas between them, or `off`.
    fn extend(&mut self, text: &str) -> Result<(), Mismatch> {
        let text = text.trim();
        if text == "off" {
            return Ok(());
        }
        for part in text.split(',').map(str::trim) {
            let address = part.parse().map_err(|_| Mismatch {
                expected: "ADDR:PORT (127.0.0.1:5672, [::]:5672) or off".to_owned(),
                got: format!("{part:?}"),
            })?;
            if !self.0.contains(&address) {
                self.0.push(address);
            }
        }
        Ok(())
    }
}

impl Setting for Addresses {
    fn set(&mut self, given: &Given, _: Bounds) -> Result<(), Mismatch> {
        let mut addresses = Self::default();
        let elements = match given {
            Given::List(elements) => elements.as_slice(),
            single => std::slice::from_ref(single),
        };
        for element in elements {
            let text = element.as_text().ok_or_else(|| element.mismatch("ADDR:PORT in quotes, or \"off\""))?;
            addresses.extend(text)?;
        }
        *self = addresses;
        Ok(())
    }
}
