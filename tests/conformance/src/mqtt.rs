//! MQTT 3.1.1 and 5 through rumqttc, behind one client so that a test runs with both.

mod client;
mod options;
mod packet;
mod pump;

pub use client::{Client, Sender};
pub use options::{Options, Version, Will};
pub use packet::{Publish, Reply};
pub use rumqttc::v5::mqttbytes::v5::PublishProperties;
