//! NATS with async-nats, and the words of the protocol on a raw socket.

use std::collections::BTreeSet;

use async_nats::{ConnectOptions, HeaderMap, client::RequestErrorKind};
use braid_conformance::{
    Broker, Failure, Outcome, Port, nats,
    raw::{NATS_CONNECT, Raw},
    unique, within,
};
use bytes::Bytes;
use futures_util::StreamExt;

async fn scene() -> Result<(Broker, async_nats::Client), Failure> {
    let broker = Broker::start().await?;
    let client = nats::connect(broker.address(Port::Nats)?).await?;
    Ok((broker, client))
}

async fn raw(broker: &Broker) -> Result<Raw, Failure> {
    let mut raw = Raw::connect(broker.address(Port::Nats)?).await?;
    let info = raw.read_until(b"\r\n").await?;
    assert!(info.starts_with(b"INFO {"), "{}", info.escape_ascii());
    Ok(raw)
}

#[tokio::test]
async fn subjects_match_by_token() -> Outcome {
    let (_broker, client) = scene().await?;
    let cases = [
        ("a.b", vec![("a.b", true), ("a.b.c", false), ("a", false)]),
        ("a.*", vec![("a.b", true), ("a.b.c", false), ("a", false)]),
        ("*.b", vec![("a.b", true), ("b.a", false)]),
        ("a.>", vec![("a.b", true), ("a.b.c", true), ("a", false)]),
        ("a.*.c.>", vec![("a.b.c.d", true), ("a.b.c", false)]),
    ];
    for (filter, subjects) in cases {
        let base = unique("subjects");
        let mut subscriber = nats::subscribe(&client, &format!("{base}.{filter}")).await?;
        let mut expected = Vec::new();
        for (subject, matches) in subjects {
            client.publish(format!("{base}.{subject}"), Bytes::from_static(b"x")).await?;
            if matches {
                expected.push(format!("{base}.{subject}"));
            }
        }
        nats::barrier(&client).await?;
        subscriber.unsubscribe().await?;
        let mut seen = Vec::new();
        while let Some(message) = within("message or end", subscriber.next()).await? {
            seen.push(message.subject.to_string());
        }
        assert_eq!(seen, expected, "{filter}");
    }
    Ok(())
}

#[tokio::test]
async fn bodies_of_each_size_come_back_in_order() -> Outcome {
    let (_broker, client) = scene().await?;
    let subject = unique("sizes");
    let mut subscriber = nats::subscribe(&client, &subject).await?;
    let sizes = [0, 1, 2_047, 2_048, 2_049, 65_536, 1_048_576];
    for (index, size) in sizes.into_iter().enumerate() {
        client.publish(subject.clone(), vec![u8::try_from(index)?; size].into()).await?;
    }
    for (index, size) in sizes.into_iter().enumerate() {
        let message = nats::next(&mut subscriber).await?;
        assert_eq!(message.payload.len(), size);
        assert!(message.payload.iter().all(|byte| usize::from(*byte) == index), "the body of {size} bytes was changed");
    }
    Ok(())
}

#[tokio::test]
async fn headers_come_back_with_their_repeats() -> Outcome {
    let (_broker, client) = scene().await?;
    let subject = unique("headers");
    let mut subscriber = nats::subscribe(&client, &subject).await?;
    let mut headers = HeaderMap::new();
    headers.insert("Trace", "abc");
    headers.append("Many", "one");
    headers.append("Many", "two");
    client.publish_with_headers(subject, headers.clone(), Bytes::from_static(b"body")).await?;
    let message = nats::next(&mut subscriber).await?;
    assert_eq!(message.headers, Some(headers));
    assert_eq!(message.payload.as_ref(), b"body");
    Ok(())
}

#[tokio::test]
async fn a_queue_group_gets_each_message_once_and_a_plain_subscriber_gets_all() -> Outcome {
    let (broker, client) = scene().await?;
    let subject = unique("work");
    let others = [nats::connect(broker.address(Port::Nats)?).await?, nats::connect(broker.address(Port::Nats)?).await?];
    let mut members = Vec::new();
    for other in &others {
        members.push(nats::queue_subscribe(other, &subject, "workers").await?);
    }
    let mut plain = nats::subscribe(&client, &subject).await?;
    for number in 0..200_u8 {
        client.publish(subject.clone(), vec![number].into()).await?;
    }
    for number in 0..200_u8 {
        assert_eq!(nats::next(&mut plain).await?.payload.as_ref(), [number]);
    }
    let mut seen = BTreeSet::new();
    for (member, other) in members.iter_mut().zip(&others) {
        nats::barrier(other).await?;
        member.unsubscribe().await?;
        let before = seen.len();
        while let Some(message) = within("message or end", member.next()).await? {
            assert!(seen.insert(message.payload[0]), "{} came twice", message.payload[0]);
        }
        assert!(seen.len() > before, "a member got nothing");
    }
    assert_eq!(seen.len(), 200);
    Ok(())
}

#[tokio::test]
async fn a_subscription_with_a_maximum_ends_by_itself() -> Outcome {
    let (_broker, client) = scene().await?;
    let subject = unique("max");
    let mut subscriber = nats::subscribe(&client, &subject).await?;
    subscriber.unsubscribe_after(3).await?;
    nats::barrier(&client).await?;
    for number in 0..10_u8 {
        client.publish(subject.clone(), vec![number].into()).await?;
    }
    nats::barrier(&client).await?;
    let mut count = 0;
    while let Some(_message) = within("message or end", subscriber.next()).await? {
        count += 1;
    }
    assert_eq!(count, 3);
    Ok(())
}

#[tokio::test]
async fn the_broker_itself_counts_the_maximum() -> Outcome {
    let (broker, client) = scene().await?;
    let subject = unique("max");
    let mut raw = raw(&broker).await?;
    raw.send(format!("CONNECT {{\"verbose\":false}}\r\nSUB {subject} 9\r\nUNSUB 9 2\r\nPING\r\n").as_bytes()).await?;
    raw.read_until(b"PONG\r\n").await?;
    for _ in 0..5 {
        client.publish(subject.clone(), Bytes::from_static(b"x")).await?;
    }
    nats::barrier(&client).await?;
    raw.send(b"PING\r\n").await?;
    let received = raw.read_until(b"PONG\r\n").await?;
    assert_eq!(String::from_utf8(received)?.matches(&format!("MSG {subject} 9 1\r\n")).count(), 2);
    Ok(())
}

#[tokio::test]
async fn a_request_is_answered_and_one_without_a_responder_is_told_so() -> Outcome {
    let (broker, client) = scene().await?;
    let subject = unique("service");
    let request = within("answer", client.request(subject.clone(), Bytes::from_static(b"q"))).await?;
    assert_eq!(request.map_err(|error| error.kind()).err(), Some(RequestErrorKind::NoResponders));
    let server = nats::connect(broker.address(Port::Nats)?).await?;
    let mut requests = nats::subscribe(&server, &subject).await?;
    let responder = tokio::spawn(async move {
        let request = nats::next(&mut requests).await?;
        let reply = request.reply.ok_or_else(|| Failure::new("no reply subject"))?;
        server.publish(reply, [request.payload.as_ref(), b"!"].concat().into()).await?;
        nats::barrier(&server).await
    });
    let answer = within("answer", client.request(subject, Bytes::from_static(b"q"))).await??;
    assert_eq!(answer.payload.as_ref(), b"q!");
    responder.await??;
    Ok(())
}

#[tokio::test]
async fn no_echo_keeps_a_clients_own_messages_from_it() -> Outcome {
    let (broker, other) = scene().await?;
    let subject = unique("echo");
    let client = nats::connect_with(broker.address(Port::Nats)?, ConnectOptions::new().no_echo()).await?;
    let mut subscriber = client.subscribe(subject.clone()).await?;
    client.publish(subject.clone(), Bytes::from_static(b"own")).await?;
    client.flush().await?;
    // Its own barrier would not come back to it either: the other client tells when the subscription stands.
    let probe = unique("probe");
    let mut probes = nats::subscribe(&other, &probe).await?;
    client.publish(probe, Bytes::new()).await?;
    nats::next(&mut probes).await?;
    other.publish(subject, Bytes::from_static(b"other")).await?;
    assert_eq!(nats::next(&mut subscriber).await?.payload.as_ref(), b"other");
    Ok(())
}

#[tokio::test]
async fn info_says_what_the_broker_takes() -> Outcome {
    let (broker, client) = scene().await?;
    let info = client.server_info();
    assert!(info.headers && info.max_payload >= 1_048_576, "{info:?}");
    assert!(!info.server_id.is_empty() && !info.version.is_empty(), "{info:?}");
    let mut raw = raw(&broker).await?;
    raw.send(NATS_CONNECT).await?;
    assert_eq!(raw.read_until(b"\r\n").await?, b"PONG\r\n");
    Ok(())
}

#[tokio::test]
async fn what_was_published_before_a_ping_comes_before_its_pong() -> Outcome {
    let (broker, _client) = scene().await?;
    let mut raw = raw(&broker).await?;
    raw.send(b"CONNECT {\"verbose\":false}\r\nSUB ping.a 1\r\nSUB ping.a q 2\r\nSUB ping.a q 3\r\nPING\r\n").await?;
    raw.read_until(b"PONG\r\n").await?;
    for round in 0..20 {
        raw.send(&b"PUB ping.a 1\r\nx\r\n".repeat(60)).await?;
        raw.send(b"PING\r\n").await?;
        let before = raw.read_until(b"PONG\r\n").await?;
        let messages = before.windows(4).filter(|window| window == b"MSG ").count();
        assert_eq!(
            messages, 120,
            "round {round}: PONG came before messages, so that a client's flush or drain loses them"
        );
    }
    Ok(())
}

#[tokio::test]
async fn verbose_clients_are_told_ok() -> Outcome {
    let (broker, _client) = scene().await?;
    let mut raw = raw(&broker).await?;
    raw.send(b"CONNECT {\"verbose\":true}\r\nSUB verbose.a 1\r\nPUB verbose.b 2\r\nhi\r\nUNSUB 1\r\nPING\r\n").await?;
    assert_eq!(raw.read_until(b"PONG\r\n").await?, b"+OK\r\n+OK\r\n+OK\r\n+OK\r\nPONG\r\n");
    Ok(())
}

#[tokio::test]
async fn protocol_errors_are_named_before_the_close() -> Outcome {
    let (broker, client) = scene().await?;
    for (bytes, error) in [
        (b"CONNECT {}\r\nNONSENSE here\r\n".as_slice(), "-ERR 'Unknown Protocol Operation'"),
        (b"CONNECT {}\r\nPUB big 99999999\r\n".as_slice(), "-ERR 'Maximum Payload Violation'"),
    ] {
        let mut raw = raw(&broker).await?;
        raw.offer(bytes).await;
        let received = String::from_utf8_lossy(&raw.read_to_close().await?).into_owned();
        assert!(received.contains(error), "`{}`: {received}", bytes.escape_ascii());
    }
    nats::barrier(&client).await
}
