//! A queue of more messages than go at once: for clients a purge is done when it is answered, and a kill brings nothing back.

use braid_conformance::{Outcome, within};
use lapin::{
    BasicProperties,
    options::{BasicPublishOptions, QueuePurgeOptions},
};

use crate::kind::Kind;
use crate::stage::{Stage, body};

/// More than twice what goes in one step.
const MESSAGES: u32 = 40_000;

/// Publishes whose confirms are awaited together.
const AT_ONCE: u32 = 2_000;

#[tokio::test]
async fn a_purged_queue_is_empty_at_once_and_stays_so_over_a_kill() -> Outcome {
    for kind in Kind::DURABLE {
        let mut stage = Stage::start().await?;
        stage.declare(kind, "work", &[]).await?;
        for _ in 0..MESSAGES / AT_ONCE {
            let mut confirms = Vec::new();
            for _ in 0..AT_ONCE {
                let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
                confirms
                    .push(stage.channel.basic_publish("".into(), "work".into(), options, b"old", properties).await?);
            }
            for confirm in confirms {
                within("confirm", confirm).await??;
            }
        }
        let purged = stage.channel.queue_purge("work".into(), QueuePurgeOptions::default());
        assert_eq!(within("queue.purge-ok", purged).await??, MESSAGES, "{kind:?}");
        assert_eq!(stage.ready("work").await?, 0, "{kind:?}");
        stage.put("work", "new").await?;
        stage.restart().await?;
        assert_eq!(stage.ready("work").await?, 1, "{kind:?}");
        assert_eq!(body(&stage.take("work").await?), "new", "{kind:?}");
    }
    Ok(())
}
