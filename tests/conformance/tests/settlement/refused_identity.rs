//! An identity that makes no sense: that publish is refused, in the words that its protocol has, and nothing else.

use async_nats::HeaderMap;
use braid_conformance::{
    Failure, Outcome, Port, amqp,
    mqtt::{Client, Options, PublishProperties, Reply, Version},
    nats, within,
};
use bytes::Bytes;
use lapin::{ErrorKind, options::BasicPublishOptions, types::AMQPValue};

use crate::kind::{Kind, number, text};
use crate::stage::{Stage, headers};

const REFUSED: &str = "braidmq_messages_refused_total";

async fn stage() -> Result<Stage, Failure> {
    let stage = Stage::start().await?;
    stage.declare(Kind::Quorum, "once", &[]).await?;
    stage.bind("once", "amq.topic", "once.#").await?;
    Ok(stage)
}

/// What was refused is not stored; what follows is.
async fn assert_only_the_good_is_stored(stage: &Stage, refused: u64) -> Outcome {
    stage.until_ready("once", 1).await?;
    assert_eq!(stage.drain("once").await?, ["good"]);
    assert_eq!(stage.metric(REFUSED).await?, refused);
    Ok(())
}

#[tokio::test]
async fn by_amqp_it_is_nacked_or_closes_the_channel_with_the_reason() -> Outcome {
    let stage = stage().await?;
    let long = "l".repeat(256);
    let bad: [&[(&str, AMQPValue)]; 6] = [
        &[("x-publisher-id", text("p"))],
        &[("x-publisher-seq", number(1))],
        &[("x-publisher-id", text("p")), ("x-publisher-seq", number(-1))],
        &[("x-publisher-id", text("p")), ("x-publisher-seq", text("one"))],
        &[("x-publisher-id", text("")), ("x-publisher-seq", number(1))],
        &[("Nats-Msg-Id", text(&long))],
    ];
    for identity in bad {
        let options = BasicPublishOptions::default();
        let sent =
            stage.channel.basic_publish("amq.topic".into(), "once.in".into(), options, b"bad", headers(identity));
        let confirm = within("confirm", sent.await?).await??;
        assert!(!confirm.is_ack(), "{identity:?}");
    }
    let plain = stage.channel(0).await?;
    let options = BasicPublishOptions::default();
    let identity = headers(&[("x-publisher-seq", number(1))]);
    drop(plain.basic_publish("amq.topic".into(), "once.in".into(), options, b"bad", identity).await?);
    let error = within("the end of the channel", amqp::declare(&plain, "never")).await?;
    let error = error.err().map(|failure| failure.to_string()).unwrap_or_default();
    assert!(error.contains("x-publisher-seq without x-publisher-id"), "{error}");
    amqp::publish(&stage.channel, "amq.topic", "once.in", b"good").await?;
    assert_only_the_good_is_stored(&stage, 7).await
}

#[tokio::test]
async fn by_mqtt_its_acknowledgement_says_so() -> Outcome {
    let stage = stage().await?;
    let mut client = Client::connect(stage.broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
    for identity in [[("x-publisher-id", "p"), ("x-publisher-seq", "x")], [("x-publisher-id", "p"), ("other", "1")]] {
        let user_properties = identity.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let properties = PublishProperties { user_properties, ..PublishProperties::default() };
        client.sender.publish_with("once/in", 1, b"bad", properties).await?;
        match client.reply().await? {
            Reply::Acknowledged(reason) => assert_ne!(reason, "Success"),
            other => return Err(Failure::new(format!("{other:?}"))),
        }
    }
    client.publish("once/in", 1, b"good").await?;
    assert_only_the_good_is_stored(&stage, 2).await
}

#[tokio::test]
async fn by_nats_it_is_not_taken_and_logged() -> Outcome {
    let stage = stage().await?;
    let client = nats::connect(stage.broker.address(Port::Nats)?).await?;
    let mut identity = HeaderMap::new();
    identity.insert("x-publisher-id", "p");
    client.publish_with_headers("once.in", identity, Bytes::from_static(b"bad")).await?;
    client.publish("once.in", Bytes::from_static(b"good")).await?;
    nats::barrier(&client).await?;
    assert_only_the_good_is_stored(&stage, 1).await?;
    assert!(stage.broker.log().contains("x-publisher-id without x-publisher-seq"), "{}", stage.broker.log());
    Ok(())
}

/// What kind of error a refused publish is on a channel without confirms.
#[tokio::test]
async fn by_amqp_without_confirms_it_is_a_precondition() -> Outcome {
    let stage = stage().await?;
    let plain = stage.channel(0).await?;
    let identity = headers(&[("x-publisher-id", text("p"))]);
    let options = BasicPublishOptions::default();
    drop(plain.basic_publish("amq.topic".into(), "once.in".into(), options, b"bad", identity).await?);
    let asked = plain.queue_declare("never".into(), Default::default(), Default::default());
    let error = within("the end of the channel", asked).await?.err();
    let error = error.ok_or_else(|| Failure::new("the channel goes on"))?;
    assert!(matches!(error.kind(), ErrorKind::ProtocolError(_)), "{error}");
    assert_eq!(amqp::code(&error), Some(406));
    Ok(())
}
