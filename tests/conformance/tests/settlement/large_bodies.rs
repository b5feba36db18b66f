//! A body that is stored in chunks: it comes out as it went in, also after a kill, and as a dead letter.

use braid_conformance::{Outcome, amqp};
use lapin::options::{BasicAckOptions, BasicRejectOptions};

use crate::kind::{Kind, text};
use crate::stage::Stage;

/// Bytes of the body: five chunks of the log and a bit.
const BODY_BYTES: usize = 20 * 1024 * 1024 + 12_345;

/// A body in which no piece is like another.
fn large() -> Vec<u8> {
    let words = (0u32..).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes());
    words.take(BODY_BYTES).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_20_mib_in_durable_queues_and_after_a_kill() -> Outcome {
    let large = large();
    let mut stage = Stage::start().await?;
    for kind in Kind::DURABLE {
        let way = [("x-dead-letter-exchange", text("")), ("x-dead-letter-routing-key", text("grave"))];
        stage.declare(kind, kind.name(), &way).await?;
        stage.put(kind.name(), "before").await?;
        amqp::publish(&stage.channel, "", kind.name(), &large).await?;
        stage.put(kind.name(), "after").await?;
    }
    stage.declare(Kind::Quorum, "grave", &[]).await?;
    for kill in [false, true] {
        if kill {
            stage.restart().await?;
        }
        for kind in Kind::DURABLE {
            let all = [stage.get(kind.name()).await?, stage.get(kind.name()).await?, stage.get(kind.name()).await?];
            assert_eq!(all[0].data, b"before", "{kind:?}");
            assert!(all[1].data == large, "{kind:?}: {} bytes, kill: {kill}", all[1].data.len());
            assert_eq!(all[2].data, b"after", "{kind:?}");
            for delivery in &all {
                delivery.reject(BasicRejectOptions { requeue: true }).await?;
            }
        }
    }
    for kind in Kind::DURABLE {
        stage.take(kind.name()).await?;
        stage.get(kind.name()).await?.reject(BasicRejectOptions { requeue: false }).await?;
        let letter = stage.get("grave").await?;
        assert!(letter.data == large, "{kind:?}: {} bytes of a letter", letter.data.len());
        assert_eq!(stage.drain(kind.name()).await?, ["after"], "{kind:?}");
        stage.until_ready("grave", 0).await?;
        letter.ack(BasicAckOptions::default()).await?;
    }
    Ok(())
}
