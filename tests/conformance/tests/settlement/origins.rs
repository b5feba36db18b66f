//! Dead letters that cross: publishes of each protocol that die come to AMQP queues and to subscribers of all protocols, with
//! their deaths in the form that each protocol knows.

use async_nats::HeaderMap;
use braid_conformance::{
    Failure, Outcome, Port, amqp,
    mqtt::{Client, Options, PublishProperties, Version},
    nats,
};
use bytes::Bytes;
use lapin::{
    ExchangeKind,
    message::Delivery,
    options::{BasicNackOptions, BasicRejectOptions},
    types::AMQPValue,
};

use crate::dead_letter::{Death, deaths};
use crate::kind::{Kind, text};
use crate::stage::{Stage, body, header, headers};

const DROP: BasicRejectOptions = BasicRejectOptions { requeue: false };

/// A source queue `work` on `amq.topic`, whose letters go there again with another key, and a queue `grave` for them.
async fn declare(stage: &Stage, kind: Kind) -> Outcome {
    let way = [("x-dead-letter-exchange", text("amq.topic")), ("x-dead-letter-routing-key", text("dead.letters"))];
    stage.declare(kind, "work", &way).await?;
    stage.bind("work", "amq.topic", "in.#").await?;
    stage.declare(kind, "grave", &[]).await?;
    stage.bind("grave", "amq.topic", "dead.#").await
}

/// What MQTT and NATS say of a death of `work` by `key`.
fn assert_record(record: &str, key: &str) {
    let begin = "queue=work;reason=rejected;count=1;time=";
    let end = format!(";exchange=amq.topic;routing-keys={key}");
    assert!(record.starts_with(begin) && record.ends_with(&end), "{record}");
}

fn said(delivery: &Delivery, name: &str) -> Result<String, Failure> {
    match header(delivery, name) {
        Some(AMQPValue::LongString(text)) => Ok(text.to_string()),
        other => Err(Failure::new(format!("{other:?} as {name}"))),
    }
}

/// All receivers of the letter of one message that carries header `Own`.
async fn assert_everywhere(
    stage: &Stage,
    mqtt: &mut Client,
    subscriber: &mut async_nats::Subscriber,
    content: &str,
    key: &str,
) -> Outcome {
    stage.get("work").await?.reject(DROP).await?;
    let letter = stage.take("grave").await?;
    assert_eq!((body(&letter).as_str(), letter.routing_key.as_str()), (content, "dead.letters"));
    let (plain_key, expiration) = key.split_once(";original-expiration=").unzip();
    let death = Death::once("work", "rejected", "amq.topic", plain_key.unwrap_or(key));
    assert_eq!(deaths(&letter)?, [Death { expiration: expiration.map(str::to_owned), ..death }]);
    assert_eq!(said(&letter, "x-first-death-queue")?, "work");
    assert_eq!(said(&letter, "x-last-death-reason")?, "rejected");
    assert_eq!(said(&letter, "Own")?, "kept");

    let message = mqtt.next().await?;
    assert_eq!((message.topic.as_str(), message.payload.as_ref()), ("dead/letters", content.as_bytes()));
    assert!(!message.retain);
    let properties = message.properties.unwrap_or_default();
    let value = |name: &str| properties.user_properties.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    assert_record(value("x-death").map_or("", String::as_str), key);
    assert_eq!(value("Own").map(String::as_str), Some("kept"));

    let message = nats::next(subscriber).await?;
    assert_eq!((message.subject.as_str(), message.payload.as_ref()), ("dead.letters", content.as_bytes()));
    let headers = message.headers.ok_or_else(|| Failure::new("no headers"))?;
    assert_record(headers.get("x-death").map_or("", |value| value.as_str()), key);
    assert_eq!(headers.get("Own").map(|value| value.as_str()), Some("kept"));
    Ok(())
}

#[tokio::test]
async fn a_dead_publish_of_mqtt_and_of_nats_reaches_everybody() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind).await?;
        let mut mqtt = Client::connect(stage.broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
        mqtt.subscribe("dead/#", 1).await?;
        let nats = nats::connect(stage.broker.address(Port::Nats)?).await?;
        let mut subscriber = nats::subscribe(&nats, "dead.>").await?;

        let properties = PublishProperties {
            user_properties: vec![("Own".to_owned(), "kept".to_owned())],
            message_expiry_interval: Some(600),
            ..PublishProperties::default()
        };
        mqtt.sender.publish_with("in/mqtt", 1, b"of mqtt", properties).await?;
        mqtt.published(1).await?;
        stage.until_ready("work", 1).await?;
        let key = "in.mqtt;original-expiration=600000";
        assert_everywhere(&stage, &mut mqtt, &mut subscriber, "of mqtt", key).await?;

        let mut headers = HeaderMap::new();
        headers.insert("Own", "kept");
        nats.publish_with_headers("in.nats", headers, Bytes::from_static(b"of nats")).await?;
        stage.until_ready("work", 1).await?;
        assert_everywhere(&stage, &mut mqtt, &mut subscriber, "of nats", "in.nats").await?;
    }
    Ok(())
}

/// And one of AMQP.
#[tokio::test]
async fn a_dead_publish_of_amqp_reaches_everybody() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind).await?;
        let mut mqtt = Client::connect(stage.broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
        mqtt.subscribe("dead/#", 1).await?;
        let nats = nats::connect(stage.broker.address(Port::Nats)?).await?;
        let mut subscriber = nats::subscribe(&nats, "dead.>").await?;
        let properties = headers(&[("Own", text("kept"))]).with_expiration("60000".into());
        amqp::publish_with(&stage.channel, "amq.topic", "in.amqp", b"of amqp", properties).await?;
        let key = "in.amqp;original-expiration=60000";
        assert_everywhere(&stage, &mut mqtt, &mut subscriber, "of amqp", key).await?;
    }
    Ok(())
}

/// A message of MQTT goes round by rejection, over kills, and its deaths are counted.
#[tokio::test]
async fn the_deaths_of_a_publish_of_mqtt_are_counted_over_kills() -> Outcome {
    for kind in Kind::DURABLE {
        let mut stage = Stage::start().await?;
        let way = [("x-dead-letter-exchange", text("amq.topic")), ("x-dead-letter-routing-key", text("in.again"))];
        stage.declare(kind, "work", &way).await?;
        stage.bind("work", "amq.topic", "in.#").await?;
        let mut mqtt = Client::connect(stage.broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
        mqtt.publish("in/first", 1, b"m").await?;
        for count in 1..=3 {
            stage.get("work").await?.reject(DROP).await?;
            stage.until_ready("work", 1).await?;
            stage.restart().await?;
            let again = stage.get("work").await?;
            let death = Death::once("work", "rejected", "amq.topic", "in.first");
            assert_eq!(deaths(&again)?, [death.times(count)], "{kind:?}");
            again.nack(BasicNackOptions { requeue: true, multiple: false }).await?;
        }
    }
    Ok(())
}

/// A letter of a retained publish is not retained itself, and one without properties gets what it needs.
#[tokio::test]
async fn a_dead_publish_of_mqtt_3_is_not_retained() -> Outcome {
    let stage = Stage::start().await?;
    declare(&stage, Kind::Quorum).await?;
    let mut publisher = Client::connect(stage.broker.address(Port::Mqtt)?, &Options::new(Version::V311)).await?;
    publisher.retain("in/mqtt", 1, b"m").await?;
    stage.get("work").await?.reject(DROP).await?;
    let letter = stage.take("grave").await?;
    assert_eq!(deaths(&letter)?, [Death::once("work", "rejected", "amq.topic", "in.mqtt")]);
    let mut late = Client::connect(stage.broker.address(Port::Mqtt)?, &Options::new(Version::V311)).await?;
    late.subscribe("#", 1).await?;
    assert_eq!(late.next().await?.topic, "in/mqtt", "the only retained one");
    publisher.publish("end", 1, b"").await?;
    assert_eq!(late.next().await?.topic, "end");
    Ok(())
}

/// Through the default exchange a key is a queue's name, whatever the notation of the publisher; beyond it, it is a key
/// in AMQP's.
#[tokio::test]
async fn an_mqtt_letter_comes_to_a_queue_by_its_name() -> Outcome {
    let stage = Stage::start().await?;
    let way = [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text("grave.of/mqtt"))];
    stage.declare(Kind::Quorum, "work", &way).await?;
    stage.bind("work", "amq.topic", "in.#").await?;
    stage.exchange("dead", ExchangeKind::Topic).await?;
    stage.declare(Kind::Quorum, "grave.of/mqtt", &[("x-dead-letter-exchange", text("dead"))]).await?;
    stage.declare(Kind::Quorum, "end", &[]).await?;
    stage.bind("end", "dead", "grave.*").await?;
    let mut mqtt = Client::connect(stage.broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
    mqtt.publish("in/a.b/c", 1, b"m").await?;
    stage.get("work").await?.reject(DROP).await?;
    let letter = stage.get("grave.of/mqtt").await?;
    let first = Death::once("work", "rejected", "amq.topic", "in.a/b.c");
    assert_eq!(deaths(&letter)?, std::slice::from_ref(&first));
    letter.reject(DROP).await?;
    let letter = stage.take("end").await?;
    assert_eq!(deaths(&letter)?, [Death::once("grave.of/mqtt", "rejected", "", "grave.of/mqtt"), first]);
    Ok(())
}
