//! AMQP 0-9-1 with lapin: queues, exchanges and bindings, publishing and consuming.

use braid_conformance::{Broker, Failure, Outcome, Port, amqp, unique, within};
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ExchangeKind,
    options::{
        BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicGetOptions, BasicNackOptions,
        BasicPublishOptions, BasicQosOptions, BasicRejectOptions, ExchangeDeclareOptions, ExchangeDeleteOptions,
        QueueDeclareOptions, QueueDeleteOptions, QueuePurgeOptions,
    },
    types::{AMQPValue, FieldTable},
};

/// A broker, a connection and a confirming channel with one queue.
struct Scene {
    broker: Broker,
    connection: Connection,
    channel: Channel,
    queue: String,
}

impl Scene {
    async fn new() -> Result<Self, Failure> {
        let broker = Broker::start().await?;
        let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
        let channel = amqp::confirming_channel(&connection).await?;
        let queue = unique("queue");
        amqp::declare(&channel, &queue).await?;
        Ok(Self { broker, connection, channel, queue })
    }

    /// Publishes `bodies` to the queue through the default exchange.
    async fn fill(&self, bodies: &[&str]) -> Outcome {
        for body in bodies {
            amqp::publish(&self.channel, "", &self.queue, body.as_bytes()).await?;
        }
        Ok(())
    }

    /// Messages that wait in the queue. Asked in step with the channel: whatever was sent before counts.
    async fn ready(&self) -> Result<u32, Failure> {
        ready(&self.channel, &self.queue).await
    }

    async fn get(&self) -> Result<Option<(String, bool)>, Failure> {
        let options = BasicGetOptions { no_ack: true };
        let got = within("get-ok", self.channel.basic_get(self.queue.as_str().into(), options)).await??;
        Ok(got.map(|got| (String::from_utf8_lossy(&got.delivery.data).into_owned(), got.delivery.redelivered)))
    }
}

async fn ready(channel: &Channel, queue: &str) -> Result<u32, Failure> {
    let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let declared = channel.queue_declare(queue.into(), options, FieldTable::default());
    Ok(within("declare-ok", declared).await??.message_count())
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

#[tokio::test]
async fn a_message_comes_back_with_all_its_properties() -> Outcome {
    let scene = Scene::new().await?;
    let mut headers = FieldTable::default();
    headers.insert("text".into(), AMQPValue::LongString("value".into()));
    headers.insert("number".into(), AMQPValue::LongLongInt(-7));
    headers.insert("flag".into(), AMQPValue::Boolean(true));
    let properties = BasicProperties::default()
        .with_content_type("application/json".into())
        .with_content_encoding("gzip".into())
        .with_headers(headers)
        .with_delivery_mode(2)
        .with_priority(3)
        .with_correlation_id("correlation".into())
        .with_reply_to("reply".into())
        .with_expiration("60000".into())
        .with_message_id("id".into())
        .with_timestamp(1_700_000_000)
        .with_type("kind".into())
        .with_user_id("guest".into())
        .with_app_id("application".into());
    amqp::publish_with(&scene.channel, "", &scene.queue, b"body", properties.clone()).await?;
    let mut consumer = amqp::consume(&scene.channel, &scene.queue).await?;
    let delivery = amqp::next(&mut consumer).await?;
    assert_eq!(delivery.data.as_slice(), b"body");
    assert_eq!((delivery.exchange.as_str(), delivery.routing_key.as_str()), ("", scene.queue.as_str()));
    assert!(!delivery.redelivered);
    assert_eq!(delivery.properties, properties);
    delivery.ack(BasicAckOptions::default()).await?;
    assert_eq!(scene.ready().await?, 0);
    Ok(())
}

#[tokio::test]
async fn bodies_of_each_size_come_back_in_order() -> Outcome {
    let scene = Scene::new().await?;
    let sizes = [0, 1, 2_047, 2_048, 2_049, 131_063, 131_064, 131_065, 3_000_000];
    for (index, size) in sizes.into_iter().enumerate() {
        amqp::publish(&scene.channel, "", &scene.queue, &vec![u8::try_from(index)?; size]).await?;
    }
    let mut consumer = amqp::consume(&scene.channel, &scene.queue).await?;
    for (index, size) in sizes.into_iter().enumerate() {
        let delivery = amqp::next(&mut consumer).await?;
        assert_eq!(delivery.data.len(), size);
        assert!(delivery.data.iter().all(|byte| usize::from(*byte) == index), "the body of {size} bytes was changed");
        delivery.ack(BasicAckOptions::default()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn each_publish_of_a_burst_is_confirmed() -> Outcome {
    let scene = Scene::new().await?;
    let mut confirms = Vec::new();
    for number in 0_u32..1_000 {
        let options = BasicPublishOptions::default();
        let queue = scene.queue.as_str().into();
        let body = number.to_string();
        confirms.push(
            scene.channel.basic_publish("".into(), queue, options, body.as_bytes(), BasicProperties::default()).await?,
        );
    }
    for confirm in confirms {
        assert_eq!(within("confirm", confirm).await??, Confirmation::Ack(None));
    }
    assert_eq!(scene.ready().await?, 1_000);
    let mut consumer = amqp::consume(&scene.channel, &scene.queue).await?;
    for number in 0_u32..1_000 {
        let delivery = amqp::next(&mut consumer).await?;
        assert_eq!(text(&delivery.data), number.to_string());
        delivery.ack(BasicAckOptions::default()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_unroutable_mandatory_message_is_returned_before_its_confirm() -> Outcome {
    let scene = Scene::new().await?;
    for number in 0..20_u32 {
        let mandatory = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let routable = number % 2 == 0;
        let key = if routable { scene.queue.clone() } else { unique("nowhere") };
        let body = number.to_string();
        let publish = scene.channel.basic_publish(
            "".into(),
            key.as_str().into(),
            mandatory,
            body.as_bytes(),
            BasicProperties::default(),
        );
        match within("confirm", publish.await?).await?? {
            Confirmation::Ack(None) => assert!(routable, "{number} was not returned"),
            Confirmation::Ack(Some(returned)) => {
                assert!(!routable, "{number} was returned");
                assert_eq!((returned.reply_code, text(&returned.delivery.data)), (312, body));
                assert_eq!(returned.delivery.routing_key.as_str(), key);
            }
            other => return Err(Failure::new(format!("{number}: {other:?}"))),
        }
    }
    assert_eq!(scene.ready().await?, 10);
    Ok(())
}

#[tokio::test]
async fn exchanges_route_by_their_kind() -> Outcome {
    let scene = Scene::new().await?;
    let cases = [
        (ExchangeKind::Direct, "a.b", vec![("a.b", true), ("a.c", false)]),
        (ExchangeKind::Fanout, "", vec![("a.b", true), ("", true)]),
        (ExchangeKind::Topic, "a.*.#", vec![("a.b", true), ("a.b.c.d", true), ("a", false), ("b.a.c", false)]),
    ];
    for (kind, binding, keys) in cases {
        let exchange = unique("exchange");
        let declared = scene.channel.exchange_declare(
            exchange.as_str().into(),
            kind.clone(),
            ExchangeDeclareOptions::default(),
            FieldTable::default(),
        );
        within("declare-ok", declared).await??;
        amqp::bind(&scene.channel, &scene.queue, &exchange, binding).await?;
        for (key, routed) in keys {
            amqp::publish(&scene.channel, &exchange, key, key.as_bytes()).await?;
            let expected = routed.then(|| (key.to_owned(), false));
            assert_eq!(scene.get().await?, expected, "{kind:?} with `{binding}` and `{key}`");
        }
        let deleted = scene.channel.exchange_delete(exchange.as_str().into(), ExchangeDeleteOptions::default());
        within("delete-ok", deleted).await??;
    }
    Ok(())
}

#[tokio::test]
async fn a_headers_exchange_matches_all_or_any() -> Outcome {
    let scene = Scene::new().await?;
    let table = |pairs: &[(&str, &str)]| {
        let mut table = FieldTable::default();
        for (key, value) in pairs {
            table.insert((*key).into(), AMQPValue::LongString((*value).into()));
        }
        table
    };
    for (kind, both, one) in [("all", true, false), ("any", true, true)] {
        let exchange = unique("exchange");
        let options = ExchangeDeclareOptions::default();
        let declared = scene.channel.exchange_declare(
            exchange.as_str().into(),
            ExchangeKind::Headers,
            options,
            FieldTable::default(),
        );
        within("declare-ok", declared).await??;
        let arguments = table(&[("x-match", kind), ("a", "1"), ("b", "2")]);
        let queue = scene.queue.as_str().into();
        let bound = scene.channel.queue_bind(queue, exchange.as_str().into(), "".into(), Default::default(), arguments);
        within("bind-ok", bound).await??;
        for (headers, routed) in
            [(table(&[("a", "1"), ("b", "2")]), both), (table(&[("a", "1"), ("b", "3")]), one), (table(&[]), false)]
        {
            let properties = BasicProperties::default().with_headers(headers);
            amqp::publish_with(&scene.channel, &exchange, "", b"body", properties).await?;
            assert_eq!(scene.get().await?.is_some(), routed, "x-match={kind}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_unbound_queue_gets_nothing_more() -> Outcome {
    let scene = Scene::new().await?;
    let key = unique("key");
    amqp::bind(&scene.channel, &scene.queue, "amq.direct", &key).await?;
    amqp::publish(&scene.channel, "amq.direct", &key, b"one").await?;
    let unbound = scene.channel.queue_unbind(
        scene.queue.as_str().into(),
        "amq.direct".into(),
        key.as_str().into(),
        FieldTable::default(),
    );
    within("unbind-ok", unbound).await??;
    amqp::publish(&scene.channel, "amq.direct", &key, b"two").await?;
    assert_eq!(scene.ready().await?, 1);
    Ok(())
}

#[tokio::test]
async fn purge_and_delete_count_what_they_remove() -> Outcome {
    let scene = Scene::new().await?;
    scene.fill(&["one", "two", "three"]).await?;
    let purged = scene.channel.queue_purge(scene.queue.as_str().into(), QueuePurgeOptions::default());
    assert_eq!(within("purge-ok", purged).await??, 3);
    assert_eq!(scene.ready().await?, 0);
    scene.fill(&["four", "five"]).await?;
    let deleted = scene.channel.queue_delete(scene.queue.as_str().into(), QueueDeleteOptions::default());
    assert_eq!(within("delete-ok", deleted).await??, 2);
    let error = scene.ready().await;
    assert!(error.is_err(), "the queue is still there");
    Ok(())
}

#[tokio::test]
async fn delete_if_unused_and_if_empty_are_refused_where_they_must() -> Outcome {
    let scene = Scene::new().await?;
    scene.fill(&["one"]).await?;
    let if_empty = QueueDeleteOptions { if_empty: true, ..QueueDeleteOptions::default() };
    let channel = within("channel", scene.connection.create_channel()).await??;
    let error = within("close", channel.queue_delete(scene.queue.as_str().into(), if_empty)).await?;
    assert_eq!(error.err().as_ref().and_then(amqp::code), Some(406));
    let _consumer = amqp::consume(&scene.channel, &scene.queue).await?;
    let if_unused = QueueDeleteOptions { if_unused: true, ..QueueDeleteOptions::default() };
    let channel = within("channel", scene.connection.create_channel()).await??;
    let error = within("close", channel.queue_delete(scene.queue.as_str().into(), if_unused)).await?;
    assert_eq!(error.err().as_ref().and_then(amqp::code), Some(406));
    Ok(())
}

#[tokio::test]
async fn get_takes_one_message_and_counts_the_rest() -> Outcome {
    let scene = Scene::new().await?;
    assert_eq!(scene.get().await?, None);
    scene.fill(&["one", "two"]).await?;
    let got = scene.channel.basic_get(scene.queue.as_str().into(), BasicGetOptions::default());
    let got = within("get-ok", got).await??.ok_or_else(|| Failure::new("the queue is empty"))?;
    assert_eq!((text(&got.delivery.data), got.message_count), ("one".to_owned(), 1));
    got.delivery.nack(BasicNackOptions { requeue: true, ..BasicNackOptions::default() }).await?;
    assert_eq!(scene.get().await?, Some(("one".to_owned(), true)));
    assert_eq!(scene.get().await?, Some(("two".to_owned(), false)));
    assert_eq!(scene.get().await?, None);
    Ok(())
}

#[tokio::test]
async fn returned_messages_come_back_first_in_order_and_flagged() -> Outcome {
    let scene = Scene::new().await?;
    scene.fill(&["1", "2", "3", "4", "5"]).await?;
    let channel = within("channel", scene.connection.create_channel()).await??;
    within("qos-ok", channel.basic_qos(3, BasicQosOptions::default())).await??;
    let mut consumer = amqp::consume(&channel, &scene.queue).await?;
    let mut deliveries = Vec::new();
    for _ in 0..3 {
        deliveries.push(amqp::next(&mut consumer).await?);
    }
    within("close-ok", channel.close(200, "done".into())).await??;
    let mut order = Vec::new();
    while let Some(got) = scene.get().await? {
        order.push(got);
    }
    let expected =
        [("1", true), ("2", true), ("3", true), ("4", false), ("5", false)].map(|(body, flag)| (body.to_owned(), flag));
    assert_eq!(order, expected);
    Ok(())
}

#[tokio::test]
async fn reject_without_requeue_drops_the_message() -> Outcome {
    let scene = Scene::new().await?;
    scene.fill(&["one", "two"]).await?;
    let mut consumer = amqp::consume(&scene.channel, &scene.queue).await?;
    amqp::next(&mut consumer).await?.reject(BasicRejectOptions { requeue: false }).await?;
    amqp::next(&mut consumer).await?.reject(BasicRejectOptions { requeue: true }).await?;
    let again = amqp::next(&mut consumer).await?;
    assert_eq!((text(&again.data), again.redelivered), ("two".to_owned(), true));
    again.ack(BasicAckOptions::default()).await?;
    assert_eq!(scene.ready().await?, 0);
    Ok(())
}

#[tokio::test]
async fn prefetch_is_never_exceeded_and_an_ack_with_multiple_frees_all() -> Outcome {
    let scene = Scene::new().await?;
    scene.fill(&["1", "2", "3", "4", "5", "6"]).await?;
    within("qos-ok", scene.channel.basic_qos(2, BasicQosOptions::default())).await??;
    let mut consumer = amqp::consume(&scene.channel, &scene.queue).await?;
    let _first = amqp::next(&mut consumer).await?;
    let second = amqp::next(&mut consumer).await?;
    assert_eq!(scene.ready().await?, 4, "more than the prefetch was handed out");
    second.ack(BasicAckOptions { multiple: true }).await?;
    let _third = amqp::next(&mut consumer).await?;
    let fourth = amqp::next(&mut consumer).await?;
    assert_eq!(text(&fourth.data), "4");
    assert_eq!(scene.ready().await?, 2);
    Ok(())
}

#[tokio::test]
async fn two_consumers_share_a_queue() -> Outcome {
    let scene = Scene::new().await?;
    within("qos-ok", scene.channel.basic_qos(1, BasicQosOptions::default())).await??;
    let mut one = amqp::consume(&scene.channel, &scene.queue).await?;
    let mut other = amqp::consume(&scene.channel, &scene.queue).await?;
    scene.fill(&["1", "2", "3", "4"]).await?;
    let mut bodies = Vec::new();
    for _ in 0..2 {
        for consumer in [&mut one, &mut other] {
            let delivery = amqp::next(consumer).await?;
            bodies.push(text(&delivery.data));
            delivery.ack(BasicAckOptions::default()).await?;
        }
    }
    bodies.sort();
    assert_eq!(bodies, ["1", "2", "3", "4"]);
    Ok(())
}

#[tokio::test]
async fn a_cancelled_consumer_gets_nothing_more_and_may_still_settle() -> Outcome {
    let scene = Scene::new().await?;
    scene.fill(&["1", "2"]).await?;
    within("qos-ok", scene.channel.basic_qos(1, BasicQosOptions::default())).await??;
    let mut consumer = amqp::consume(&scene.channel, &scene.queue).await?;
    let delivery = amqp::next(&mut consumer).await?;
    within("cancel-ok", scene.channel.basic_cancel(consumer.tag(), BasicCancelOptions::default())).await??;
    delivery.ack(BasicAckOptions::default()).await?;
    assert_eq!(scene.ready().await?, 1);
    assert_eq!(scene.get().await?, Some(("2".to_owned(), false)));
    Ok(())
}

#[tokio::test]
async fn a_consumer_without_acks_takes_all() -> Outcome {
    let scene = Scene::new().await?;
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    within("qos-ok", scene.channel.basic_qos(1, BasicQosOptions::default())).await??;
    let mut consumer = amqp::consume_with(&scene.channel, &scene.queue, options).await?;
    scene.fill(&["1", "2", "3"]).await?;
    for body in ["1", "2", "3"] {
        assert_eq!(text(&amqp::next(&mut consumer).await?.data), body);
    }
    assert_eq!(scene.ready().await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_channel_error_closes_that_channel_alone() -> Outcome {
    let scene = Scene::new().await?;
    let mut consumer = amqp::consume(&scene.channel, &scene.queue).await?;
    let missing = unique("missing");
    let channel = within("channel", scene.connection.create_channel()).await??;
    let error = within(
        "close",
        channel.basic_consume(
            missing.as_str().into(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        ),
    )
    .await?;
    assert_eq!(error.err().as_ref().and_then(amqp::code), Some(404));
    assert!(!channel.status().connected(), "the channel is still open");
    let channel = within("channel", scene.connection.create_channel()).await??;
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    let error =
        within("close", channel.queue_declare(scene.queue.as_str().into(), durable, FieldTable::default())).await?;
    assert_eq!(error.err().as_ref().and_then(amqp::code), Some(406));
    let channel = within("channel", scene.connection.create_channel()).await??;
    let error = within("close", channel.basic_ack(99, BasicAckOptions::default())).await?;
    drop(error); // an ack has no answer: the close comes by itself
    let error = ready(&channel, &scene.queue).await;
    assert!(error.is_err(), "an unknown delivery tag did not close the channel");
    scene.fill(&["still here"]).await?;
    assert_eq!(text(&amqp::next(&mut consumer).await?.data), "still here");
    Ok(())
}

#[tokio::test]
async fn an_exclusive_queue_is_its_connections_own_and_goes_with_it() -> Outcome {
    let scene = Scene::new().await?;
    let owner = amqp::connect(scene.broker.address(Port::Amqp)?).await?;
    let channel = within("channel", owner.create_channel()).await??;
    let options = QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() };
    let queue = within("declare-ok", channel.queue_declare("".into(), options, FieldTable::default())).await??;
    let name = queue.name().as_str().to_owned();
    assert!(name.starts_with("amq.gen"), "`{name}` is not a name that the broker makes");
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let stranger = within("channel", scene.connection.create_channel()).await??;
    let error = within("close", stranger.queue_declare(name.as_str().into(), passive, FieldTable::default())).await?;
    assert_eq!(error.err().as_ref().and_then(amqp::code), Some(405));
    within("close-ok", owner.close(200, "done".into())).await??;
    let stranger = within("channel", scene.connection.create_channel()).await??;
    let error = within("close", stranger.queue_declare(name.as_str().into(), passive, FieldTable::default())).await?;
    assert_eq!(error.err().as_ref().and_then(amqp::code), Some(404));
    Ok(())
}

#[tokio::test]
async fn an_auto_delete_queue_goes_with_its_last_consumer() -> Outcome {
    let scene = Scene::new().await?;
    let name = unique("auto");
    let options = QueueDeclareOptions { auto_delete: true, ..QueueDeclareOptions::default() };
    within("declare-ok", scene.channel.queue_declare(name.as_str().into(), options, FieldTable::default())).await??;
    let consumer = amqp::consume(&scene.channel, &name).await?;
    within("cancel-ok", scene.channel.basic_cancel(consumer.tag(), BasicCancelOptions::default())).await??;
    // It goes soon after, as in RabbitMQ, and nothing tells when.
    for _ in 0..100 {
        let channel = within("channel", scene.connection.create_channel()).await??;
        if ready(&channel, &name).await.is_err() {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    Err(Failure::new("the queue is still there"))
}

#[tokio::test]
async fn a_wrong_password_or_vhost_is_refused_by_its_code() -> Outcome {
    let scene = Scene::new().await?;
    let address = scene.broker.address(Port::Amqp)?;
    for (login, vhost) in [("guest:wrong", "%2f"), ("nobody:guest", "%2f"), ("guest:guest", "no-such-vhost")] {
        assert!(amqp::connect_as(address, login, vhost).await.is_err(), "{login} was let into {vhost}");
    }
    scene.fill(&["still here"]).await?;
    assert_eq!(scene.ready().await?, 1);
    Ok(())
}
