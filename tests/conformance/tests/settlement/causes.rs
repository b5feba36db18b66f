//! Each cause of death, on each kind of queue: what the letter says, and that the rest of the message is as it was.

use braid_conformance::{Outcome, amqp};
use lapin::{ExchangeKind, options::BasicRejectOptions, types::AMQPValue};

use crate::dead_letter::{Death, assert_mark, deaths};
use crate::kind::{Kind, number, text};
use crate::stage::{Stage, body, header, headers};

const REQUEUE: BasicRejectOptions = BasicRejectOptions { requeue: true };
const DROP: BasicRejectOptions = BasicRejectOptions { requeue: false };

/// A queue of `kind` whose dead letters come to the queue `grave`, fed by exchange `in` with its own name as the key.
async fn declare(stage: &Stage, kind: Kind, queue: &str, arguments: &[(&str, AMQPValue)]) -> Outcome {
    stage.exchange("in", ExchangeKind::Direct).await?;
    stage.exchange("dead", ExchangeKind::Fanout).await?;
    stage.declare(kind, "grave", &[]).await?;
    stage.bind("grave", "dead", "").await?;
    let arguments = [arguments, &[("x-dead-letter-exchange", text("dead"))]].concat();
    stage.declare(kind, queue, &arguments).await?;
    stage.bind(queue, "in", queue).await
}

/// Publishes a message that carries all that a death must not touch.
async fn publish(stage: &Stage, queue: &str, content: &str, expiration: Option<&str>) -> Outcome {
    let properties = headers(&[("own", text("kept"))]).with_content_type("text/plain".into()).with_priority(3);
    let properties = match expiration {
        Some(expiration) => properties.with_expiration(expiration.into()),
        None => properties,
    };
    amqp::publish_with(&stage.channel, "in", queue, content.as_bytes(), properties).await
}

/// Takes the letter and looks at all of it.
async fn assert_letter(stage: &Stage, content: &str, death: &Death) -> Outcome {
    let letter = stage.take("grave").await?;
    assert_eq!(body(&letter), content, "{death:?}");
    assert_eq!(deaths(&letter)?, std::slice::from_ref(death));
    assert_mark(&letter, "first", death)?;
    assert_mark(&letter, "last", death)?;
    assert_eq!((letter.exchange.as_str(), letter.routing_key.as_str()), ("dead", death.queue.as_str()));
    assert!(!letter.redelivered, "it is new in its queue");
    assert_eq!(header(&letter, "own"), Some(&text("kept")));
    let properties = &letter.properties;
    assert_eq!(properties.content_type().as_ref().map(|kind| kind.as_str()), Some("text/plain"));
    assert_eq!(*properties.priority(), Some(3));
    assert_eq!(*properties.expiration(), None, "a letter does not expire");
    assert_eq!(stage.ready(&death.queue).await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_rejected_message() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind, "work", &[]).await?;
        publish(&stage, "work", "by get", None).await?;
        stage.get("work").await?.reject(DROP).await?;
        assert_letter(&stage, "by get", &Death::once("work", "rejected", "in", "work")).await?;
        let (_channel, mut consumer) = stage.consume("work", 1).await?;
        publish(&stage, "work", "by consumer", None).await?;
        amqp::next(&mut consumer).await?.reject(DROP).await?;
        assert_letter(&stage, "by consumer", &Death::once("work", "rejected", "in", "work")).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_expired_message() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind, "own", &[]).await?;
        publish(&stage, "own", "own time", Some("50")).await?;
        let death = Death::once("own", "expired", "in", "own");
        assert_letter(&stage, "own time", &Death { expiration: Some("50".to_owned()), ..death }).await?;
        declare(&stage, kind, "all", &[("x-message-ttl", number(50))]).await?;
        publish(&stage, "all", "the queue's time", None).await?;
        assert_letter(&stage, "the queue's time", &Death::once("all", "expired", "in", "all")).await?;
        // The shorter of both counts.
        publish(&stage, "all", "both", Some("60000")).await?;
        let death = Death::once("all", "expired", "in", "all");
        assert_letter(&stage, "both", &Death { expiration: Some("60000".to_owned()), ..death }).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_message_too_many() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        declare(&stage, kind, "head", &[("x-max-length", number(1))]).await?;
        publish(&stage, "head", "first", None).await?;
        publish(&stage, "head", "second", None).await?;
        let letter = stage.take("grave").await?;
        assert_eq!(body(&letter), "first", "the oldest goes");
        assert_eq!(deaths(&letter)?, [Death::once("head", "maxlen", "in", "head")]);
        assert_eq!(stage.drain("head").await?, ["second"]);

        let refusing = [("x-max-length", number(1)), ("x-overflow", text("reject-publish-dlx"))];
        declare(&stage, kind, "tail", &refusing).await?;
        publish(&stage, "tail", "first", None).await?;
        assert!(!stage.offer("tail", "second", headers(&[])).await?, "a full queue nacks");
        let letter = stage.take("grave").await?;
        assert_eq!(body(&letter), "second", "what is refused goes");
        assert_eq!(deaths(&letter)?, [Death::once("tail", "maxlen", "", "tail")]);
        assert_eq!(stage.drain("tail").await?, ["first"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_message_tried_too_often() -> Outcome {
    let stage = Stage::start().await?;
    declare(&stage, Kind::Quorum, "work", &[("x-delivery-limit", number(2))]).await?;
    publish(&stage, "work", "tried", None).await?;
    for failed in 0..3 {
        let delivery = stage.get("work").await?;
        let count = header(&delivery, "x-delivery-count").and_then(|count| count.as_long_long_int());
        assert_eq!(count.unwrap_or(0), failed);
        delivery.reject(REQUEUE).await?;
    }
    assert_letter(&stage, "tried", &Death::once("work", "delivery_limit", "in", "work")).await?;
    // -1 is none, where 20 is the default.
    for (queue, limit) in [("unlimited", Some(-1)), ("default", None)] {
        let limit: Vec<_> = limit.map(|limit| ("x-delivery-limit", number(limit))).into_iter().collect();
        declare(&stage, Kind::Quorum, queue, &limit).await?;
        publish(&stage, queue, "again and again", None).await?;
        for _ in 0..21 {
            stage.get(queue).await?.reject(REQUEUE).await?;
        }
    }
    stage.take("unlimited").await?;
    let letter = stage.take("grave").await?;
    assert_eq!(deaths(&letter)?, [Death::once("default", "delivery_limit", "in", "default")]);
    Ok(())
}
