//! Delayed retry, and deliveries that are held for too long.

use std::time::{Duration, Instant};

use braid_conformance::{Outcome, amqp, within};
use lapin::options::{BasicAckOptions, BasicNackOptions, BasicRejectOptions, QueueDeclareOptions};

use crate::dead_letter::{Death, deaths};
use crate::kind::{Kind, number, text};
use crate::stage::{Stage, body};

const REQUEUE: BasicRejectOptions = BasicRejectOptions { requeue: true };

/// Delay after the first failed try, and the longest one.
const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_failed_message_waits_longer_each_time() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        let arguments = [
            ("x-delayed-retry-type", text("failed")),
            ("x-delayed-retry-min", number(200)),
            ("x-delayed-retry-max", number(500)),
        ];
        stage.declare(kind, "work", &arguments).await?;
        stage.put("work", "m").await?;
        for failed in 0..4 {
            let delivery = stage.get("work").await?;
            assert_eq!(delivery.redelivered, failed > 0);
            let rejected = Instant::now();
            delivery.reject(REQUEUE).await?;
            stage.put("work", "other").await?;
            assert_eq!(body(&stage.take("work").await?), "other", "what waits holds nobody up");
            let wait = (SHORTEST * (failed + 1)).min(LONGEST);
            let ready = stage.ready("work").await?;
            assert!(ready == 0 || rejected.elapsed() >= wait, "{kind:?}: too early after try {failed}");
            stage.until_ready("work", 1).await?;
            assert!(rejected.elapsed() >= wait, "{kind:?}: too early after try {failed}");
        }
        // What comes back uncounted is ready at once.
        stage.get("work").await?.nack(BasicNackOptions { requeue: true, multiple: false }).await?;
        assert_eq!(stage.ready("work").await?, 1, "{kind:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_delay_survives_a_kill_and_the_limit_ends_it() -> Outcome {
    let mut stage = Stage::start().await?;
    let arguments = [
        ("x-delayed-retry-min", number(1_500)),
        ("x-delivery-limit", number(2)),
        ("x-dead-letter-exchange", text("")),
        ("x-dead-letter-routing-key", text("grave")),
    ];
    stage.declare(Kind::Quorum, "work", &arguments).await?;
    stage.declare(Kind::Quorum, "grave", &[]).await?;
    stage.put("work", "m").await?;
    for _ in 0..2 {
        let delivery = stage.get("work").await?;
        let rejected = Instant::now();
        delivery.reject(REQUEUE).await?;
        // An answer on the channel: the reject is in the log.
        assert_eq!(stage.ready("work").await?, 0);
        stage.restart().await?;
        if rejected.elapsed() < Duration::from_secs(1) {
            assert_eq!(stage.ready("work").await?, 0, "it still waits");
        }
        stage.until_ready("work", 1).await?;
    }
    stage.get("work").await?.reject(REQUEUE).await?;
    let letter = stage.take("grave").await?;
    assert_eq!(deaths(&letter)?, [Death::once("work", "delivery_limit", "", "work")]);
    Ok(())
}

/// Who holds a delivery for too long loses it, and keeps its channel.
#[tokio::test]
async fn a_consumer_that_holds_a_message_for_too_long() -> Outcome {
    let mut stage = Stage::start().await?;
    stage.declare(Kind::Quorum, "work", &[("x-consumer-timeout", number(300))]).await?;
    for round in ["before a kill", "after it"] {
        let (channel, mut slow) = stage.consume("work", 1).await?;
        stage.put("work", round).await?;
        let held = amqp::next(&mut slow).await?;
        let back = stage.get("work").await?;
        assert_eq!((body(&back).as_str(), back.redelivered), (round, true));
        // Too late, and no error: the message is another's now.
        held.ack(BasicAckOptions::default()).await?;
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        within("queue.declare-ok", channel.queue_declare("work".into(), passive, Default::default())).await??;
        back.reject(REQUEUE).await?;
        let again = amqp::next(&mut slow).await?;
        assert_eq!(body(&again), round, "the consumer goes on");
        again.ack(BasicAckOptions::default()).await?;
        within("queue.declare-ok", channel.queue_declare("work".into(), passive, Default::default())).await??;
        assert_eq!(stage.ready("work").await?, 0);
        drop(slow);
        stage.restart().await?;
    }
    assert_eq!(stage.ready("work").await?, 0);
    Ok(())
}
