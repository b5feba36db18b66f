//! A dead-letter exchange that is not there, or leads nowhere: at most once the letter is dropped, at least once it waits
//! in its queue until there is a way, over a kill too.

use braid_conformance::Outcome;
use lapin::{ExchangeKind, options::BasicRejectOptions, types::AMQPValue};

use crate::dead_letter::{Death, deaths};
use crate::kind::{Kind, number, text};
use crate::stage::{Stage, body};

const DROP: BasicRejectOptions = BasicRejectOptions { requeue: false };

fn at_least_once() -> [(&'static str, AMQPValue); 3] {
    [
        ("x-dead-letter-exchange", text("dead")),
        ("x-dead-letter-strategy", text("at-least-once")),
        ("x-overflow", text("reject-publish")),
    ]
}

async fn reject_one(stage: &Stage, queue: &str, content: &str) -> Outcome {
    stage.put(queue, content).await?;
    stage.get(queue).await?.reject(DROP).await?;
    // An answer on the channel: the reject is in the log.
    assert_eq!(stage.ready(queue).await?, 0);
    Ok(())
}

async fn open_grave(stage: &Stage) -> Outcome {
    stage.exchange("dead", ExchangeKind::Fanout).await?;
    stage.declare(Kind::Quorum, "grave", &[]).await?;
    stage.bind("grave", "dead", "").await
}

#[tokio::test]
async fn at_most_once_it_is_dropped() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        stage.declare(kind, "work", &[("x-dead-letter-exchange", text("dead"))]).await?;
        reject_one(&stage, "work", "no exchange").await?;
        stage.until_metric("braidmq_messages_unroutable_total", 1).await?;
        stage.exchange("dead", ExchangeKind::Fanout).await?;
        reject_one(&stage, "work", "no binding").await?;
        stage.until_metric("braidmq_messages_unroutable_total", 2).await?;
        open_grave(&stage).await?;
        reject_one(&stage, "work", "arrives").await?;
        assert_eq!(body(&stage.take("grave").await?), "arrives", "{kind:?}");
        assert_eq!(stage.ready("grave").await?, 0);
        assert_eq!(stage.metric("braidmq_messages_dropped_rejected_total").await?, 3);
    }
    Ok(())
}

#[tokio::test]
async fn at_least_once_it_waits() -> Outcome {
    let mut stage = Stage::start().await?;
    stage.declare(Kind::Quorum, "work", &at_least_once()).await?;
    reject_one(&stage, "work", "no exchange").await?;
    stage.restart().await?;
    stage.exchange("dead", ExchangeKind::Fanout).await?;
    reject_one(&stage, "work", "no binding").await?;
    assert!(stage.look("work").await?.is_none(), "nobody is given it again");
    open_grave(&stage).await?;
    let letters = [stage.take("grave").await?, stage.take("grave").await?];
    let mut bodies = letters.each_ref().map(body);
    bodies.sort();
    assert_eq!(bodies, ["no binding", "no exchange"]);
    for letter in &letters {
        assert_eq!(deaths(letter)?, [Death::once("work", "rejected", "", "work")]);
    }
    Ok(())
}

#[tokio::test]
async fn at_least_once_a_full_target_is_waited_for() -> Outcome {
    let stage = Stage::start().await?;
    stage.exchange("dead", ExchangeKind::Fanout).await?;
    stage
        .declare(Kind::Quorum, "grave", &[("x-max-length", number(1)), ("x-overflow", text("reject-publish"))])
        .await?;
    stage.bind("grave", "dead", "").await?;
    stage.declare(Kind::Quorum, "work", &at_least_once()).await?;
    reject_one(&stage, "work", "first").await?;
    stage.until_ready("grave", 1).await?;
    reject_one(&stage, "work", "second").await?;
    stage.until_metric("braidmq_messages_dead_lettered_total", 2).await?;
    assert_eq!(body(&stage.take("grave").await?), "first");
    assert_eq!(body(&stage.take("grave").await?), "second");
    Ok(())
}

/// At-least-once needs a queue that refuses publishes; on another one the letter is dropped, as in RabbitMQ.
#[tokio::test]
async fn at_least_once_on_a_queue_that_drops_its_head_is_at_most_once() -> Outcome {
    let stage = Stage::start().await?;
    let arguments = [("x-dead-letter-exchange", text("dead")), ("x-dead-letter-strategy", text("at-least-once"))];
    stage.declare(Kind::Quorum, "work", &arguments).await?;
    reject_one(&stage, "work", "m").await?;
    stage.until_metric("braidmq_messages_unroutable_total", 1).await
}

/// Letters that wait in one queue do not hold up those of another.
#[tokio::test]
async fn waiting_letters_hold_up_no_other_queue() -> Outcome {
    let stage = Stage::start().await?;
    stage.declare(Kind::Quorum, "stuck", &at_least_once()).await?;
    for number in 0..600 {
        reject_one(&stage, "stuck", &number.to_string()).await?;
    }
    stage.declare(Kind::Quorum, "grave", &[]).await?;
    // Queues are spread over partitions: some of these are where the letters wait.
    for number in 0..16 {
        let queue = format!("work.{number}");
        let way = [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text("grave"))];
        stage.declare(Kind::Quorum, &queue, &way).await?;
        reject_one(&stage, &queue, &queue).await?;
        assert_eq!(body(&stage.take("grave").await?), queue);
    }
    Ok(())
}
