//! At-least-once dead-lettering over two kills: a consumer rejects all messages, and every one of them arrives.

use std::collections::BTreeSet;
use std::time::Instant;

use braid_conformance::{Failure, Outcome, PATIENCE, amqp, say};
use lapin::options::{BasicPublishOptions, BasicRejectOptions};

use crate::kind::{Kind, text};
use crate::stage::{Stage, body};

/// Messages.
const MESSAGES: u32 = 1_000;

/// How many are rejected before each kill.
const KILLED_AFTER: [u32; 2] = [300, 300];

/// Rejections on their way when it is killed.
const PREFETCH: u16 = 50;

#[tokio::test(flavor = "multi_thread")]
async fn every_rejected_message_arrives_although_the_broker_is_killed_twice() -> Outcome {
    let mut stage = Stage::start().await?;
    stage.declare(Kind::Quorum, "grave", &[]).await?;
    let arguments = [
        ("x-dead-letter-exchange", text("")),
        ("x-dead-letter-routing-key", text("grave")),
        ("x-dead-letter-strategy", text("at-least-once")),
        ("x-overflow", text("reject-publish")),
    ];
    stage.declare(Kind::Quorum, "work", &arguments).await?;
    let mut confirms = Vec::new();
    for number in 0..MESSAGES {
        let (number, options) = (number.to_string(), BasicPublishOptions::default());
        let sent =
            stage.channel.basic_publish("".into(), "work".into(), options, number.as_bytes(), Default::default());
        confirms.push(sent.await?);
    }
    for confirm in confirms {
        assert!(confirm.await?.is_ack());
    }
    for count in KILLED_AFTER {
        reject(&stage, count).await?;
        stage.restart().await?;
    }
    reject(&stage, stage.ready("work").await?).await?;
    let (distinct, total) = arrived(&stage).await?;
    say(&format!("{total} letters of {distinct} messages"));
    assert_eq!(stage.drain("work").await?, [""; 0]);
    stage.restart().await?;
    assert_eq!((stage.ready("work").await?, stage.ready("grave").await?), (0, 0), "after one more kill");
    Ok(())
}

/// Rejects so many messages.
async fn reject(stage: &Stage, count: u32) -> Outcome {
    let (_channel, mut consumer) = stage.consume("work", PREFETCH).await?;
    for _ in 0..count {
        amqp::next(&mut consumer).await?.reject(BasicRejectOptions { requeue: false }).await?;
    }
    Ok(())
}

/// Takes letters until all messages have come and no more do: how many messages, and how many letters.
async fn arrived(stage: &Stage) -> Result<(usize, usize), Failure> {
    let expected: BTreeSet<String> = (0..MESSAGES).map(|number| number.to_string()).collect();
    let (mut seen, mut total) = (BTreeSet::new(), 0);
    let since = Instant::now();
    while seen.len() < expected.len() {
        for letter in stage.drain("grave").await? {
            total += 1;
            seen.insert(letter);
        }
        if since.elapsed() > PATIENCE {
            let missing: Vec<_> = expected.difference(&seen).take(20).cloned().collect();
            return Err(Failure::new(format!("{} of {MESSAGES} arrived; missing: {missing:?}", seen.len())));
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(seen, expected);
    // What was on its way at a kill was sent again; it may come twice.
    while let Some(letter) = stage.look("grave").await? {
        assert!(expected.contains(&body(&letter)));
        letter.ack(Default::default()).await?;
        total += 1;
    }
    Ok((seen.len(), total))
}
