//! Dead letters that come back: those that nobody rejects are dropped and counted, others go round for ever and count.

use braid_conformance::{Outcome, amqp};
use lapin::options::BasicRejectOptions;

use crate::dead_letter::{Death, assert_mark, deaths};
use crate::kind::{Kind, number, text};
use crate::stage::{Stage, headers};

const DROP: BasicRejectOptions = BasicRejectOptions { requeue: false };
const CYCLES: &str = "braidmq_messages_dead_letter_cycles_total";

/// Rounds that a message makes.
const ROUNDS: i64 = 5;

#[tokio::test]
async fn expiry_in_a_circle_ends() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        let to = |queue: &str| [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text(queue))];
        for (queue, next) in [("a", "b"), ("b", "a"), ("itself", "itself")] {
            stage.declare(kind, queue, &[&to(next)[..], &[("x-message-ttl", number(50))]].concat()).await?;
        }
        stage.put("a", "m").await?;
        stage.until_metric(CYCLES, 1).await?;
        stage.put("itself", "m").await?;
        stage.until_metric(CYCLES, 2).await?;
        assert_eq!(stage.metric("braidmq_messages_dropped_expired_total").await?, 3, "{kind:?}: a, b, itself");
        assert_eq!(stage.metric("braidmq_messages_dead_lettered_total").await?, 1, "{kind:?}: from a to b");
        for queue in ["a", "b", "itself"] {
            assert_eq!(stage.ready(queue).await?, 0);
        }
    }
    Ok(())
}

#[tokio::test]
async fn expiry_in_a_circle_ends_at_least_once_too() -> Outcome {
    let stage = Stage::start().await?;
    let arguments = [
        ("x-dead-letter-exchange", text("")),
        ("x-dead-letter-routing-key", text("itself")),
        ("x-dead-letter-strategy", text("at-least-once")),
        ("x-overflow", text("reject-publish")),
        ("x-message-ttl", number(50)),
    ];
    stage.declare(Kind::Quorum, "itself", &arguments).await?;
    stage.put("itself", "m").await?;
    stage.until_metric(CYCLES, 1).await?;
    // It is not tried again: longer than the pause before another try.
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    assert_eq!(stage.metric(CYCLES).await?, 1);
    Ok(())
}

/// The retry topology of many: a consumer rejects, the message waits elsewhere and comes back (CASES 2 and 3).
#[tokio::test]
async fn rejection_goes_on_and_both_queues_count() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        let to = |queue: &str| [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text(queue))];
        stage.declare(kind, "work", &to("wait")).await?;
        stage.declare(kind, "wait", &[&to("work")[..], &[("x-message-ttl", number(30))]].concat()).await?;
        stage.put("work", "m").await?;
        for _ in 0..ROUNDS {
            stage.get("work").await?.reject(DROP).await?;
        }
        let back = stage.take("work").await?;
        let (rejected, expired) =
            (Death::once("work", "rejected", "", "work"), Death::once("wait", "expired", "", "wait"));
        assert_eq!(deaths(&back)?, [expired.clone().times(ROUNDS), rejected.clone().times(ROUNDS)], "{kind:?}");
        assert_mark(&back, "first", &rejected)?;
        assert_mark(&back, "last", &expired)?;
        assert_eq!(stage.metric(CYCLES).await?, 0);

        // Published by a client, with all its headers, it is a new message.
        amqp::publish_with(&stage.channel, "", "work", b"again", back.properties.clone()).await?;
        stage.get("work").await?.reject(DROP).await?;
        let back = stage.take("work").await?;
        assert_eq!(deaths(&back)?, [expired, rejected], "{kind:?}: begins anew");
        let forged = headers(&[("x-death", text("a forgery"))]);
        amqp::publish_with(&stage.channel, "", "work", b"forged", forged).await?;
        stage.get("work").await?.reject(DROP).await?;
        assert_eq!(deaths(&stage.take("work").await?)?.len(), 2);
    }
    Ok(())
}
