//! Will messages (MQTT 5, 3.1.2.5): made at CONNECT, published by the broker later.

use braid_types::{ConnectionId, Message, Protocol, Timestamp, Will};
use bytes::Bytes;

use crate::{packet::connect::ConnectWill, properties::publish::expiry};

/// The exchange that MQTT messages are published to.
pub(crate) const EXCHANGE: &[u8] = b"amq.topic";

/// The will as the broker keeps it.
pub(crate) fn will(connect: ConnectWill, publisher: ConnectionId, now: Timestamp) -> Will {
    let message = Message {
        exchange: Bytes::from_static(EXCHANGE),
        key: connect.topic,
        header: connect.header,
        body: connect.body,
        qos: connect.qos,
        retain: connect.retain,
        received_at: now,
        publisher,
        ..Message::empty(Protocol::Mqtt)
    };
    Will { message: message.into(), delay_s: connect.delay_s }
}

/// The message to publish when a will becomes due at `now`: its expiry interval counts from then (MQTT 5, 3.1.3.2.4).
#[must_use]
pub fn due_will(will: &Will, now: Timestamp) -> Message {
    let expires_at =
        expiry(&will.message.header).map(|(expiry_s, _)| now.plus_ms(u64::from(expiry_s).saturating_mul(1000)));
    Message { received_at: now, expires_at, ..Message::clone(&will.message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expiry_of_a_will_counts_from_its_publication() {
        let connect = ConnectWill {
            qos: 1,
            retain: false,
            topic: Bytes::from_static(b"w"),
            body: Bytes::new(),
            header: Bytes::from_static(&[0x02, 0, 0, 0, 3]),
            delay_s: 5,
        };
        let will = will(connect, ConnectionId(1), Timestamp(10));
        assert_eq!(will.message.expires_at, None);
        let due = due_will(&will, Timestamp(6_000));
        assert_eq!((due.received_at, due.expires_at), (Timestamp(6_000), Some(Timestamp(9_000))));
    }
}
