//! Where dead letters go: by their own key or the queue's, through the default exchange, to several queues.

use braid_conformance::Outcome;
use lapin::{ExchangeKind, options::BasicRejectOptions};

use crate::dead_letter::{Death, deaths};
use crate::kind::{Kind, text};
use crate::stage::{Stage, body};

const DROP: BasicRejectOptions = BasicRejectOptions { requeue: false };

#[tokio::test]
async fn by_the_queues_key_or_their_own() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        stage.exchange("dead", ExchangeKind::Direct).await?;
        for key in ["own", "other"] {
            stage.declare(kind, key, &[]).await?;
            stage.bind(key, "dead", key).await?;
        }
        stage.exchange("in", ExchangeKind::Fanout).await?;
        let plain = [("x-dead-letter-exchange", text("dead"))];
        let named = [plain.as_slice(), &[("x-dead-letter-routing-key", text("other"))]].concat();
        for (queue, arguments) in [("plain", plain.as_slice()), ("named", &named)] {
            stage.declare(kind, queue, arguments).await?;
            stage.bind(queue, "in", "").await?;
        }
        braid_conformance::amqp::publish(&stage.channel, "in", "own", b"m").await?;
        for (queue, key) in [("plain", "own"), ("named", "other")] {
            stage.get(queue).await?.reject(DROP).await?;
            let letter = stage.take(key).await?;
            assert_eq!((letter.exchange.as_str(), letter.routing_key.as_str()), ("dead", key), "{kind:?}");
            assert_eq!(deaths(&letter)?, [Death::once(queue, "rejected", "in", "own")]);
        }
    }
    Ok(())
}

#[tokio::test]
async fn through_the_default_exchange_to_a_queue() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        let key = ("x-dead-letter-routing-key", text("grave.of all/words"));
        stage.declare(kind, "grave.of all/words", &[]).await?;
        stage.declare(kind, "work", &[("x-dead-letter-exchange", text("")), key]).await?;
        stage.put("work", "m").await?;
        stage.get("work").await?.reject(DROP).await?;
        let letter = stage.take("grave.of all/words").await?;
        assert_eq!(letter.exchange.as_str(), "");
        assert_eq!(letter.routing_key.as_str(), "grave.of all/words");
        assert_eq!(deaths(&letter)?, [Death::once("work", "rejected", "", "work")]);
    }
    Ok(())
}

#[tokio::test]
async fn to_several_queues() -> Outcome {
    let stage = Stage::start().await?;
    stage.exchange("dead", ExchangeKind::Topic).await?;
    for kind in Kind::ALL {
        stage.declare(kind, kind.name(), &[]).await?;
        stage.bind(kind.name(), "dead", "work.#").await?;
    }
    for kind in Kind::ALL {
        let queue = format!("work.{}", kind.name());
        stage.declare(kind, &queue, &[("x-dead-letter-exchange", text("dead"))]).await?;
        stage.put(&queue, &queue).await?;
        stage.get(&queue).await?.reject(DROP).await?;
        for target in Kind::ALL {
            let letter = stage.take(target.name()).await?;
            assert_eq!((body(&letter), letter.exchange.as_str()), (queue.clone(), "dead"));
            assert_eq!(deaths(&letter)?, [Death::once(&queue, "rejected", "", &queue)]);
        }
    }
    Ok(())
}
