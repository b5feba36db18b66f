//! Exactly-once publishing: a message that is sent again is confirmed again and stored once, in all protocols, over a
//! kill, and never mistaken for that of another user.

use async_nats::HeaderMap;
use braid_conformance::{
    Failure, Outcome, Port, amqp,
    mqtt::{Client, Options, PublishProperties, Reply, Version},
    nats,
};
use bytes::Bytes;
use lapin::types::AMQPValue;

use crate::kind::{Kind, number, text};
use crate::stage::{Stage, headers};

/// Publishes by AMQP (user `guest`) and waits for the confirm.
async fn by_amqp(stage: &Stage, content: &str, identity: &[(&str, AMQPValue)]) -> Outcome {
    amqp::publish_with(&stage.channel, "amq.topic", "once.in", content.as_bytes(), headers(identity)).await
}

/// Publishes by MQTT (user `anonymous`) and waits for the confirm.
async fn by_mqtt(client: &mut Client, qos: u8, content: &str, identity: &[(&str, &str)]) -> Outcome {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let user_properties = identity.iter().map(pair).collect();
    let properties = PublishProperties { user_properties, ..PublishProperties::default() };
    client.sender.publish_with("once/in", qos, content.as_bytes(), properties).await?;
    match client.reply().await? {
        Reply::Acknowledged(reason) if qos == 1 && reason == "Success" => Ok(()),
        Reply::Completed if qos == 2 => Ok(()),
        other => Err(Failure::new(format!("{other:?}"))),
    }
}

/// Publishes by NATS (user `anonymous`); returns when the broker has it.
async fn by_nats(client: &async_nats::Client, content: &str, identity: &[(&str, &str)]) -> Outcome {
    let mut headers = HeaderMap::new();
    for (name, value) in identity {
        headers.insert(*name, *value);
    }
    client.publish_with_headers("once.in", headers, Bytes::copy_from_slice(content.as_bytes())).await?;
    nats::barrier(client).await
}

fn sequence(publisher: &str, sequence: i64) -> [(&str, AMQPValue); 2] {
    [("x-publisher-id", text(publisher)), ("x-publisher-seq", number(sequence))]
}

async fn declare(stage: &Stage, kind: Kind, arguments: &[(&str, AMQPValue)]) -> Outcome {
    stage.declare(kind, "once", arguments).await?;
    stage.bind("once", "amq.topic", "once.#").await
}

async fn mqtt(stage: &Stage) -> Result<Client, Failure> {
    Client::connect(stage.broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await
}

/// What lies in the queue, once it is `count` messages.
async fn stored(stage: &Stage, count: u32) -> Result<Vec<String>, Failure> {
    stage.until_ready("once", count).await?;
    stage.drain("once").await
}

#[tokio::test]
async fn numbered_messages_of_amqp() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind, &[]).await?;
        for (content, number) in [("1", 1), ("2", 2), ("2 again", 2), ("1 again", 1), ("7", 7), ("7 again", 7)] {
            by_amqp(&stage, content, &sequence("p", number)).await?;
        }
        by_amqp(&stage, "1 of q", &sequence("q", 1)).await?;
        // As text, and by another connection of the same user.
        let other = amqp::connect(stage.broker.address(Port::Amqp)?).await?;
        let channel = amqp::confirming_channel(&other).await?;
        for (content, number) in [("7 as text", "7"), ("8 as text", "8")] {
            let identity = headers(&[("x-publisher-id", text("p")), ("x-publisher-seq", text(number))]);
            amqp::publish_with(&channel, "amq.topic", "once.in", content.as_bytes(), identity).await?;
        }
        assert_eq!(stored(&stage, 5).await?, ["1", "2", "7", "1 of q", "8 as text"], "{kind:?}");
        // That it was consumed does not make it new.
        by_amqp(&stage, "8 again", &sequence("p", 8)).await?;
        assert_eq!(stage.ready("once").await?, 0);
    }
    Ok(())
}

#[tokio::test]
async fn numbered_messages_of_mqtt_and_nats() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind, &[]).await?;
        let mut client = mqtt(&stage).await?;
        let identity = |number| [("x-publisher-id", "p"), ("x-publisher-seq", number)];
        by_mqtt(&mut client, 1, "1", &identity("1")).await?;
        by_mqtt(&mut client, 1, "1 again", &identity("1")).await?;
        by_mqtt(&mut client, 2, "2", &identity("2")).await?;
        by_mqtt(&mut client, 2, "2 again", &identity("2")).await?;
        let nats = nats::connect(stage.broker.address(Port::Nats)?).await?;
        by_nats(&nats, "3", &identity("3")).await?;
        by_nats(&nats, "3 again", &identity("3")).await?;
        // One user is one scope, whatever it speaks.
        by_nats(&nats, "2 by nats", &identity("2")).await?;
        by_mqtt(&mut client, 1, "3 by mqtt", &identity("3")).await?;
        // Another user is another.
        by_amqp(&stage, "1 of guest", &sequence("p", 1)).await?;
        by_amqp(&stage, "1 of guest again", &sequence("p", 1)).await?;
        assert_eq!(stored(&stage, 4).await?, ["1", "2", "3", "1 of guest"], "{kind:?}");
    }
    Ok(())
}

#[tokio::test]
async fn named_messages() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind, &[]).await?;
        let nats = nats::connect(stage.broker.address(Port::Nats)?).await?;
        for (content, name) in [("a", "a"), ("b", "b"), ("a again", "a")] {
            by_nats(&nats, content, &[("Nats-Msg-Id", name)]).await?;
        }
        let mut client = mqtt(&stage).await?;
        by_mqtt(&mut client, 1, "b again", &[("Nats-Msg-Id", "b")]).await?;
        by_mqtt(&mut client, 1, "c", &[("Nats-Msg-Id", "c")]).await?;
        by_amqp(&stage, "a of guest", &[("Nats-Msg-Id", text("a"))]).await?;
        by_amqp(&stage, "a of guest again", &[("Nats-Msg-Id", text("a"))]).await?;
        assert_eq!(stored(&stage, 4).await?, ["a", "b", "c", "a of guest"], "{kind:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_window_of_names_is_a_setting() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind, &[("x-deduplication-window", number(300))]).await?;
        by_amqp(&stage, "first", &[("Nats-Msg-Id", text("a"))]).await?;
        tokio::time::sleep(std::time::Duration::from_millis(400)).await;
        by_amqp(&stage, "after the window", &[("Nats-Msg-Id", text("a"))]).await?;
        by_amqp(&stage, "within it", &[("Nats-Msg-Id", text("a"))]).await?;
        assert_eq!(stored(&stage, 2).await?, ["first", "after the window"], "{kind:?}");
    }
    Ok(())
}

/// The broker is killed between a publish and its repetition: what a publisher does that never saw the confirm.
#[tokio::test]
async fn over_a_kill() -> Outcome {
    for kind in Kind::DURABLE {
        let mut stage = Stage::start().await?;
        declare(&stage, kind, &[]).await?;
        for round in 1..=3 {
            let (mqtt_number, nats_name) = (round.to_string(), format!("name {round}"));
            let identity = [("x-publisher-id", "p"), ("x-publisher-seq", &mqtt_number)];
            for content in ["first", "again"] {
                let mut client = mqtt(&stage).await?;
                let nats = nats::connect(stage.broker.address(Port::Nats)?).await?;
                by_amqp(&stage, &format!("amqp {content}"), &sequence("p", round)).await?;
                by_mqtt(&mut client, 1, &format!("mqtt {content}"), &identity).await?;
                by_nats(&nats, &format!("nats {content}"), &[("Nats-Msg-Id", &nats_name)]).await?;
                // A NATS publisher has no confirm to wait for: this one is behind it in the log.
                by_amqp(&stage, "end", &[]).await?;
                stage.restart().await?;
            }
            let expected = ["amqp first", "mqtt first", "nats first", "end", "end"];
            assert_eq!(stored(&stage, 5).await?, expected, "{kind:?} in round {round}");
        }
    }
    Ok(())
}

/// Of two queues that a message is routed to, the one that has it already does not get it twice.
#[tokio::test]
async fn each_queue_remembers_for_itself() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind, &[]).await?;
        by_amqp(&stage, "m", &sequence("p", 1)).await?;
        stage.declare(kind, "late", &[]).await?;
        stage.bind("late", "amq.topic", "once.#").await?;
        by_amqp(&stage, "m again", &sequence("p", 1)).await?;
        by_amqp(&stage, "m for the third time", &sequence("p", 1)).await?;
        assert_eq!(stored(&stage, 1).await?, ["m"], "{kind:?}");
        assert_eq!(stage.drain("late").await?, ["m again"], "{kind:?}");
    }
    Ok(())
}
