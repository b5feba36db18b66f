//! What a restart keeps: durable groups with their messages in order, their counts and who had what in hands; exchanges
//! and bindings. And what it does not keep: what was declared as transient.

use braid_conformance::{Broker, Failure, Outcome, Port, amqp, within};
use lapin::{
    BasicProperties, Channel, Connection, ExchangeKind,
    message::Delivery,
    options::{
        BasicAckOptions, BasicCancelOptions, BasicGetOptions, BasicNackOptions, BasicQosOptions, BasicRejectOptions,
        ExchangeDeclareOptions, QueueDeclareOptions,
    },
    types::{AMQPValue, FieldTable},
};

/// Messages that each queue gets.
const MESSAGES: u32 = 10;

/// How many of them are handed out: two are acknowledged, one rejected back, one kept, one nacked back.
const HANDED_OUT: u16 = 5;

/// A header that goes with every message.
const HEADER: &str = "sequence";

/// Both classes with a log.
const KINDS: [&str; 2] = ["classic", "quorum"];

#[tokio::test]
async fn a_stop_in_order_keeps_durable_groups() -> Outcome {
    let mut broker = Broker::start().await?;
    let kept = fill(&broker).await?;
    let status = broker.terminate().await?;
    assert!(status.success(), "{status}");
    drop(kept);
    broker.start_again().await?;
    check(&broker, false).await
}

#[tokio::test]
async fn a_kill_keeps_durable_groups() -> Outcome {
    let mut broker = Broker::start().await?;
    let kept = fill(&broker).await?;
    broker.kill().await?;
    drop(kept);
    broker.start_again().await?;
    check(&broker, true).await?;
    // What was read and not acknowledged there is as it was.
    broker.kill().await?;
    broker.start_again().await?;
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    let channel = within("channel", connection.create_channel()).await??;
    for kind in KINDS {
        assert_eq!(ready(&channel, &queue(kind)).await?, MESSAGES - 2 + 1, "{kind}");
        let first = get(&channel, &queue(kind)).await?;
        assert_eq!((sequence(&first)?, first.redelivered), (2, true), "{kind}");
    }
    Ok(())
}

/// Durable groups that would be placed anew, or whose log is gone, would lose their messages: such a node does not start,
/// says why, and has changed nothing.
#[tokio::test]
async fn a_node_that_would_lose_messages_does_not_start() -> Outcome {
    let mut broker = Broker::start().await?;
    let kept = fill(&broker).await?;
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    let channel = within("channel", connection.create_channel()).await??;
    // Some of them are in other partitions than the first.
    for number in 0..4 {
        let options = QueueDeclareOptions { durable: true, ..Default::default() };
        let name = format!("restart.more.{number}");
        within("queue", channel.queue_declare(name.as_str().into(), options, FieldTable::default())).await??;
    }
    broker.terminate().await?;
    drop(kept);
    let config = broker.folder().join("braidmq.toml");
    let former = std::fs::read_to_string(&config)?;
    std::fs::write(&config, format!("{former}\n[groups]\npartitions = 1\n"))?;
    let refused = broker.start_again().await.expect_err("fewer partitions").to_string();
    assert!(refused.contains("groups.partitions"), "{refused}");
    std::fs::write(&config, former)?;
    let (log, aside) = (broker.folder().join("data/log"), broker.folder().join("aside"));
    std::fs::rename(&log, &aside)?;
    let refused = broker.start_again().await.expect_err("no log").to_string();
    assert!(refused.contains("it is gone"), "{refused}");
    assert!(!log.exists());
    std::fs::rename(&aside, &log)?;
    broker.start_again().await?;
    check(&broker, false).await
}

fn queue(kind: &str) -> String {
    format!("restart.{kind}")
}

/// Declares everything, and leaves every queue with messages that were acknowledged, given back, held and never seen.
/// What is returned must live until the broker stops: each channel holds a message.
async fn fill(broker: &Broker) -> Result<(Connection, Vec<Channel>), Failure> {
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    let channel = amqp::confirming_channel(&connection).await?;
    let (durable, none) = (ExchangeDeclareOptions { durable: true, ..Default::default() }, FieldTable::default());
    let declared = channel.exchange_declare("restart.kept".into(), ExchangeKind::Direct, durable, none.clone());
    within("exchange.declare-ok", declared).await??;
    let transient = ExchangeDeclareOptions::default();
    let declared = channel.exchange_declare("restart.gone".into(), ExchangeKind::Fanout, transient, none.clone());
    within("exchange.declare-ok", declared).await??;
    amqp::declare(&channel, "restart.transient").await?;
    amqp::publish(&channel, "", "restart.transient", b"gone with it").await?;
    let exclusive = QueueDeclareOptions { durable: true, exclusive: true, ..Default::default() };
    within("queue.declare-ok", channel.queue_declare("restart.exclusive".into(), exclusive, none)).await??;
    let mut holding = Vec::new();
    for kind in KINDS {
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString(kind.into()));
        let durable = QueueDeclareOptions { durable: true, ..Default::default() };
        let queue = queue(kind);
        within("queue.declare-ok", channel.queue_declare(queue.as_str().into(), durable, arguments)).await??;
        amqp::bind(&channel, &queue, "restart.kept", kind).await?;
        for number in 0..MESSAGES {
            publish(&channel, kind, number).await?;
        }
        holding.push(hand_out(&connection, &queue).await?);
        assert_eq!(ready(&channel, &queue).await?, MESSAGES - 3, "{kind}");
    }
    Ok((connection, holding))
}

async fn publish(channel: &Channel, kind: &str, number: u32) -> Outcome {
    let mut headers = FieldTable::default();
    headers.insert(HEADER.into(), AMQPValue::LongUInt(number));
    let properties = BasicProperties::default().with_headers(headers).with_content_type("text/plain".into());
    amqp::publish_with(channel, "restart.kept", kind, format!("body {number}").as_bytes(), properties).await
}

/// Of the first five messages, 0 and 1 are acknowledged, 2 is rejected back, 3 is held, 4 is nacked back.
async fn hand_out(connection: &Connection, queue: &str) -> Result<Channel, Failure> {
    let channel = within("channel", connection.create_channel()).await??;
    within("qos-ok", channel.basic_qos(HANDED_OUT, BasicQosOptions::default())).await??;
    let mut consumer = amqp::consume(&channel, queue).await?;
    let mut held = Vec::new();
    for _ in 0..HANDED_OUT {
        held.push(amqp::next(&mut consumer).await?);
    }
    // Without the consumer, what goes back stays there.
    let tag = consumer.tag();
    within("cancel-ok", channel.basic_cancel(tag, BasicCancelOptions::default())).await??;
    held[1].ack(BasicAckOptions { multiple: true }).await?;
    held[2].reject(BasicRejectOptions { requeue: true }).await?;
    held[4].nack(BasicNackOptions { requeue: true, multiple: false }).await?;
    within("qos-ok", channel.basic_qos(HANDED_OUT, BasicQosOptions::default())).await??;
    Ok(channel)
}

/// Looks at everything after the restart; leaves all messages unacknowledged.
async fn check(broker: &Broker, was_killed: bool) -> Outcome {
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    for gone in ["restart.transient", "restart.exclusive"] {
        let channel = within("channel", connection.create_channel()).await??;
        assert_not_found(gone, ask(&channel, gone).await)?;
    }
    let channel = within("channel", connection.create_channel()).await??;
    let passive = ExchangeDeclareOptions { passive: true, ..Default::default() };
    let asked = |channel: Channel, name: &'static str, kind| async move {
        let declared = channel.exchange_declare(name.into(), kind, passive, FieldTable::default());
        within("exchange.declare-ok", declared).await
    };
    assert_not_found("restart.gone", asked(channel, "restart.gone", ExchangeKind::Fanout).await?)?;
    let channel = amqp::confirming_channel(&connection).await?;
    asked(channel.clone(), "restart.kept", ExchangeKind::Direct).await??;
    for kind in KINDS {
        let queue = queue(kind);
        let declared = ask(&channel, &queue).await?;
        assert_eq!((declared.message_count(), declared.consumer_count()), (MESSAGES - 2, 0), "{kind}");
        // The binding is there: one more comes by it.
        publish(&channel, kind, MESSAGES).await?;
        for number in 2..=MESSAGES {
            let delivery = get(&channel, &queue).await?;
            assert_eq!(sequence(&delivery)?, number, "{kind}: order");
            assert_eq!(delivery.data, format!("body {number}").into_bytes(), "{kind}");
            let content_type = delivery.properties.content_type().as_ref().map(ToString::to_string);
            assert_eq!(content_type.as_deref(), Some("text/plain"), "{kind}");
            assert_eq!(delivery.redelivered, number < u32::from(HANDED_OUT), "{kind}: redelivered, of {number}");
            check_count(kind, number, &delivery, was_killed)?;
        }
        let none = channel.basic_get(queue.as_str().into(), BasicGetOptions::default());
        assert!(within("basic.get", none).await??.is_none(), "{kind}: more than there were");
    }
    Ok(())
}

/// A rejected message counts one failure, a nacked one none (SPEC section 3, Settlement). The death of a node counts
/// none either; a stop in order may be seen as the end of the connection, which does.
fn check_count(kind: &str, number: u32, delivery: &Delivery, was_killed: bool) -> Outcome {
    let count = delivery_count(delivery)?;
    match number {
        2 if kind == "quorum" => assert_eq!(count, Some(1), "{kind}: {number} was rejected once"),
        3 if !was_killed => assert!(count.is_none_or(|count| count <= 1), "{kind}: {number}: {count:?}"),
        2 => assert!(count.is_none_or(|count| count == 1), "{kind}: {number}: {count:?}"),
        _ => assert_eq!(count, None, "{kind}: {number} never failed"),
    }
    Ok(())
}

fn assert_not_found<T: std::fmt::Debug>(name: &str, answer: Result<T, lapin::Error>) -> Outcome {
    match answer {
        Ok(found) => Err(Failure::new(format!("`{name}` is still there: {found:?}"))),
        Err(error) => {
            assert_eq!(amqp::code(&error), Some(404), "{name}: {error}");
            Ok(())
        }
    }
}

async fn ask(channel: &Channel, queue: &str) -> lapin::Result<lapin::Queue> {
    let passive = QueueDeclareOptions { passive: true, ..Default::default() };
    channel.queue_declare(queue.into(), passive, FieldTable::default()).await
}

async fn ready(channel: &Channel, queue: &str) -> Result<u32, Failure> {
    Ok(within("queue.declare-ok", ask(channel, queue)).await??.message_count())
}

async fn get(channel: &Channel, queue: &str) -> Result<Delivery, Failure> {
    let got = within("basic.get-ok", channel.basic_get(queue.into(), BasicGetOptions::default())).await??;
    Ok(got.ok_or_else(|| Failure::new(format!("`{queue}` is empty")))?.delivery)
}

fn header<'a>(delivery: &'a Delivery, name: &str) -> Option<&'a AMQPValue> {
    delivery.properties.headers().as_ref().and_then(|headers| headers.inner().get(name))
}

fn sequence(delivery: &Delivery) -> Result<u32, Failure> {
    match header(delivery, HEADER) {
        Some(AMQPValue::LongUInt(number)) => Ok(*number),
        other => Err(Failure::new(format!("{other:?} in header `{HEADER}`"))),
    }
}

fn delivery_count(delivery: &Delivery) -> Result<Option<i64>, Failure> {
    match header(delivery, "x-delivery-count") {
        None => Ok(None),
        Some(AMQPValue::LongInt(count)) => Ok(Some(i64::from(*count))),
        Some(AMQPValue::LongLongInt(count)) => Ok(Some(*count)),
        other => Err(Failure::new(format!("{other:?} in header `x-delivery-count`"))),
    }
}
