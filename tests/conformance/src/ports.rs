//! Which port of the broker speaks what.

use std::{collections::BTreeMap, net::SocketAddr};

use crate::Failure;

/// A kind of port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    /// AMQP 0-9-1 alone.
    Amqp,
    /// MQTT alone.
    Mqtt,
    /// NATS alone.
    Nats,
    /// The one port, which tells them apart.
    Any,
    /// HTTP alone.
    Http,
}

impl Port {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Amqp, Self::Mqtt, Self::Nats, Self::Any, Self::Http];

    /// Its name in the broker's `listening NAME ADDRESS` line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Amqp => "amqp",
            Self::Mqtt => "mqtt",
            Self::Nats => "nats",
            Self::Any => "any",
            Self::Http => "http",
        }
    }

    /// The flag of `braidmq serve` that sets its address.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            Self::Amqp => "--amqp-listen",
            Self::Mqtt => "--mqtt-listen",
            Self::Nats => "--nats-listen",
            Self::Any => "--listen",
            Self::Http => "--http-listen",
        }
    }
}

/// The addresses at which a broker listens.
#[derive(Clone, Debug, Default)]
pub struct Ports(BTreeMap<Port, SocketAddr>);

impl Ports {
    /// Addresses of peers from the environment (`CONFORMANCE_AMQP` and so on); `None` when no variable is set.
    ///
    /// # Errors
    /// When a variable is no address.
    pub fn from_environment() -> Result<Option<Self>, Failure> {
        let mut ports = Self::default();
        for port in Port::ALL {
            if let Ok(text) = std::env::var(format!("CONFORMANCE_{}", port.name().to_uppercase())) {
                ports.0.insert(port, text.parse()?);
            }
        }
        Ok((!ports.0.is_empty()).then_some(ports))
    }

    /// Takes note of a line of the broker's output when it says where it listens.
    ///
    /// # Errors
    /// When the line begins like one and cannot be read.
    pub fn read_line(&mut self, line: &str) -> Result<(), Failure> {
        let Some(rest) = line.strip_prefix("listening ") else { return Ok(()) };
        let mut words = rest.split_whitespace();
        let (Some(name), Some(address)) = (words.next(), words.next()) else {
            return Err(Failure::new(format!("cannot read `{line}`")));
        };
        if let Some(port) = Port::ALL.into_iter().find(|port| port.name() == name) {
            self.0.insert(port, address.parse()?);
        }
        Ok(())
    }

    /// The address of `port`.
    ///
    /// # Errors
    /// When nothing listens there.
    pub fn get(&self, port: Port) -> Result<SocketAddr, Failure> {
        self.0.get(&port).copied().ok_or_else(|| Failure::new(format!("the broker has no `{}` port", port.name())))
    }
}
