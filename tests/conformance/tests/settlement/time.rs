//! Times to live, of messages and queues, and what a kill does to them.

use std::time::{Duration, Instant};

use braid_conformance::{Failure, Outcome, PATIENCE, amqp, within};
use lapin::{BasicProperties, options::QueueDeclareOptions, types::FieldTable};

use crate::kind::{Kind, number, text};
use crate::stage::{Stage, body};

fn expires_in(milliseconds: &str) -> BasicProperties {
    BasicProperties::default().with_expiration(milliseconds.into())
}

async fn put(stage: &Stage, queue: &str, content: &str, milliseconds: &str) -> Outcome {
    amqp::publish_with(&stage.channel, "", queue, content.as_bytes(), expires_in(milliseconds)).await
}

/// An expired message is never handed out, and one that lives longer does not suffer from it (CASES 5).
#[tokio::test]
async fn messages_expire_in_their_queue() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        let way = [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text("grave"))];
        stage.declare(kind, "work", &way).await?;
        stage.declare(kind, "grave", &[]).await?;
        stage.put("work", "lives").await?;
        put(&stage, "work", "short", "200").await?;
        put(&stage, "work", "long", "60000").await?;
        assert_eq!(body(&stage.take("work").await?), "lives");
        // At the head of the queue nobody need ask for it to expire.
        assert_eq!(body(&stage.take("grave").await?), "short");
        assert_eq!(stage.drain("work").await?, ["long"], "{kind:?}");
        // Time to live 0: handed out now or never.
        put(&stage, "work", "at once", "0").await?;
        assert_eq!(body(&stage.take("grave").await?), "at once");
    }
    Ok(())
}

/// What waits expires after the kill as it would have without, and what lives longer is still there.
#[tokio::test]
async fn messages_expire_after_a_kill() -> Outcome {
    for kind in Kind::DURABLE {
        let mut stage = Stage::start().await?;
        let way = [
            ("x-dead-letter-exchange", text("")),
            ("x-dead-letter-routing-key", text("grave")),
            ("x-message-ttl", number(60_000)),
        ];
        stage.declare(kind, "work", &way).await?;
        stage.declare(kind, "grave", &[]).await?;
        put(&stage, "work", "short", "1500").await?;
        stage.put("work", "long").await?;
        stage.restart().await?;
        assert_eq!(body(&stage.take("grave").await?), "short");
        assert_eq!(stage.drain("work").await?, ["long"], "{kind:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_unused_queue_goes_before_and_after_a_kill() -> Outcome {
    for kind in Kind::ALL {
        let mut stage = Stage::start().await?;
        stage.declare(kind, "used", &[("x-expires", number(300))]).await?;
        stage.declare(kind, "unused", &[("x-expires", number(300))]).await?;
        let (_channel, consumer) = stage.consume("used", 1).await?;
        until_gone(&stage, "unused").await?;
        assert!(is_there(&stage, "used").await?, "{kind:?}: it has a consumer");
        drop(consumer);
        if kind.is_durable() {
            stage.declare(kind, "lasting", &[("x-expires", number(5_000))]).await?;
            stage.put("lasting", "m").await?;
            stage.restart().await?;
            assert_eq!(stage.drain("lasting").await?, ["m"], "{kind:?}");
            // The kill took its consumer away.
            until_gone(&stage, "used").await?;
            until_gone(&stage, "lasting").await?;
        }
    }
    Ok(())
}

/// Asks on a channel of its own, which ends with the question if there is no such queue.
async fn is_there(stage: &Stage, queue: &str) -> Result<bool, Failure> {
    let channel = stage.channel(0).await?;
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let asked = channel.queue_declare(queue.into(), passive, FieldTable::default());
    match within("queue.declare-ok", asked).await? {
        Ok(_) => Ok(true),
        Err(error) if amqp::code(&error) == Some(404) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn until_gone(stage: &Stage, queue: &str) -> Outcome {
    let since = Instant::now();
    while is_there(stage, queue).await? {
        if since.elapsed() > PATIENCE {
            return Err(Failure::new(format!("`{queue}` stays")));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
