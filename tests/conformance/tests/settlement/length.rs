//! Length limits, in messages and in bytes, with each way of overflowing; over a kill.

use braid_conformance::Outcome;
use lapin::options::BasicAckOptions;

use crate::kind::{Kind, number, text};
use crate::stage::{Stage, headers};

/// Offers messages of these contents; which were confirmed.
async fn offer(stage: &Stage, queue: &str, contents: &[&str]) -> Result<Vec<bool>, braid_conformance::Failure> {
    let mut confirmed = Vec::new();
    for content in contents {
        confirmed.push(stage.offer(queue, content, headers(&[])).await?);
    }
    Ok(confirmed)
}

#[tokio::test]
async fn drop_head() -> Outcome {
    for kind in Kind::ALL {
        let mut stage = Stage::start().await?;
        stage.declare(kind, "count", &[("x-max-length", number(3))]).await?;
        let bytes = [("x-max-length-bytes", number(10)), ("x-overflow", text("drop-head"))];
        stage.declare(kind, "bytes", &bytes).await?;
        assert_eq!(offer(&stage, "count", &["1", "2"]).await?, [true; 2]);
        assert_eq!(offer(&stage, "bytes", &["aaaa", "bbbb"]).await?, [true; 2]);
        if kind.is_durable() {
            stage.restart().await?;
        }
        assert_eq!(offer(&stage, "count", &["3", "4", "5"]).await?, [true; 3]);
        assert_eq!(stage.drain("count").await?, ["3", "4", "5"], "{kind:?}");
        assert_eq!(offer(&stage, "bytes", &["cccc"]).await?, [true]);
        let left = stage.drain("bytes").await?;
        assert_eq!(left.last().map(String::as_str), Some("cccc"), "{kind:?}");
        assert!(left.iter().map(String::len).sum::<usize>() <= 10, "{kind:?}: {left:?}");
        // What is handed out does not count.
        assert_eq!(offer(&stage, "count", &["6", "7", "8"]).await?, [true; 3]);
        let held = stage.get("count").await?;
        assert_eq!(offer(&stage, "count", &["9"]).await?, [true]);
        held.ack(BasicAckOptions::default()).await?;
        assert_eq!(stage.drain("count").await?, ["7", "8", "9"], "{kind:?}");
    }
    Ok(())
}

#[tokio::test]
async fn reject_publish() -> Outcome {
    for kind in Kind::ALL {
        for overflow in ["reject-publish", "reject-publish-dlx"] {
            let mut stage = Stage::start().await?;
            let limit = [("x-max-length", number(5)), ("x-overflow", text(overflow))];
            stage.declare(kind, "work", &limit).await?;
            assert_eq!(offer(&stage, "work", &["1", "2", "3", "4", "5"]).await?, [true; 5]);
            assert_eq!(offer(&stage, "work", &["6"]).await?, [false], "{kind:?} {overflow}: full");
            if kind.is_durable() {
                stage.restart().await?;
                assert_eq!(offer(&stage, "work", &["7"]).await?, [false], "{kind:?} {overflow}: still full");
            }
            stage.take("work").await?;
            assert_eq!(offer(&stage, "work", &["8", "9"]).await?, [true, false], "{kind:?} {overflow}: one place");
            assert_eq!(stage.drain("work").await?, ["2", "3", "4", "5", "8"], "{kind:?} {overflow}");
        }
    }
    Ok(())
}

/// A message for two queues of which one is full is refused, and in the other one all the same.
#[tokio::test]
async fn one_full_queue_of_two() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        stage.declare(kind, "full", &[("x-max-length", number(1)), ("x-overflow", text("reject-publish"))]).await?;
        stage.declare(kind, "free", &[]).await?;
        stage.put("full", "1").await?;
        for queue in ["full", "free"] {
            stage.bind(queue, "amq.fanout", "").await?;
        }
        let sent = braid_conformance::amqp::publish(&stage.channel, "amq.fanout", "", b"2").await;
        assert!(sent.is_err(), "{kind:?}: it waits for both, and one refuses");
        assert_eq!(stage.drain("full").await?, ["1"], "{kind:?}");
        assert_eq!(stage.drain("free").await?, ["2"], "{kind:?}");
    }
    Ok(())
}
