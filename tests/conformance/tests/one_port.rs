//! The one port tells AMQP, MQTT, NATS (by its silence) and HTTP apart.

use braid_conformance::{
    Broker, Outcome, Port, amqp, http,
    mqtt::{Client, Options, Version},
    nats,
    raw::{AMQP_HEADER, MQTT_CONNACK, MQTT_CONNECT, Raw},
    unique,
};

#[tokio::test]
async fn every_client_is_served_on_one_port_and_they_reach_each_other() -> Outcome {
    let broker = Broker::start().await?;
    let one = broker.address(Port::Any)?;
    let base = unique("one");
    let connection = amqp::connect(one).await?;
    let channel = amqp::confirming_channel(&connection).await?;
    amqp::declare(&channel, &base).await?;
    amqp::bind(&channel, &base, "amq.topic", &format!("{base}.#")).await?;
    let mut consumer = amqp::consume(&channel, &base).await?;
    let mut old = Client::connect(one, &Options::new(Version::V311)).await?;
    old.subscribe(&format!("{base}/#"), 1).await?;
    let mut new = Client::connect(one, &Options::new(Version::V5)).await?;
    new.subscribe(&format!("{base}/#"), 1).await?;
    let client = nats::connect(one).await?;
    let mut subscriber = nats::subscribe(&client, &format!("{base}.>")).await?;

    amqp::publish(&channel, "amq.topic", &format!("{base}.a"), b"from amqp").await?;
    old.publish(&format!("{base}/b"), 1, b"from mqtt").await?;
    client.publish(format!("{base}.c"), "from nats".into()).await?;
    let mut expected = ["from amqp", "from mqtt", "from nats"].map(str::to_owned).to_vec();
    expected.sort();
    let (mut by_amqp, mut by_old, mut by_new, mut by_nats) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 {
        by_amqp.push(String::from_utf8(amqp::next(&mut consumer).await?.data.clone())?);
        by_old.push(String::from_utf8(old.next().await?.payload.to_vec())?);
        by_new.push(String::from_utf8(new.next().await?.payload.to_vec())?);
        by_nats.push(String::from_utf8(nats::next(&mut subscriber).await?.payload.to_vec())?);
    }
    for mut seen in [by_amqp, by_old, by_new, by_nats] {
        seen.sort();
        assert_eq!(seen, expected);
    }
    assert_eq!(http::get(one, "/healthz").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn the_first_bytes_decide_even_when_they_come_one_by_one() -> Outcome {
    let broker = Broker::start().await?;
    let one = broker.address(Port::Any)?;
    let mut amqp = Raw::connect(one).await?;
    for byte in AMQP_HEADER {
        amqp.send(&[*byte]).await?;
    }
    assert_eq!(amqp.read_exactly(3).await?, b"\x01\x00\x00", "no method frame on channel 0");
    let mut mqtt = Raw::connect(one).await?;
    for byte in MQTT_CONNECT {
        mqtt.send(&[*byte]).await?;
    }
    assert_eq!(mqtt.read_exactly(4).await?, MQTT_CONNACK);
    let mut http = Raw::connect(one).await?;
    for byte in b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" {
        http.send(&[*byte]).await?;
    }
    http.read_until(b"HTTP/1.1 200").await?;
    Ok(())
}

#[tokio::test]
async fn silence_means_nats_and_nothing_else_is_taken_after_it() -> Outcome {
    let broker = Broker::start().await?;
    let one = broker.address(Port::Any)?;
    let mut silent = Raw::connect(one).await?;
    let info = silent.read_until(b"\r\n").await?;
    assert!(info.starts_with(b"INFO {"), "{}", info.escape_ascii());
    silent.send(b"CONNECT {\"verbose\":false}\r\nPING\r\n").await?;
    silent.read_until(b"PONG\r\n").await?;
    for late in [AMQP_HEADER, MQTT_CONNECT, b"GET / HTTP/1.1\r\n\r\n"] {
        let mut silent = Raw::connect(one).await?;
        silent.read_until(b"\r\n").await?;
        silent.offer(late).await;
        let answer = silent.read_to_close().await?;
        assert!(!answer.starts_with(b"HTTP") && !answer.starts_with(MQTT_CONNACK), "{}", answer.escape_ascii());
    }
    Ok(())
}
