//! The scenes: what is sent, by how many, to how many.

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// AMQP 0-9-1.
    Amqp,
    /// MQTT 5.
    Mqtt,
    /// NATS.
    Nats,
}

impl Protocol {
    /// Its name in environment variables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Amqp => "AMQP",
            Self::Mqtt => "MQTT",
            Self::Nats => "NATS",
        }
    }
}

/// One publisher, some consumers.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// Its short name.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The protocol of all its clients.
    pub protocol: Protocol,
    /// Size of a body, in bytes; at least 16 (number and time of sending).
    pub size_bytes: usize,
    /// The publisher waits for confirms (AMQP confirms, MQTT `QoS` 1), and consumers acknowledge.
    pub acknowledged: bool,
    /// Consumers.
    pub consumers: usize,
    /// They share the messages (`$share`, queue group); AMQP consumers always do.
    pub shared: bool,
    /// Messages that may be on their way: unconfirmed ones where they are confirmed, else published and not received.
    pub window: u64,
    /// Messages that a consumer may hold unacknowledged.
    pub prefetch: u16,
}

/// All scenes.
pub const SCENES: &[Scene] = &[
    Scene {
        name: "A1",
        title: "AMQP durable queue, confirms, acks, 256 B",
        protocol: Protocol::Amqp,
        size_bytes: 256,
        acknowledged: true,
        consumers: 1,
        shared: true,
        window: 1_000,
        prefetch: 500,
    },
    Scene {
        name: "M1",
        title: "MQTT QoS 0, one to one, 128 B",
        protocol: Protocol::Mqtt,
        size_bytes: 128,
        acknowledged: false,
        consumers: 1,
        shared: false,
        window: 20_000,
        prefetch: 1_000,
    },
    Scene {
        name: "M2",
        title: "MQTT QoS 1, $share with four members, 128 B",
        protocol: Protocol::Mqtt,
        size_bytes: 128,
        acknowledged: true,
        consumers: 4,
        shared: true,
        window: 1_000,
        prefetch: 250,
    },
    Scene {
        name: "N1",
        title: "NATS, one to one, 128 B",
        protocol: Protocol::Nats,
        size_bytes: 128,
        acknowledged: false,
        consumers: 1,
        shared: false,
        window: 50_000,
        prefetch: 0,
    },
    Scene {
        name: "N2",
        title: "NATS queue group with four members, 128 B",
        protocol: Protocol::Nats,
        size_bytes: 128,
        acknowledged: false,
        consumers: 4,
        shared: true,
        window: 50_000,
        prefetch: 0,
    },
];
