//! Who gets the next message: a single active consumer and its hand-over, and the strategies.

use std::collections::BTreeMap;

use braid_conformance::{Outcome, amqp, within};
use lapin::{
    Consumer,
    options::{BasicAckOptions, BasicCancelOptions, BasicQosOptions},
};

use crate::kind::{Kind, number, text};
use crate::stage::{Stage, body};

/// Messages of each key, and keys.
const PER_KEY: usize = 10;
const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

async fn bodies(consumer: &mut Consumer, count: usize) -> Result<Vec<String>, braid_conformance::Failure> {
    let mut bodies = Vec::new();
    for _ in 0..count {
        let delivery = amqp::next(consumer).await?;
        delivery.ack(BasicAckOptions::default()).await?;
        bodies.push(body(&delivery));
    }
    Ok(bodies)
}

#[tokio::test]
async fn one_consumer_is_active_and_hands_over_what_it_did_not_settle() -> Outcome {
    for kind in Kind::ALL {
        let mut stage = Stage::start().await?;
        stage.declare(kind, "work", &[("x-single-active-consumer", AMQP_TRUE)]).await?;
        if kind.is_durable() {
            stage.restart().await?;
        }
        let (first_channel, mut first) = stage.consume("work", 2).await?;
        let (_second_channel, mut second) = stage.consume("work", 2).await?;
        for number in 1..=6 {
            stage.put("work", &number.to_string()).await?;
        }
        let held = [amqp::next(&mut first).await?, amqp::next(&mut first).await?];
        assert_eq!(held.each_ref().map(body), ["1", "2"]);
        held[0].ack(BasicAckOptions::default()).await?;
        let third = amqp::next(&mut first).await?;
        assert_eq!(body(&third), "3");
        // It ends with two messages in its hands: they go back, in order, and the next one is active.
        within("close-ok", first_channel.close(200, "".into())).await??;
        assert_eq!(bodies(&mut second, 5).await?, ["2", "3", "4", "5", "6"], "{kind:?}");
        assert_eq!(stage.ready("work").await?, 0);
    }
    Ok(())
}

const AMQP_TRUE: lapin::types::AMQPValue = lapin::types::AMQPValue::Boolean(true);

/// A consumer that is cancelled keeps what it holds until it settles it; meanwhile another is active.
#[tokio::test]
async fn a_cancelled_consumer_may_still_settle() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        stage.declare(kind, "work", &[("x-single-active-consumer", AMQP_TRUE)]).await?;
        let (first_channel, mut first) = stage.consume("work", 1).await?;
        let (_second_channel, mut second) = stage.consume("work", 1).await?;
        for number in 1..=3 {
            stage.put("work", &number.to_string()).await?;
        }
        let held = amqp::next(&mut first).await?;
        within("cancel-ok", first_channel.basic_cancel(first.tag(), BasicCancelOptions::default())).await??;
        held.ack(BasicAckOptions::default()).await?;
        assert_eq!(bodies(&mut second, 2).await?, ["2", "3"], "{kind:?}");
    }
    Ok(())
}

#[tokio::test]
async fn messages_of_one_key_go_to_one_consumer_in_order() -> Outcome {
    for kind in Kind::ALL {
        let mut stage = Stage::start().await?;
        stage.declare(kind, "work", &[("x-dispatch-strategy", text("key"))]).await?;
        stage.bind("work", "amq.topic", "work.#").await?;
        for round in 0..2 {
            let mut consumers = Vec::new();
            for _ in 0..3 {
                consumers.push(stage.consume("work", 3).await?);
            }
            for number in 0..PER_KEY {
                for key in KEYS {
                    let (key, content) = (format!("work.{key}"), format!("{number}"));
                    amqp::publish(&stage.channel, "amq.topic", &key, content.as_bytes()).await?;
                }
            }
            let mut seen: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
            for _ in 0..PER_KEY * KEYS.len() {
                let (position, delivery) = next_of_any(&mut consumers).await?;
                delivery.ack(BasicAckOptions::default()).await?;
                seen.entry(delivery.routing_key.to_string()).or_default().push((position, body(&delivery)));
            }
            assert_eq!(seen.len(), KEYS.len());
            for (key, messages) in &seen {
                let holder = messages.first().map(|(position, _)| *position);
                assert!(messages.iter().all(|(position, _)| Some(*position) == holder), "{kind:?} {key}: {messages:?}");
                let order: Vec<String> = (0..PER_KEY).map(|number| number.to_string()).collect();
                let got: Vec<String> = messages.iter().map(|(_, content)| content.clone()).collect();
                assert_eq!(got, order, "{kind:?} {key}");
            }
            if !kind.is_durable() || round > 0 {
                break;
            }
            for (channel, _) in &consumers {
                // An answer on the channel: its acks are in the log.
                within("qos-ok", channel.basic_qos(3, BasicQosOptions::default())).await??;
            }
            assert_eq!(stage.ready("work").await?, 0);
            stage.restart().await?;
        }
    }
    Ok(())
}

/// The next delivery of whichever consumer gets one.
async fn next_of_any(
    consumers: &mut [(lapin::Channel, Consumer)],
) -> Result<(usize, lapin::message::Delivery), braid_conformance::Failure> {
    let nexts = consumers.iter_mut().map(|(_, consumer)| Box::pin(amqp::next(consumer)));
    let (delivery, position, _) = futures_util::future::select_all(nexts).await;
    Ok((position, delivery?))
}

/// Who holds least gets the next; the others wait although they have credit.
#[tokio::test]
async fn the_consumer_that_holds_least_is_next() -> Outcome {
    for kind in Kind::ALL {
        let stage = Stage::start().await?;
        stage.declare(kind, "work", &[("x-dispatch-strategy", text("least_unacked"))]).await?;
        let (_busy_channel, mut busy) = stage.consume("work", 10).await?;
        stage.put("work", "0").await?;
        let held = amqp::next(&mut busy).await?;
        let (idle_channel, mut idle) = stage.consume("work", 10).await?;
        for number in 1..=5 {
            stage.put("work", &number.to_string()).await?;
            let delivery = amqp::next(&mut idle).await?;
            assert_eq!(body(&delivery), number.to_string(), "{kind:?}");
            delivery.ack(BasicAckOptions::default()).await?;
            // An answer on the channel: the ack was taken before the next message comes.
            within("qos-ok", idle_channel.basic_qos(10, BasicQosOptions::default())).await??;
        }
        held.ack(BasicAckOptions::default()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn every_strategy_hands_out_everything() -> Outcome {
    let stage = Stage::start().await?;
    for strategy in ["round_robin", "least_unacked", "random", "local_first", "key"] {
        for kind in Kind::ALL {
            let queue = format!("{strategy}.{}", kind.name());
            stage
                .declare(kind, &queue, &[("x-dispatch-strategy", text(strategy)), ("x-expires", number(60_000))])
                .await?;
            let mut consumers = vec![stage.consume(&queue, 2).await?, stage.consume(&queue, 2).await?];
            for number in 0..20 {
                stage.put(&queue, &number.to_string()).await?;
            }
            let mut seen = Vec::new();
            for _ in 0..20 {
                let (_, delivery) = next_of_any(&mut consumers).await?;
                delivery.ack(BasicAckOptions::default()).await?;
                seen.push(body(&delivery).parse::<u32>()?);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..20).collect::<Vec<u32>>(), "{queue}");
        }
    }
    Ok(())
}
