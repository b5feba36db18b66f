//! The deaths that a dead letter remembers, for receivers of another protocol than its publisher's: AMQP's `x-death` is an
//! array of tables, that of MQTT and NATS one text for each death (`braid_types::DeathRecord`).
//!
//! Never rewrites what a client published: only letters of the broker's own have deaths.

use braid_types::{ConnectionId, DeathHistory, DeathRecord, HeaderValue, Headers, Message, Protocol};
use bytes::Bytes;

/// Has `headers`, the neutral ones of `message`, show its deaths as receivers that speak `protocol` know them.
pub(super) fn translate(message: &Message, protocol: Protocol, headers: &mut Headers) {
    if message.publisher != ConnectionId::BROKER {
        return;
    }
    let deaths = match message.origin {
        Protocol::Amqp => braid_amqp::deaths(message),
        Protocol::Mqtt => braid_mqtt::deaths(message),
        Protocol::Nats => braid_nats::deaths(message),
    };
    let is_record = |name: &Bytes| name.as_ref() == DeathHistory::RECORDS.as_bytes();
    let Some(first) = headers.iter().position(|(name, _)| is_record(name)).filter(|_| !deaths.is_empty()) else {
        return;
    };
    headers.retain(|(name, _)| !is_record(name));
    let name = Bytes::from_static(DeathHistory::RECORDS.as_bytes());
    let values = match protocol {
        Protocol::Amqp => vec![HeaderValue::List(deaths.iter().map(table).collect())],
        Protocol::Mqtt | Protocol::Nats => deaths.iter().map(|death| HeaderValue::Text(death.to_text())).collect(),
    };
    headers.splice(first..first, values.into_iter().map(|value| (name.clone(), value)));
}

/// A death with RabbitMQ's fields, in its order.
fn table(death: &DeathRecord) -> HeaderValue {
    let text = |value: &Bytes| HeaderValue::Text(value.clone());
    let original_expiration =
        death.original_expiration_ms.map(|milliseconds| HeaderValue::Text(Bytes::from(milliseconds.to_string())));
    let fields = [
        ("original-expiration", original_expiration),
        ("count", Some(HeaderValue::Integer(i64::try_from(death.count).unwrap_or(i64::MAX)))),
        ("reason", Some(text(&death.reason))),
        ("queue", Some(text(&death.queue))),
        ("time", Some(HeaderValue::TimestampS(death.time_s))),
        ("exchange", Some(text(&death.exchange))),
        ("routing-keys", Some(HeaderValue::List(death.routing_keys.iter().map(text).collect()))),
    ];
    let given = fields.into_iter().filter_map(|(name, value)| Some((Bytes::from_static(name.as_bytes()), value?)));
    HeaderValue::Table(given.collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use braid_types::Death;

    use super::*;
    use crate::conversion::{dead_letter, for_receiver};

    fn letter(origin: Protocol) -> Message {
        let header = if origin == Protocol::Nats { &b"NATS/1.0\r\nA: b\r\n\r\n"[..] } else { b"" };
        let message = Message { header: Bytes::from_static(header), ..Message::empty(origin) };
        let death = Death {
            reason: "rejected",
            queue: Bytes::from_static(b"work"),
            time_s: 7,
            exchange: Bytes::from_static(b"x"),
            routing_keys: vec![Bytes::from_static(b"a.b")],
        };
        let once = dead_letter(&message, &death).message;
        dead_letter(&once, &Death { reason: "expired", ..death }).message
    }

    fn records(message: &Message, protocol: Protocol) -> Vec<HeaderValue> {
        let properties = for_receiver(message, protocol).map(Arc::unwrap_or_clone).unwrap_or_default();
        let own = |(name, value): (Bytes, HeaderValue)| (name == DeathHistory::RECORDS).then_some(value);
        properties.headers.into_iter().filter_map(own).collect()
    }

    #[test]
    fn each_protocol_gets_its_own_form() {
        let texts: Vec<HeaderValue> = ["expired", "rejected"]
            .map(|reason| format!("queue=work;reason={reason};count=1;time=7;exchange=x;routing-keys=a.b"))
            .map(|text| HeaderValue::Text(Bytes::from(text)))
            .into();
        for (from, to) in [(Protocol::Amqp, Protocol::Mqtt), (Protocol::Mqtt, Protocol::Nats)] {
            assert_eq!(records(&letter(from), to), texts, "{from:?} to {to:?}");
        }
        for from in [Protocol::Mqtt, Protocol::Nats] {
            let found = records(&letter(from), Protocol::Amqp);
            let [HeaderValue::List(tables)] = found.as_slice() else { panic!("{found:?}") };
            let reasons: Vec<&HeaderValue> = tables
                .iter()
                .filter_map(|table| if let HeaderValue::Table(fields) = table { Some(fields) } else { None })
                .filter_map(|fields| fields.iter().find(|(name, _)| name == "reason").map(|(_, value)| value))
                .collect();
            let expected =
                ["expired", "rejected"].map(|reason| HeaderValue::Text(Bytes::from_static(reason.as_bytes())));
            assert_eq!(reasons, expected.iter().collect::<Vec<_>>(), "{from:?}");
        }
    }

    #[test]
    fn what_a_client_says_about_deaths_stays_as_it_is() {
        let forged = b"NATS/1.0\r\nx-death: queue=work;reason=rejected;count=1;time=7;exchange=;routing-keys=\r\n\r\n";
        let message = Message { header: Bytes::from_static(forged), ..Message::empty(Protocol::Nats) };
        let message = Message { publisher: ConnectionId(5), ..message };
        let found = records(&message, Protocol::Amqp);
        assert!(matches!(found.as_slice(), [HeaderValue::Text(_)]), "{found:?}");
    }
}
