//! Priorities: 32 strict levels on quorum queues, as many as declared on others, over a kill too.

use braid_conformance::{Outcome, amqp};
use lapin::BasicProperties;

use crate::kind::{Kind, number};
use crate::stage::Stage;

/// Publishes a message of each priority, in an order that is none, with the priority as its body.
async fn publish(stage: &Stage, queue: &str, highest: u8) -> Outcome {
    let levels = u16::from(highest) + 1;
    // 13 has no factor in common with 32, 10 or 1: each priority comes once.
    for step in 0..levels {
        let priority = u8::try_from(step * 13 % levels)?;
        put(stage, queue, &priority.to_string(), Some(priority)).await?;
    }
    Ok(())
}

async fn put(stage: &Stage, queue: &str, content: &str, priority: Option<u8>) -> Outcome {
    let mut properties = BasicProperties::default();
    if let Some(priority) = priority {
        properties = properties.with_priority(priority);
    }
    amqp::publish_with(&stage.channel, "", queue, content.as_bytes(), properties).await
}

fn descending(highest: u8) -> Vec<String> {
    (0..=highest).rev().map(|priority| priority.to_string()).collect()
}

#[tokio::test]
async fn a_quorum_queue_has_32() -> Outcome {
    let mut stage = Stage::start().await?;
    stage.declare(Kind::Quorum, "work", &[]).await?;
    publish(&stage, "work", 31).await?;
    assert_eq!(stage.drain("work").await?, descending(31));
    publish(&stage, "work", 31).await?;
    stage.restart().await?;
    assert_eq!(stage.drain("work").await?, descending(31), "after a kill");
    // Higher ones are the highest; within one, the order of publishing counts.
    for (content, priority) in [("31", 31), ("255", 255), ("32", 32), ("30", 30)] {
        put(&stage, "work", content, Some(priority)).await?;
    }
    assert_eq!(stage.drain("work").await?, ["31", "255", "32", "30"]);
    Ok(())
}

#[tokio::test]
async fn other_queues_have_as_many_as_they_declare() -> Outcome {
    for kind in [Kind::Classic, Kind::Memory] {
        let mut stage = Stage::start().await?;
        stage.declare(kind, "work", &[("x-max-priority", number(9))]).await?;
        publish(&stage, "work", 9).await?;
        if kind.is_durable() {
            stage.restart().await?;
        }
        assert_eq!(stage.drain("work").await?, descending(9), "{kind:?}");
        // None is the lowest.
        put(&stage, "work", "none", None).await?;
        put(&stage, "work", "1", Some(1)).await?;
        assert_eq!(stage.drain("work").await?, ["1", "none"], "{kind:?}");
        stage.declare(kind, "plain", &[]).await?;
        for priority in [0, 9, 4] {
            put(&stage, "plain", &priority.to_string(), Some(priority)).await?;
        }
        assert_eq!(stage.drain("plain").await?, ["0", "9", "4"], "{kind:?}: it knows no priorities");
    }
    Ok(())
}
