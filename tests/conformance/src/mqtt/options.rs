//! How a client connects.

use std::{net::SocketAddr, time::Duration};

use rumqttc::{mqttbytes::QoS as QoS4, v5::mqttbytes::QoS as QoS5};

use crate::{Failure, unique};

/// Largest packet that the client takes or sends, in bytes.
const PACKET_BYTES_MAX: u32 = 16 * 1024 * 1024;

/// `QoS` 1 and 2 publishes that the client lets be open.
const IN_FLIGHT_MAX: u16 = 500;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 3.1.1.
    V311,
    /// 5.0.
    V5,
}

impl Version {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V311, Self::V5];
}

/// A last will.
#[derive(Clone, Debug)]
pub struct Will {
    /// Its topic.
    pub topic: String,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// What goes into CONNECT.
#[derive(Clone, Debug)]
pub struct Options {
    /// Version of the protocol.
    pub version: Version,
    /// Client id.
    pub client_id: String,
    /// Keeps the session over connections (clean session 0; clean start 0 with an expiry of an hour).
    pub persistent: bool,
    /// Receive Maximum (version 5).
    pub receive_maximum: Option<u16>,
    /// The test acknowledges by itself.
    pub manual_acks: bool,
    /// Last will, `QoS` 1.
    pub will: Option<Will>,
}

impl Options {
    /// A clean session under a client id of its own.
    #[must_use]
    pub fn new(version: Version) -> Self {
        let client_id = unique("mqtt");
        Self { version, client_id, persistent: false, receive_maximum: None, manual_acks: false, will: None }
    }

    pub(super) fn v311(&self, address: SocketAddr) -> rumqttc::MqttOptions {
        let mut options = rumqttc::MqttOptions::new(&self.client_id, address.ip().to_string(), address.port());
        options.set_clean_session(!self.persistent).set_manual_acks(self.manual_acks).set_inflight(IN_FLIGHT_MAX);
        options.set_max_packet_size(PACKET_BYTES_MAX as usize, PACKET_BYTES_MAX as usize);
        options.set_keep_alive(Duration::from_secs(60));
        if let Some(will) = &self.will {
            options.set_last_will(rumqttc::LastWill::new(&will.topic, will.payload.clone(), QoS4::AtLeastOnce, false));
        }
        options
    }

    pub(super) fn v5(&self, address: SocketAddr) -> rumqttc::v5::MqttOptions {
        let mut options = rumqttc::v5::MqttOptions::new(&self.client_id, address.ip().to_string(), address.port());
        options.set_clean_start(!self.persistent).set_manual_acks(self.manual_acks);
        options.set_outgoing_inflight_upper_limit(IN_FLIGHT_MAX);
        options.set_max_packet_size(Some(PACKET_BYTES_MAX)).set_receive_maximum(self.receive_maximum);
        options.set_keep_alive(Duration::from_secs(60));
        if self.persistent {
            options.set_session_expiry_interval(Some(3_600));
        }
        if let Some(will) = &self.will {
            let payload = will.payload.clone();
            let will = rumqttc::v5::mqttbytes::v5::LastWill::new(&will.topic, payload, QoS5::AtLeastOnce, false, None);
            options.set_last_will(will);
        }
        options
    }
}

/// `QoS` 0, 1 or 2 in the words of version 3.1.1's half of the library.
pub(super) fn qos4(level: u8) -> Result<QoS4, Failure> {
    Ok(rumqttc::mqttbytes::qos(level)?)
}

/// `QoS` 0, 1 or 2 in the words of version 5's half of the library.
pub(super) fn qos5(level: u8) -> Result<QoS5, Failure> {
    rumqttc::v5::mqttbytes::qos(level).ok_or_else(|| Failure::new(format!("there is no QoS {level}")))
}
