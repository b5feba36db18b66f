//! A consumer that acknowledges quickly is handed a second window before its acknowledgements are on disk. Nobody may
//! see that: it never has more than its prefetch, and what was not sent to it is the others', in order.

use std::time::Duration;

use braid_conformance::{Failure, Outcome, Port, Wire, amqp, within};
use futures_util::StreamExt;
use lapin::{
    BasicProperties, Channel, Consumer,
    message::Delivery,
    options::{
        BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicPublishOptions,
        BasicQosOptions,
    },
};

use crate::kind::Kind;
use crate::stage::{Stage, body, header};

/// Small, so that a client on a slow machine is quick enough, which is counted in windows.
const PREFETCH: usize = 2;
const CONFIG: &str = "[limits]\nsecond_window_prefetch_min = 1\n";

/// Messages of a test, and how many of them are acknowledged quickly.
const MESSAGES: usize = 2_000;
const QUICK: usize = 1_000;

/// With nothing for so long, nothing more comes: a delivery that should not be there would have been sent by then.
const QUIET: Duration = Duration::from_millis(300);

/// A pause that makes a consumer slow.
const SLOWLY: Duration = Duration::from_millis(15);

/// A queue full of numbers.
async fn filled(kind: Kind) -> Result<Stage, Failure> {
    let stage = Stage::start_with(CONFIG).await?;
    stage.declare(kind, "work", &[]).await?;
    let mut confirms = Vec::new();
    for number in 0..MESSAGES {
        let (options, content) = (BasicPublishOptions::default(), number.to_string());
        let properties = BasicProperties::default();
        let sent = stage.channel.basic_publish("".into(), "work".into(), options, content.as_bytes(), properties);
        confirms.push(sent.await?);
    }
    for confirm in confirms {
        within("confirm", confirm).await??;
    }
    Ok(stage)
}

async fn consume(connection: &lapin::Connection) -> Result<(Channel, Consumer), Failure> {
    let channel = within("channel", connection.create_channel()).await??;
    let prefetch = u16::try_from(PREFETCH)?;
    within("qos-ok", channel.basic_qos(prefetch, BasicQosOptions::default())).await??;
    let consumer = amqp::consume_with(&channel, "work", BasicConsumeOptions::default()).await?;
    Ok((channel, consumer))
}

fn number(delivery: &Delivery) -> Result<usize, Failure> {
    Ok(body(delivery).parse()?)
}

/// Acknowledges the first messages as they come.
async fn be_quick(consumer: &mut Consumer) -> Outcome {
    for expected in 0..QUICK {
        let delivery = amqp::next(consumer).await?;
        assert_eq!((number(&delivery)?, delivery.redelivered), (expected, false));
        delivery.ack(BasicAckOptions::default()).await?;
    }
    Ok(())
}

/// What comes without any being acknowledged.
async fn all_that_comes(consumer: &mut Consumer) -> Result<Vec<usize>, Failure> {
    let mut numbers = Vec::new();
    while let Ok(Some(delivery)) = tokio::time::timeout(QUIET, consumer.next()).await {
        numbers.push(number(&delivery?)?);
    }
    Ok(numbers)
}

/// Takes `count` messages.
async fn take(consumer: &mut Consumer, count: usize) -> Result<Vec<Delivery>, Failure> {
    let mut taken = Vec::new();
    for _ in 0..count {
        let delivery = amqp::next(consumer).await?;
        delivery.ack(BasicAckOptions::default()).await?;
        taken.push(delivery);
    }
    Ok(taken)
}

/// All messages from `first` on, in order; flagged are at most those that were handed out ahead.
fn check_rest(taken: &[Delivery], first: usize, what: &str) -> Outcome {
    for (expected, delivery) in (first..MESSAGES).zip(taken) {
        assert_eq!(number(delivery)?, expected, "{what}");
        assert!(!delivery.redelivered || expected < first + PREFETCH, "{what}: {expected} was never handed out");
        assert_eq!(header(delivery, "x-delivery-count"), None, "{what}: {expected} was never tried");
    }
    assert_eq!(taken.len(), MESSAGES - first, "{what}");
    Ok(())
}

#[tokio::test]
async fn a_quick_consumer_that_stops_holds_its_prefetch_and_no_more() -> Outcome {
    for kind in Kind::ALL {
        let stage = filled(kind).await?;
        let (_quick_channel, mut quick) = consume(&stage.connection).await?;
        be_quick(&mut quick).await?;
        let seen = QUICK + PREFETCH;
        assert_eq!(all_that_comes(&mut quick).await?, (QUICK..seen).collect::<Vec<_>>(), "{kind:?}");
        stage.until_ready("work", u32::try_from(MESSAGES - seen)?).await?;
        let (_channel, mut other) = consume(&stage.connection).await?;
        check_rest(&take(&mut other, MESSAGES - seen).await?, seen, &format!("{kind:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn a_quick_consumer_that_is_cancelled_leaves_the_rest_in_order() -> Outcome {
    for kind in Kind::ALL {
        let stage = filled(kind).await?;
        let (channel, mut quick) = consume(&stage.connection).await?;
        be_quick(&mut quick).await?;
        within("cancel-ok", channel.basic_cancel(quick.tag(), BasicCancelOptions::default())).await??;
        let held = all_that_comes(&mut quick).await?;
        assert!(held.len() <= PREFETCH, "{kind:?}: {held:?}");
        let seen = QUICK + held.len();
        assert_eq!(held, (QUICK..seen).collect::<Vec<_>>(), "{kind:?}");
        let (_channel, mut other) = consume(&stage.connection).await?;
        check_rest(&take(&mut other, MESSAGES - seen).await?, seen, &format!("{kind:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn what_a_quick_consumer_puts_back_comes_before_what_it_was_not_sent() -> Outcome {
    for kind in Kind::ALL {
        let stage = filled(kind).await?;
        let (_channel, mut quick) = consume(&stage.connection).await?;
        be_quick(&mut quick).await?;
        let first = amqp::next(&mut quick).await?;
        first.nack(BasicNackOptions { requeue: true, ..BasicNackOptions::default() }).await?;
        let mut after = Vec::new();
        for _ in 0..PREFETCH {
            let delivery = amqp::next(&mut quick).await?;
            after.push((number(&delivery)?, delivery.redelivered));
        }
        assert!(after.contains(&(QUICK, true)), "{kind:?}: {after:?}");
        after.retain(|(number, _)| *number != QUICK);
        let others: Vec<usize> = after.iter().map(|(number, _)| *number).collect();
        assert_eq!(others, (QUICK + 1..QUICK + PREFETCH).collect::<Vec<_>>(), "{kind:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_quick_consumer_that_slows_down_gets_all_in_order() -> Outcome {
    for kind in Kind::ALL {
        let stage = filled(kind).await?;
        let (_channel, mut consumer) = consume(&stage.connection).await?;
        be_quick(&mut consumer).await?;
        for expected in QUICK..MESSAGES {
            let delivery = amqp::next(&mut consumer).await?;
            assert_eq!(number(&delivery)?, expected, "{kind:?}");
            // Quick and slow in turn, so that a second window comes and goes.
            if expected / 100 % 2 == 0 {
                tokio::time::sleep(SLOWLY).await;
            }
            delivery.ack(BasicAckOptions::default()).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn only_what_was_sent_to_a_lost_consumer_counts_as_tried() -> Outcome {
    for kind in Kind::ALL {
        let stage = filled(kind).await?;
        let wire = Wire::to(stage.broker.address(Port::Amqp)?).await?;
        let connection = amqp::connect(wire.address()).await?;
        let (channel, mut quick) = consume(&connection).await?;
        be_quick(&mut quick).await?;
        // An answer on the channel: what was acknowledged is gone for good.
        within("qos-ok", channel.basic_qos(u16::try_from(PREFETCH)?, BasicQosOptions::default())).await??;
        let seen = QUICK + PREFETCH;
        for expected in QUICK..seen {
            assert_eq!(number(&amqp::next(&mut quick).await?)?, expected, "{kind:?}");
        }
        wire.cut().await;
        let (_channel, mut other) = consume(&stage.connection).await?;
        let mut taken = take(&mut other, MESSAGES - QUICK).await?;
        // What came back while the rest was on its way came later.
        taken.sort_by_key(|delivery| number(delivery).unwrap_or(usize::MAX));
        let rest = taken.split_off(PREFETCH);
        for (expected, delivery) in (QUICK..seen).zip(&taken) {
            assert_eq!((number(delivery)?, delivery.redelivered), (expected, true), "{kind:?}");
            assert!(header(delivery, "x-delivery-count").is_some(), "{kind:?}: {expected} was tried");
        }
        check_rest(&rest, seen, &format!("{kind:?}"))?;
    }
    Ok(())
}
